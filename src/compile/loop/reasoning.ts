import { AIMessage } from "@langchain/core/messages";
import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { deepNotes, finalAnswerRequest, planningRequest } from "../../context/prompts.ts";
import type { JsonSchema } from "../../definition/json-schema.ts";
import type { AgentModel, ModelReply, ModelTool } from "../../models/agent-model.ts";
import { parseTextForm } from "../../models/text-form.ts";
import type { CurrentStep, ExecutionMode, StepRecord } from "../../state/step-record.ts";
import type { Draft } from "../../state/turn.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { blankStep } from "./blank-step.ts";
import type { NodeRun } from "./node-body.ts";
import { toolFormOf } from "./parts.ts";
import { readReply, type ReadReply } from "./read-reply.ts";

/** A reasoning step that is about to be made. */
export interface StepToMake {
  readonly run: NodeRun;
  readonly model: AgentModel;
  readonly mode: ExecutionMode;
  readonly turnNumber: number;
  readonly attemptNumber: number;
  readonly stepIndex: number;
  /** Deep mode: the strategy of the attempt. */
  readonly approach: string;
  /** Deep mode: what was seen in the step before. */
  readonly reflection: string;
  readonly offered: readonly ModelTool[];
  /** Whether a call id was used before in this turn. */
  isUsed(id: string): boolean;
  /** What the model reads, with `note` said last. */
  read(note: string, goal: Goal): Promise<ReasoningContext>;
}

export interface StepMade {
  readonly current: CurrentStep;
  readonly reply: ModelReply;
  readonly read: ReadReply;
}

/** Calls the model once, in deep mode after asking it for the plan of the step, and reads what it says. */
export async function makeStep(step: StepToMake): Promise<StepMade> {
  const { run, mode } = step;
  run.emit({ type: "status", status: "EXECUTING" });
  const timestamp = run.parts.clock.now().toISOString();
  const planning = mode === "deep" ? await ask(step, planningRequest, { unseen: "unseen" }) : null;
  const planned = planning?.message.text ?? "";
  const reply = await ask(step, null, { planning: planned });
  const read = readReply({
    message: reply.message,
    form: toolFormOf(step.model),
    tools: run.parts.tools,
    ids: run.parts.ids,
    isUsed: (id) => step.isUsed(id),
  });
  const usage = addUsage(planning?.usage ?? noUsage, reply.usage);
  const current = { ...currentStep(step, { timestamp, reply, read, usage }), planning: planned };
  if (read.thought !== "") {
    run.emit({ type: "thought", step_index: current.step_index, text: read.thought });
  }
  return { current, reply, read };
}

/** No steps are left: one more call, without tools, answers from what is known. */
export async function answerFromWhatIsKnown(
  step: StepToMake,
  answerSchema: JsonSchema,
): Promise<{ readonly record: StepRecord; readonly draft: Draft }> {
  const { run } = step;
  run.emit({ type: "status", status: "EXECUTING" });
  const timestamp = run.parts.clock.now().toISOString();
  const reply = await ask(step, finalAnswerRequest(answerSchema), { goal: "synthesis" });
  const said = reply.message.text;
  const text = step.model.toolCalling ? said : (parseTextForm(said).finalAnswer ?? said);
  const read: ReadReply = {
    thought: text,
    nextAction: "finish",
    predictions: [],
    answer: text,
    problem: "",
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

/** The message that chat clients see: the model's own, so that streamed tokens and the stored message are one. */
export function callingMessage({ reply, read }: StepMade, run: NodeRun): AIMessage {
  const { message } = reply;
  const calls = message.tool_calls ?? [];
  const same =
    calls.length === read.predictions.length &&
    calls.every((call, i) => call.id === read.predictions[i]?.id);
  if (same && message.id !== undefined) return message;
  return new AIMessage({
    id: message.id ?? run.parts.ids(),
    content: read.thought,
    tool_calls: read.predictions.map(({ id, name, args }) => ({ id, name, args })),
  });
}

/** `request` asks for something instead of the next step, without tools; null asks for the next step. */
async function ask(
  step: StepToMake,
  request: string | null,
  options: { planning?: string; unseen?: "unseen"; goal?: Goal } = {},
): Promise<ModelReply> {
  const notes =
    step.mode === "fast"
      ? ""
      : deepNotes({
          approach: step.approach,
          reflection: step.reflection,
          planning: options.planning ?? "",
        });
  const note = [notes, request].filter(Boolean).join("\n\n");
  const { messages } = await step.read(note, options.goal ?? "planning");
  const offersTools = request === null && step.offered.length > 0;
  const asked = offersTools ? { messages, tools: step.offered } : { messages };
  return step.run.ask(step.model, asked, options.unseen);
}

function currentStep(
  step: StepToMake,
  made: { timestamp: string; reply: ModelReply; read: ReadReply; usage: Usage },
): CurrentStep {
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
    problem: made.read.problem,
    usage: made.usage,
    model: made.reply.model,
    fallback: made.reply.fallback,
  };
}
