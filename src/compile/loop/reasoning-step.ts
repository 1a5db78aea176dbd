import { toolFormOf } from "../../context/step-messages.ts";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { checkAnswer } from "../../context/answer-form.ts";
import {
  continueRequest,
  deepNotes,
  finalAnswerRequest,
  planningRequest,
  stuckNote,
  synthesisRequest,
} from "../../context/prompts.ts";
import {
  type ComposedContext,
  ContextOverflowError,
  needsSynthesis,
  type ReasoningContext,
} from "../../context/reasoning-context.ts";
import { takeNoteLines, takesNoteLines } from "../../context/note-lines.ts";
import { noNote, noteTool } from "../../context/step-note.ts";
import type { JsonSchema, SchemaCheck } from "../../definition/schema/json-schema.ts";
import type { ModelReply, ModelRequest, StructuredAnswer } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import { parseTextForm } from "../../models/text-form/text-form.ts";
import type { RepetitionLimits, CurrentStep, StepRecord } from "../../state/step-record.ts";
import type { Draft, IncompleteReason } from "../../state/turn.ts";
import { truncateModelText } from "../../values/text.ts";
import { isOutputGated } from "../run/run-config.ts";
import { unredactedCheck } from "./node-rails.ts";
import type { NodeContext } from "./node.ts";
import { type NoteForm, readReply, type ReadReply } from "./read-reply.ts";
import { currentStep, recordWithheld, type StepRequest, withoutTools } from "./step-record.ts";
import { withUnshownNotes } from "./unshown-notes.ts";

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
  const { messages } = context;
  if (run.probe !== undefined) await probeSynthesis(step, context, planned);
  const mayRewrite = run.probe === undefined && context.isShortened;
  const form = toolFormOf(model);
  const noteForm = noteFormOf(step);
  const asked: ModelRequest = {
    messages,
    ...(offered.length > 0 && { tools: offered }),
    format: answerFormat(step.answerSchema),
    ...(step.reasoning.size > 0 && { reasoning: step.reasoning }),
  };
  const first = await recordWithheld(step, { timestamp, planning }, () =>
    run.callModel(
      withUnshownNotes(model, noteForm),
      asked,
      // A reply that may be written again must not be streamed twice.
      { purpose: step.purpose, step: step.stepIndex, isUnseen: mayRewrite },
    ),
  );
  const said = readReply({
    message: first.message,
    form,
    tools: run.loop.tools,
    ids: run.loop.ids,
    isUsed: (id) => step.isUsed(id),
    noteForm,
    behind: step.behind,
    isCut: first.finish === "length",
  });
  const forAnswer =
    mayRewrite && said.answer !== null
      ? await answerContext(step, context, planned).catch(ignoreOverflow)
      : null;
  const again = forAnswer === null ? null : await writeAnswer(step, forAnswer);
  const isRewritten = again !== null && replaces(again.answer, said.answer ?? "", step);
  const chosen = isRewritten ? { ...said, thought: again.answer, answer: again.answer } : said;
  const rewritten = isRewritten ? again.reply : first;
  const isUnseen = mayRewrite && !isRewritten;
  const whole = await continueCut(step, { messages, reply: rewritten, read: chosen, isUnseen });
  const { reply } = whole;
  const read = whole.read;
  const replies = [planning, first, again?.reply, whole.further];
  const current = {
    ...currentStep(step, { timestamp, reply, read, replies }),
    planning: planned,
  };
  // An answer that output rails have not checked yet is reported only by its record.
  const isHeld = read.answer !== null && isOutputGated(run.config);
  if (read.thought !== "" && !isHeld) {
    run.emit({ type: "thought", step_index: current.step_index, text: read.thought });
  }
  return { current, reply, read };
}

/** Returns how the model may note its step; null if it may not. */
function noteFormOf(step: StepRequest): NoteForm | null {
  if (step.offered.length === 0) return null;
  return step.offered.includes(noteTool) ? "call" : noteLineOf(step);
}

