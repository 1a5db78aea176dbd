import { checkAnswer } from "../../context/answer-form.ts";
import type { ReasoningContext } from "../../context/context-metadata.ts";
import { isShortened, needsSynthesis } from "../../context/needs-synthesis.ts";
import { synthesisRequest } from "../../context/prompts.ts";
import type { AgentModel, ModelReply } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import { parseTextForm } from "../../models/text-form.ts";
import { noteFor, type StepToMake } from "./step-to-make.ts";

/**
 * What an answer of the step is to be written from, where that shows more of this turn's results than what the step is
 * planned from; else null, and the answer that comes is the answer.
 */
export async function answerContext(
  step: StepToMake,
  planning: ReasoningContext,
  planned: string,
): Promise<ReasoningContext | null> {
  const turn = step.turnNumber;
  // Who looks at the run wants to see what the step itself reads.
  if (step.run.reading !== undefined || !isShortened(planning.metadata, turn)) return null;
  const synthesis = await step.read(
    noteFor(step, { planning: planned, request: synthesisRequest }),
    "synthesis",
  );
  const made = { turn, planning: planning.metadata, synthesis: synthesis.metadata };
  return needsSynthesis(made) ? synthesis : null;
}

/**
 * Asks for the answer once more, from the whole results and without tools. The answer that is there stays where no
 * model answers (null), and where what comes is none (an empty text); see also {@link replaces}.
 */
export async function writeAnswer(
  { run, model }: StepToMake,
  { messages }: ReasoningContext,
): Promise<{ readonly reply: ModelReply; readonly answer: string } | null> {
  const reply = await run.ask(model, { messages }).catch((thrown: unknown) => {
    if (thrown instanceof ModelCallError && !run.signal.aborted) return null;
    throw thrown;
  });
  if (reply === null) return null;
  const isCall = !model.toolCalling && parseTextForm(reply.message.text).actions.length > 0;
  const answer = answerIn(reply, model);
  return { reply, answer: isCall || answer.trim() === "" ? "" : answer };
}

/** Whether what was written from the whole results is to be the answer: not where only the first can be accepted. */
export function replaces(
  written: string,
  first: string,
  { answerSchema }: Pick<StepToMake, "answerSchema">,
): boolean {
  if (written === "") return false;
  if (answerSchema === null) return true;
  return checkAnswer(written, answerSchema).ok || !checkAnswer(first, answerSchema).ok;
}

/** The answer in a reply to a request without tools; what was thought before it, in the text form, is no part of it. */
export function answerIn({ message }: ModelReply, { toolCalling }: AgentModel): string {
  const { text } = message;
  return toolCalling ? text : (parseTextForm(text).finalAnswer ?? text);
}
