import { toolFormOf } from "../../context/step-messages.ts";
import { AIMessage } from "@langchain/core/messages";
import { checkAnswer } from "../../context/answer-form.ts";
import {
  deepNotes,
  finalAnswerRequest,
  planningRequest,
  stuckNote,
  synthesisRequest,
} from "../../context/prompts.ts";
import {
  type Goal,
  isShortened,
  needsSynthesis,
  type ReasoningContext,
} from "../../context/reasoning-context.ts";
import { noNote, noteTool } from "../../context/step-note.ts";
import type { JsonSchema, SchemaCheck } from "../../definition/schema/json-schema.ts";
import type { AgentModel, ModelReply, ModelTool } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import { parseTextForm } from "../../models/text-form/text-form.ts";
import type {
  RepetitionLimits,
  CurrentStep,
  ExecutionMode,
  StepRecord,
  ToolSelectionRecord,
} from "../../state/step-record.ts";
import type { Draft } from "../../state/turn.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { truncateModelText } from "../../values/text.ts";
import { isOutputGated } from "../run/run-config.ts";
import { unredactedCheck } from "./node-rails.ts";
import type { NodeContext } from "./node.ts";
import { readReply, type ReadReply, withUnshownNotes } from "./read-reply.ts";
import { emptyStep } from "./step.ts";

export interface StepResponse {
  readonly current: CurrentStep;
  /** The reply; the second one if the answer was written again. */
  readonly reply: ModelReply;
  readonly read: ReadReply;
}

/**
 * Calls the model once, in deep mode after requesting a plan of the step, and parses its reply. An answer based on
 * shortened results is written again from the whole ones.
 */
export async function runReasoningStep(step: StepRequest): Promise<StepResponse> {
  const { run, model, mode, offered } = step;
  run.emit({ type: "status", status: "EXECUTING" });
  const timestamp = run.loop.clock.now().toISOString();
  const planning = mode === "deep" ? await askForPlan(step) : null;
  const planned = truncateModelText(planning?.message.text ?? "");
  const context = await step.read(noteFor(step, { planning: planned }), "planning", offered);
  const forAnswer = await answerContext(step, context, planned);
  const { messages } = context;
  const takesNotes = offered.includes(noteTool);
  const first = await run.callModel(
    takesNotes ? withUnshownNotes(model) : model,
    offered.length > 0 ? { messages, tools: offered } : { messages },
    // A reply that may be written again must not be streamed twice.
    forAnswer === null ? undefined : "unseen",
  );
  const said = readReply({
    message: first.message,
    form: toolFormOf(model),
    tools: run.loop.tools,
    ids: run.loop.ids,
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
  // An answer that output rails have not checked yet is reported only by its record.
  const isHeld = read.answer !== null && isOutputGated(run.config);
  if (read.thought !== "" && !isHeld) {
    run.emit({ type: "thought", step_index: current.step_index, text: read.thought });
  }
  return { current, reply, read };
}

async function askForPlan(step: StepRequest): Promise<ModelReply> {
  const { messages } = await step.read(noteFor(step, { request: planningRequest }), "planning");
  return step.run.callModel(step.model, { messages }, "unseen");
}

/** Makes the final call without tools when no steps are left; it answers from the known results. */
export async function synthesizeFinalAnswer(
  step: StepRequest,
  answerSchema: JsonSchema,
): Promise<{ readonly record: StepRecord; readonly draft: Draft }> {
  const { run, model } = step;
  run.emit({ type: "status", status: "EXECUTING" });
  const timestamp = run.loop.clock.now().toISOString();
  const request = finalAnswerRequest(answerSchema);
  const { messages } = await step.read(noteFor(step, { request }), "synthesis");
  const reply = await run.callModel(model, { messages });
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
      ? failedDraft("no steps were left, and no final answer came")
      : answerDraft(text, reply, true);
  return { record, draft };
}

export function answerDraft(answer: string, reply: ModelReply, incomplete: boolean): Draft {
  return { answer, message_id: reply.message.id ?? null, incomplete, problem: null };
}

export function failedDraft(problem: string): Draft {
  return { answer: null, incomplete: false, problem };
}

export function withoutTools(current: CurrentStep): StepRecord {
  return { ...current, tool_results: [], concurrent_execution: false };
}

/**
 * Returns the message for chat clients: the model's own, so that streamed tokens and the stored message are the same.
 * Notes are left out: clients would wait for their results.
 */
export function callingMessage({ reply, read }: StepResponse, run: NodeContext): AIMessage {
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
    id: message.id ?? run.loop.ids(),
    content: read.thought,
    tool_calls: read.predictions.map(({ id, name, args }) => ({ id, name, args })),
    ...(usage_metadata !== undefined && { usage_metadata }),
  });
}

