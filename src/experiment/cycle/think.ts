import { readReply } from "../../compile/loop/read-reply.ts";
import { cleanText } from "../../context/clean-text.ts";
import { loggedReply, type LogMessage } from "../log/log-entry.ts";
import { askForMove } from "./ask-model.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/** Asks the model for the next move. */
export async function think(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run, tools } = cycle.resources;
  cycle.tell({ doing: "thinking" });
  const { reply, sent, form } = await askForMove(state.message_history, state.tool_form, cycle);
  cycle.tell({ spent: reply.usage });
  const iteration = state.iteration + 1;
  let calls = 0;
  const read = readReply({
    message: reply.message,
    form,
    tools,
    // Providers' own ids are random; these tell where in the run a call was asked for.
    ids: () => `call_${state.cycle_number}_${iteration}_${(calls += 1)}`,
    isUsed: () => true,
    noteForm: null,
    isCut: reply.finish === "length",
    behind: [],
  });
  const asked = read.predictions.map(({ id, name, args }) => ({ id, name, args }));
  const response: LogMessage = {
    role: "assistant",
    content: cleanText(form === "text" && asked.length > 0 ? read.thought : reply.message.text),
    ...(asked.length > 0 && { tool_calls: asked }),
  };
  await cycle.write({
    event_type: "LLM_INVOCATION",
    payload: {
      prompt_messages: [...sent],
      response_message: response,
      model_options: run.model_options as Record<string, unknown>,
      ...loggedReply(reply),
    },
  });
  // An unreadable reply is fed back; a native reply without calls always ends the cycle.
  const isUnclear = form === "text" && read.nextAction === "continue";
  const isLast = iteration >= run.max_iterations;
  const isAskedAgain = asked.length === 0 && isUnclear && !isLast;
  return {
    message_history: [
      ...state.message_history,
      response,
      ...(isAskedAgain ? [{ role: "user", content: read.problem } as const] : []),
    ],
    iteration,
    calls: read.predictions,
    tool_form: form,
    usage: reply.usage,
    ...cycle.written(),
  };
}

/** Returns the next step of a cycle: the requested calls, the model after feedback, or the end. */
export function afterThink({ calls, message_history: said }: CycleState) {
  if (calls.length > 0) return "act";
  return said.at(-1)?.role === "user" ? "think" : "reflect";
}