/** Returns "line" if the model's prompt offers note lines, else null. */
export function noteLineOf({ run: { loop }, model }: AskedModel): "line" | null {
  const isOffered = loop.tools.size > 0 && takesNoteLines(loop.definition.spec, model);
  return isOffered ? "line" : null;
}

type AskedModel = Pick<StepRequest, "run" | "model">;

async function askForPlan(step: StepRequest): Promise<ModelReply> {
  const { messages } = await step.read(noteFor(step, { request: planningRequest }), "planning");
  const asked = { purpose: "planning", step: step.stepIndex, isUnseen: true } as const;
  return step.run.callModel(step.model, { messages }, asked);
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
  const reply = await recordWithheld(step, { timestamp, planning: null }, () =>
    run.callModel(
      withUnshownNotes(model, noteLineOf(step)),
      { messages, format: answerFormat(step.answerSchema) },
      { purpose: "synthesis", step: step.stepIndex },
    ),
  );
  const text = answerIn(reply, step);
  const read: ReadReply = { ...finalReply, thought: text, answer: text };
  const record = withoutTools(currentStep(step, { timestamp, reply, read, replies: [reply] }));
  run.emit({ type: "step", step: record });
  const draft: Draft =
    text.trim() === ""
      ? failedDraft("no steps were left, and no final answer came")
      : answerDraft(text, reply, "max_iterations");
  return { record, draft };
}

/** @param reason why the answer is incomplete, if not because the reply was cut off */
export function answerDraft(
  answer: string,
  reply: ModelReply,
  reason: IncompleteReason | null = null,
): Draft {
  const incomplete_reason = reason ?? (reply.finish === "length" ? "length" : null);
  return {
    answer,
    message_id: reply.message.id ?? null,
    incomplete: incomplete_reason !== null,
    ...(incomplete_reason !== null && { incomplete_reason }),
    problem: null,
  };
}

const finalReply: ReadReply = {
  thought: "",
  nextAction: "finish",
  predictions: [],
  answer: null,
  problem: "",
  note: noNote,
};

/**
 * Continues an answer that was cut off at the output limit, once, if the definition enables that. The answer stays
 * incomplete if the model fails or adds nothing. The continuation of an unseen answer is not streamed either.
 */
async function continueCut(
  step: StepRequest,
  {
    messages,
    reply,
    read,
    isUnseen,
  }: {
    messages: readonly BaseMessage[];
    reply: ModelReply;
    read: ReadReply;
    isUnseen: boolean;
  },
): Promise<{ reply: ModelReply; read: ReadReply; further: ModelReply | null }> {
  const { run, model } = step;
  const { continue_truncated: isWanted = false } = run.loop.definition.spec.llm_config;
  if (reply.finish !== "length") return { reply, read, further: null };
  if (read.answer === null) {
    const isLost = read.predictions.length === 0;
    return { reply, read: isLost ? { ...read, problem: cutProblem } : read, further: null };
  }
  if (!isWanted) return { reply, read, further: null };
  const asked = [...messages, new AIMessage(read.answer), new HumanMessage(continueRequest)];
  const further = await run
    .callModel(
      model,
      { messages: asked },
      { purpose: step.purpose, step: step.stepIndex, isUnseen },
    )
    .catch(ignoreModelFailure(run));
  const added = further === null ? "" : answerIn(further, step);
  if (further === null || added === "") return { reply, read, further };
  const answer = read.answer + added;
  return {
    reply: { ...reply, finish: further.finish },
    read: { ...read, thought: answer, answer },
    further,
  };
}

const cutProblem =
  "The reply was cut off at the output limit before it came to an answer or a tool call. Reply more briefly.";

/** Returns a handler that turns the failure of a model into null, unless the run was aborted. */
export function ignoreModelFailure({ signal }: Pick<NodeContext, "signal">) {
  return (thrown: unknown): null => {
    if (thrown instanceof ModelCallError && !signal.aborted) return null;
    throw thrown;
  };
}

