import { AIMessage } from "@langchain/core/messages";
import { noteTool } from "../../context/note-tool.ts";
import { finalAnswerRequest, planningRequest } from "../../context/prompts.ts";
import { noNote } from "../../context/step-note.ts";
import type { JsonSchema } from "../../definition/json-schema.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { keptText } from "../../state/kept-text.ts";
import type { CurrentStep, StepRecord } from "../../state/step-record.ts";
import type { Draft } from "../../state/turn.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { blankStep } from "./blank-step.ts";
import { areAnswersHeld } from "./held-answers.ts";
import type { NodeRun } from "./node-body.ts";
import { toolFormOf } from "./parts.ts";
import { readReply, type ReadReply } from "./read-reply.ts";
import { noteFor, type StepToMake } from "./step-to-make.ts";
import { withUnshownNotes } from "./unshown-notes.ts";
import { answerContext, answerIn, replaces, writeAnswer } from "./write-answer.ts";

export interface StepMade {
  readonly current: CurrentStep;
  /** Where the answer was written once more, that reply. */
  readonly reply: ModelReply;
  readonly read: ReadReply;
}

/**
 * Calls the model once, in deep mode after asking it for the plan of the step, and reads what it says. An answer that
 * was made from shortened results is written once more from the whole ones.
 */
export async function makeStep(step: StepToMake): Promise<StepMade> {
  const { run, model, mode, offered } = step;
  run.emit({ type: "status", status: "EXECUTING" });
  const timestamp = run.parts.clock.now().toISOString();
  const planning = mode === "deep" ? await askForPlan(step) : null;
  const planned = keptText(planning?.message.text ?? "");
  const context = await step.read(noteFor(step, { planning: planned }), "planning", offered);
  const forAnswer = await answerContext(step, context, planned);
  const { messages } = context;
  const takesNotes = offered.includes(noteTool);
  const first = await run.ask(
    takesNotes ? withUnshownNotes(model) : model,
    offered.length > 0 ? { messages, tools: offered } : { messages },
    // What may be written once more is not to be streamed twice.
    forAnswer === null ? undefined : "unseen",
  );
  const said = readReply({
    message: first.message,
    form: toolFormOf(model),
    tools: run.parts.tools,
    ids: run.parts.ids,
    isUsed: (id) => step.isUsed(id),
    takesNotes,
    behind: step.behind,
  });
  const again =
    said.answer === null || forAnswer === null ? null : await writeAnswer(step, forAnswer);
  const isRewritten = again !== null && replaces(again.answer, said.answer ?? "", step);
  const read = isRewritten ? { ...said, thought: again.answer, answer: again.answer } : said;
  const reply = isRewritten ? again.reply : first;
  const usage = [planning, first, again?.reply].reduce(
    (sum, one) => addUsage(sum, one?.usage ?? noUsage),
    noUsage,
  );
  const current = { ...currentStep(step, { timestamp, reply, read, usage }), planning: planned };
  // An answer that rails have yet to look at is told by none but its record.
  const isHeld = read.answer !== null && areAnswersHeld(run.config);
  if (read.thought !== "" && !isHeld) {
    run.emit({ type: "thought", step_index: current.step_index, text: read.thought });
  }
  return { current, reply, read };
}

async function askForPlan(step: StepToMake): Promise<ModelReply> {
  const { messages } = await step.read(noteFor(step, { request: planningRequest }), "planning");
  return step.run.ask(step.model, { messages }, "unseen");
}

/** No steps are left: one more call, without tools, answers from what is known. */
export async function answerFromWhatIsKnown(
  step: StepToMake,
  answerSchema: JsonSchema,
): Promise<{ readonly record: StepRecord; readonly draft: Draft }> {
  const { run, model } = step;
  run.emit({ type: "status", status: "EXECUTING" });
  const timestamp = run.parts.clock.now().toISOString();
  const request = finalAnswerRequest(answerSchema);
  const { messages } = await step.read(noteFor(step, { request }), "synthesis");
  const reply = await run.ask(model, { messages });
  const text = answerIn(reply, model);
  const read: ReadReply = {
    thought: text,
    nextAction: "finish",
    predictions: [],
    answer: text,
    problem: "",
    note: noNote,
  };
  const record = withoutTools(currentStep(step, { timestamp, reply, read, usage: reply.usage }));
  run.emit({ type: "step", step: record });
  const draft: Draft =
    text.trim() === ""
      ? noAnswer("no steps were left, and no final answer came")
      : answered(text, reply, true);
  return { record, draft };
}

export function answered(answer: string, reply: ModelReply, incomplete: boolean): Draft {
  return { answer, message_id: reply.message.id ?? null, incomplete, problem: null };
}

export function noAnswer(problem: string): Draft {
  return { answer: null, incomplete: false, problem };
}

export function withoutTools(current: CurrentStep): StepRecord {
  return { ...current, tool_results: [], concurrent_execution: false };
}

/**
 * The message that chat clients see: the model's own, so that streamed tokens and the stored message are one. Notes are
 * left out of it: clients would wait for their results.
 */
export function callingMessage({ reply, read }: StepMade, run: NodeRun): AIMessage {
  const { message } = reply;
  const { tool_calls: calls = [], invalid_tool_calls: broken = [] } = message;
  const same =
    broken.length === 0 &&
    calls.length === read.predictions.length &&
    calls.every(({ id, name }, i) => {
      const shown = read.predictions[i];
      return id === shown?.id && name === shown?.name;
    });
  if (same && message.id !== undefined) return message;
  const { usage_metadata } = message;
  return new AIMessage({
    id: message.id ?? run.parts.ids(),
    content: read.thought,
    tool_calls: read.predictions.map(({ id, name, args }) => ({ id, name, args })),
    ...(usage_metadata !== undefined && { usage_metadata }),
  });
}

function currentStep(
  step: StepToMake,
  made: { timestamp: string; reply: ModelReply; read: ReadReply; usage: Usage },
): CurrentStep {
  const { observations, ...judgement } = made.read.note;
  return {
    ...blankStep({
      turn_number: step.turnNumber,
      attempt_number: step.attemptNumber,
      step_index: step.stepIndex,
      node: step.run.node,
      timestamp: made.timestamp,
      approach: step.approach,
    }),
    mode: step.mode,
    thought: made.read.thought,
    next_action: made.read.nextAction,
    tool_predictions: made.read.predictions,
    ...(observations.length > 0 && { observations }),
    ...judgement,
    problem: made.read.problem,
    ...(step.selection !== null && { tool_selection: step.selection }),
    usage: made.usage,
    model: made.reply.model,
    fallback: made.reply.fallback,
  };
}