function currentStep(
  step: StepRequest,
  made: { timestamp: string; reply: ModelReply; read: ReadReply; usage: Usage },
): CurrentStep {
  const { observations, ...judgement } = made.read.note;
  return {
    ...emptyStep({
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

/** The inputs of a reasoning step. */
export interface StepRequest {
  readonly run: NodeContext;
  readonly model: AgentModel;
  readonly mode: ExecutionMode;
  readonly turnNumber: number;
  readonly attemptNumber: number;
  readonly stepIndex: number;
  /** The strategy of the attempt, which only deep steps set; else empty. */
  readonly approach: string;
  /** Why the step was raised to deep mode; empty if it was not. */
  readonly stuck: string;
  /** The previous step of this attempt. */
  readonly before: StepRecord | undefined;
  /** Steps of the turn whose results the model may note on, in order. */
  readonly behind: readonly StepRecord[];
  /** The same array for the same tools: see `offeredTools`. */
  readonly offered: readonly ModelTool[];
  /** How they were selected; null if all tools are offered. */
  readonly selection: ToolSelectionRecord | null;
  /** The schema of an answer; null if any text is valid. */
  readonly answerSchema: SchemaCheck | null;
  /** Returns whether a call id was already used in this turn. */
  isUsed(id: string): boolean;
  /** Composes the context with `note` as its last message; `tools` are those of the request, none if left out. */
  read(note: string, goal: Goal, tools?: readonly ModelTool[]): Promise<ReasoningContext>;
}

/** Renders the last message of a step's request: the results of deep steps, and the instruction. */
function noteFor(
  step: StepRequest,
  said: { readonly planning?: string; readonly request?: string },
): string {
  const { mode, approach, before, stuck } = step;
  const last = mode === "deep" || before?.mode === "deep" ? before : undefined;
  const notes = deepNotes({
    approach,
    reflection: last?.reflection ?? "",
    hypothesis: last?.hypothesis ?? null,
    progress: last?.progress ?? "",
    planning: said.planning ?? "",
  });
  const why = stuck === "" ? "" : stuckNote(stuck);
  return [notes, why, said.request ?? ""].filter((part) => part !== "").join("\n\n");
}

/**
 * Returns the context for writing the answer, if it shows more of this turn's results than the context of the step.
 * Null if the step's own answer is final.
 */
async function answerContext(
  step: StepRequest,
  planning: ReasoningContext,
  planned: string,
): Promise<ReasoningContext | null> {
  const turn = step.turnNumber;
  const { probe } = step.run;
  const isWanted = probe?.goal === "synthesis";
  if (!isWanted && !isShortened(planning.metadata, turn)) return null;
  const synthesis = await step.read(
    noteFor(step, { planning: planned, request: synthesisRequest }),
    "synthesis",
  );
  const made = { turn, planning: planning.metadata, synthesis: synthesis.metadata };
  const isNeeded = needsSynthesis(made);
  if (probe === undefined) return isNeeded ? synthesis : null;
  if (isNeeded) probe.goalsKnown(["planning", "synthesis"]);
  // A dry run receives the first request, or this one instead.
  if (isWanted) await step.run.callModel(step.model, { messages: synthesis.messages });
  return null;
}

/** Returns the request of a step that only answers; a dry run may override its goal. */
export function asFinalAnswer(step: StepRequest): StepRequest {
  const { probe } = step.run;
  if (probe === undefined) return step;
  probe.goalsKnown(["synthesis"]);
  return { ...step, read: (note, goal, tools) => step.read(note, probe.goal ?? goal, tools) };
}

/**
 * Writes the answer again, from the whole results and without tools. The first answer stays if the model fails (null)
 * or returns an empty text; see also {@link replaces}.
 */
async function writeAnswer(
  { run, model }: StepRequest,
  { messages }: ReasoningContext,
): Promise<{ readonly reply: ModelReply; readonly answer: string } | null> {
  const reply = await run.callModel(model, { messages }).catch((thrown: unknown) => {
    if (thrown instanceof ModelCallError && !run.signal.aborted) return null;
    throw thrown;
  });
  if (reply === null) return null;
  const isCall = !model.toolCalling && parseTextForm(reply.message.text).actions.length > 0;
  const answer = answerIn(reply, model);
  return { reply, answer: isCall || answer.trim() === "" ? "" : answer };
}

/** Returns whether the second answer replaces the first: not if only the first is valid. */
function replaces(
  written: string,
  first: string,
  { answerSchema, run }: Pick<StepRequest, "answerSchema" | "run">,
): boolean {
  if (written === "") return false;
  if (answerSchema === null) return true;
  const schema = unredactedCheck(answerSchema, run.rails);
  return checkAnswer(written, schema).ok || !checkAnswer(first, schema).ok;
}

/** Returns the answer in a reply to a request without tools. In the text form, thoughts before it are left out. */
export function answerIn({ message }: ModelReply, { toolCalling }: AgentModel): string {
  const { text } = message;
  return toolCalling ? text : (parseTextForm(text).finalAnswer ?? text);
}

/** Returns how often the same call may return the same result in an attempt. */
export function repetitionLimits({ loop }: Pick<NodeContext, "loop">): RepetitionLimits {
  const { max_repeats, max_polls, repeatable } = loop.definition.spec.guardrail_config.tool_rails;
  return {
    maxRepeats: max_repeats,
    maxPolls: max_polls,
    isRepeatable: (tool) =>
      repeatable.includes(tool) || loop.tools.get(tool)?.definition.execution.repeatable === true,
  };
}