const formats = new WeakMap<SchemaCheck, StructuredAnswer>();

/** Returns the form of an answer of a schema, the same object for the same one; undefined for free text. */
function answerFormat(schema: SchemaCheck | null): StructuredAnswer | undefined {
  if (schema === null) return undefined;
  const known = formats.get(schema);
  if (known !== undefined) return known;
  const made = {
    name: "answer",
    description: "The answer to the request.",
    schema: schema.jsonSchema,
  };
  formats.set(schema, made);
  return made;
}

export function failedDraft(problem: string): Draft {
  return { answer: null, incomplete: false, problem };
}

/**
 * Returns the message for chat clients: the model's own, so that streamed tokens and the stored message are the same.
 * Notes are left out: clients would wait for their results.
 */
export function callingMessage({ reply, read }: StepResponse, run: NodeContext): AIMessage {
  const { message } = reply;
  const { tool_calls: calls = [], invalid_tool_calls: broken = [] } = message;
  const same =
    read.thought === message.text &&
    broken.length === 0 &&
    calls.length === read.predictions.length &&
    calls.every(({ id, name, args }, i) => {
      const shown = read.predictions[i];
      return id === shown?.id && name === shown?.name && args === shown?.args;
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
 *
 * @throws ContextOverflowError
 */
async function answerContext(
  step: StepRequest,
  planning: ReasoningContext,
  planned: string,
): Promise<ReasoningContext | null> {
  const synthesis = await synthesisContext(step, planned);
  return showsMore(step, planning, synthesis) ? synthesis : null;
}

function showsMore(
  { turnNumber: turn }: StepRequest,
  { metadata: planning }: ReasoningContext,
  { metadata: synthesis }: ReasoningContext,
): boolean {
  return needsSynthesis({ turn, planning, synthesis });
}

function synthesisContext(step: StepRequest, planned: string): Promise<ReasoningContext> {
  return step.read(noteFor(step, { planning: planned, request: synthesisRequest }), "synthesis");
}

/** Reports to a dry run whether an answer would be written again. It receives the first request, or the second instead. */
async function probeSynthesis(
  step: StepRequest,
  planning: ComposedContext,
  planned: string,
): Promise<void> {
  const { run, model } = step;
  const isWanted = run.probe?.goal === "synthesis";
  if (!isWanted && !planning.isShortened) return;
  const synthesis = await synthesisContext(step, planned);
  if (showsMore(step, planning, synthesis)) run.probe?.goalsKnown(["planning", "synthesis"]);
  const { messages } = synthesis;
  if (isWanted) await run.callModel(model, { messages }, { purpose: "synthesis" });
}

/** An answer for which whole results have no room stays as it is. */
function ignoreOverflow(thrown: unknown): null {
  if (thrown instanceof ContextOverflowError) return null;
  throw thrown;
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
  { run, model, stepIndex: index }: StepRequest,
  { messages }: ReasoningContext,
): Promise<{ readonly reply: ModelReply; readonly answer: string } | null> {
  const shown = withUnshownNotes(model, noteLineOf({ run, model }));
  const reply = await run
    .callModel(shown, { messages }, { purpose: "synthesis", step: index })
    .catch(ignoreModelFailure(run));
  if (reply === null) return null;
  const isCall = !model.toolCalling && parseTextForm(reply.message.text).actions.length > 0;
  const answer = answerIn(reply, { run, model });
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

/** Returns the answer in a reply to a request without tools. In the text form, thoughts before it are left out, and so are notes. */
export function answerIn({ message }: ModelReply, asked: AskedModel): string {
  const { text } = message;
  const said = noteLineOf(asked) === null ? text : takeNoteLines(text).text;
  if (asked.model.toolCalling) return said === text ? text : said.trimEnd();
  return parseTextForm(said).finalAnswer ?? said;
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
