import type { ToolForm } from "../../context/step-messages.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import type { LogMessage } from "../log/log-entry.ts";
import { toldIn, toLangChain } from "./cycle-messages.ts";
import type { CycleRun } from "./cycle-run.ts";

/** A reply, and what it was a reply to. */
export interface Asked {
  readonly reply: ModelReply;
  /** As they were sent. */
  readonly sent: readonly LogMessage[];
  readonly form: ToolForm;
}

/**
 * Asks the run's model for the next move. A model that turns out to take no tools is asked again in the text form.
 * @throws ModelCallError
 */
export async function askForMove(
  history: readonly LogMessage[],
  form: ToolForm,
  { parts, config }: CycleRun,
): Promise<Asked> {
  const { model, modelTools, toolInstructions } = parts;
  const used = model.toolCalling ? form : "text";
  const sent = toldIn(used, history, toolInstructions);
  const isNative = used === "native" && modelTools.length > 0;
  try {
    const reply = await model.call(
      { messages: toLangChain(sent), ...(isNative && { tools: modelTools }) },
      config,
    );
    return { reply, sent, form: used };
  } catch (thrown) {
    if (!isNative || !(thrown instanceof ModelCallError) || !thrown.lacksTools) throw thrown;
    return askForMove(history, "text", { parts, config } as CycleRun);
  }
}

/** Asks for words alone: no tool is offered. */
export async function askForWords(
  history: readonly LogMessage[],
  { parts, config }: CycleRun,
): Promise<Omit<Asked, "form">> {
  const sent = toldIn("report", history, "");
  const reply = await parts.model.call({ messages: toLangChain(sent) }, config);
  return { reply, sent };
}
