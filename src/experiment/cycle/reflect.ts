import { cleanText } from "../../context/clean-text.ts";
import type { LogMessage } from "../log/log-entry.ts";
import { loggedUsage } from "../log/logged-usage.ts";
import { askForWords } from "./ask-model.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/** Asks for the cycle's reflection, and keeps it. */
export async function reflect(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run } = cycle.parts;
  cycle.tell({ doing: "reflecting" });
  const request: LogMessage = { role: "user", content: run.reflection_prompt };
  const history = [...state.message_history, request];
  const { reply, sent } = await askForWords(history, cycle);
  cycle.tell({ spent: reply.usage });
  const response: LogMessage = { role: "assistant", content: cleanText(reply.message.text) };
  await cycle.write({
    event_type: "LLM_INVOCATION",
    payload: {
      prompt_messages: [...sent],
      response_message: response,
      model_options: run.model_options as Record<string, unknown>,
      usage: loggedUsage(reply.usage),
    },
  });
  return {
    message_history: [...history, response],
    reflection_history: [...state.reflection_history, response.content.trim()],
    usage: reply.usage,
    ...cycle.written(),
  };
}
