import type { ComposedContext, Goal } from "../../context/reasoning-context.ts";
import type { SchemaCheck } from "../../definition/schema/json-schema.ts";
import type { AgentModel, ModelReply, ModelTool, SentReasoning } from "../../models/agent-model.ts";
import { ModelCallError, withModelWords } from "../../models/errors.ts";
import type { Reasoning } from "../../state/usage.ts";
import type {
  CurrentStep,
  ExecutionMode,
  StepRecord,
  ToolSelectionRecord,
} from "../../state/step-record.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import { truncateModelText } from "../../values/text.ts";
import { isOutputGated } from "../run/run-config.ts";
import type { NodeContext } from "./node.ts";
import type { ReadReply } from "./read-reply.ts";
import { emptyStep } from "./step.ts";

/** The inputs of a reasoning step. */
export interface StepRequest {
  readonly run: NodeContext;
  readonly model: AgentModel;
  readonly purpose: "reasoning" | "node";
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
  /** What models thought before the calls of the turn. */
  readonly reasoning: SentReasoning;
  /** The same array for the same tools: see `offeredTools`. */
  readonly offered: readonly ModelTool[];
  /** How they were selected; null if all tools are offered. */
  readonly selection: ToolSelectionRecord | null;
  /** The schema of an answer; null if any text is valid. */
  readonly answerSchema: SchemaCheck | null;
  /** Returns whether a call id was already used in this turn. */
  isUsed(id: string): boolean;
  /** Composes the context with `note` as its last message; `tools` are those of the request, none if left out. */
  read(note: string, goal: Goal, tools?: readonly ModelTool[]): Promise<ComposedContext>;
}

/** Returns the record of a step from its replies, before its tools have run. */
export function currentStep(
  step: StepRequest,
  made: {
    readonly timestamp: string;
    readonly reply: ModelReply;
    readonly read: ReadReply;
    /** Every reply of the step, in order. */
    readonly replies: readonly (ModelReply | null | undefined)[];
  },
): CurrentStep {
  const { observations, ...judgement } = made.read.note;
  const { finish, reasoning } = made.reply;
  const replies = made.replies.filter((reply) => reply != null);
  return {
    ...emptyStep({ ...placeOf(step), timestamp: made.timestamp }),
    mode: step.mode,
    thought: made.read.thought,
    next_action: made.read.nextAction,
    tool_predictions: made.read.predictions,
    ...(observations.length > 0 && { observations }),
    ...judgement,
    problem: made.read.problem,
    ...(step.selection !== null && { tool_selection: step.selection }),
    usage: replies.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
    model: made.reply.model,
    fallback: made.reply.fallback,
    ...(finish !== "stop" && { finish_reason: finish }),
    ...(reasoning !== null && { reasoning: boundedReasoning(reasoning) }),
    model_calls: replies.flatMap(({ calls }) => calls),
  };
}

function placeOf(step: StepRequest) {
  return {
    turn_number: step.turnNumber,
    attempt_number: step.attemptNumber,
    step_index: step.stepIndex,
    node: step.run.node,
    approach: step.approach,
  };
}

/** Bytes of what a provider wants back; more than that is left out whole, since a part of it has no valid signature. */
const mostReasoningBytes = 256 * 1024;

function boundedReasoning({ text, blocks }: Reasoning): Reasoning {
  const shown = truncateModelText(text);
  const isKept = blocks !== undefined && JSON.stringify(blocks).length <= mostReasoningBytes;
  return isKept ? { text: shown, blocks } : { text: shown };
}

export function withoutTools(current: CurrentStep): StepRecord {
  return { ...current, tool_results: [], concurrent_execution: false };
}

/**
 * Makes the model call of a step. A reply that was refused or withheld ends the turn, and the step has a record that says
 * so, with what the model said.
 */
export async function recordWithheld(
  step: StepRequest,
  { timestamp, planning }: { readonly timestamp: string; readonly planning: ModelReply | null },
  call: () => Promise<ModelReply>,
): Promise<ModelReply> {
  const { run, model } = step;
  try {
    return await call();
  } catch (thrown) {
    if (!(thrown instanceof ModelCallError) || thrown.code === "model_call") throw thrown;
    const asked = thrown.calls.at(-1)?.model ?? model.ref;
    const record = withoutTools({
      ...emptyStep({ ...placeOf(step), timestamp }),
      mode: step.mode,
      thought: truncateModelText(thrown.said),
      planning: truncateModelText(planning?.message.text ?? ""),
      next_action: "finish",
      problem: thrown.message,
      usage: addUsage(thrown.usage, planning?.usage ?? noUsage),
      model: asked,
      finish_reason: thrown.code === "model_refusal" ? "refusal" : "content_filter",
      model_calls: [...(planning?.calls ?? []), ...thrown.calls],
    });
    run.onInterrupted({ steps: [record] });
    run.emit({ type: "step", step: record });
    // No output rail looks at the failure of a turn.
    const isHeld = run.loop.rails.output.length > 0 || isOutputGated(run.config);
    throw isHeld ? thrown : withModelWords(thrown);
  }
}
