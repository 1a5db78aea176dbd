import { checkAnswer } from "../../context/answer-form.ts";
import type { ReasoningContext } from "../../context/context-metadata.ts";
import { isShortened, needsSynthesis } from "../../context/needs-synthesis.ts";
import { synthesisRequest } from "../../context/prompts.ts";
import type { AgentModel, ModelReply } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import { parseTextForm } from "../../models/text-form.ts";
import { revealing } from "./revealing.ts";
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
  const { reading } = step.run;
  const isWanted = reading?.goal === "synthesis";
  if (!isWanted && !isShortened(planning.metadata, turn)) return null;
  const synthesis = await step.read(
    noteFor(step, { planning: planned, request: synthesisRequest }),
    "synthesis",
  );
  const made = { turn, planning: planning.metadata, synthesis: synthesis.metadata };
  const isNeeded = needsSynthesis(made);
  if (reading === undefined) return isNeeded ? synthesis : null;
  if (isNeeded) reading.makes(["planning", "synthesis"]);
  // Who looks at the run sees the first request, or this one instead of it.
  if (isWanted) await step.run.ask(step.model, { messages: synthesis.messages });
  return null;
}

/** A step that is nothing but an answer; who looks at the run may want it as one that is planned. */
export function asLastAnswer(step: StepToMake): StepToMake {
  const { reading } = step.run;
  if (reading === undefined) return step;
  reading.makes(["synthesis"]);
  return { ...step, read: (note, goal, tools) => step.read(note, reading.goal ?? goal, tools) };
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
  { answerSchema, run }: Pick<StepToMake, "answerSchema" | "run">,
): boolean {
  if (written === "") return false;
  if (answerSchema === null) return true;
  const schema = revealing(answerSchema, run.rails);
  return checkAnswer(written, schema).ok || !checkAnswer(first, schema).ok;
}

/** The answer in a reply to a request without tools; what was thought before it, in the text form, is no part of it. */
export function answerIn({ message }: ModelReply, { toolCalling }: AgentModel): string {
  const { text } = message;
  return toolCalling ? text : (parseTextForm(text).finalAnswer ?? text);
}
