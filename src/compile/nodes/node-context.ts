import type { BaseMessage } from "@langchain/core/messages";
import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { observedSteps } from "../../context/observed-steps.ts";
import { validSummary } from "../../context/short-term/valid-summary.ts";
import { workflowTranscript } from "../../context/workflow-transcript.ts";
import type { AgentModel, ModelTool, StructuredAnswer } from "../../models/agent-model.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { turnSteps, type TurnSteps } from "../../state/turn.ts";
import { composeFor } from "../loop/context-of.ts";
import { contextSettingsOf } from "../loop/context-settings-of.ts";
import { boundedThinker } from "../loop/inherited-bounds.ts";
import { stepFormOf, toolFormOf, type Thinker } from "../loop/parts.ts";
import type { NodeAt } from "./node-work.ts";

/** The records of this attempt that a node's branch has behind it, in order. */
export function stepsOfBranch(at: NodeAt): readonly StepRecord[] {
  const { attempt } = stepsOfTurn(at);
  // A branch that was never beside another has them all.
  if (attempt.length === at.branch.steps.length) return attempt;
  const behind = new Set(at.branch.steps);
  return attempt.filter(({ step_index }) => behind.has(step_index));
}

/** What a model call at a node gets to read. */
export async function nodeContext(
  at: NodeAt,
  call: {
    readonly thinker: Thinker;
    readonly model: AgentModel;
    readonly goal: Goal;
    /** What the request offers; without them, calls are told in words. */
    readonly tools?: readonly ModelTool[];
    /** What the reply has to be, instead of tools. */
    readonly answer?: StructuredAnswer;
    readonly prompt: string;
    /** Whose context it is, where that is another node's. */
    readonly node?: string;
    /** A step that is not in the state yet. */
    readonly openStep?: StepRecord;
    readonly note: string;
    /** Said after the note. */
    readonly after?: readonly BaseMessage[];
  },
): Promise<ReasoningContext> {
  const { state, run } = at;
  const { model, tools = [], thinker } = call;
  const attempt = state.attempt_number ?? 0;
  const { steps } = stepsOfTurn(at);
  const behind = stepsOfBranch(at);
  return composeFor(run, model, {
    profile: model.profile,
    goal: call.goal,
    settings: contextSettingsOf(run.parts.definition.spec),
    form: stepFormOf(model, tools),
    opening: boundedThinker(thinker, run.parts).opening(toolFormOf(model), tools),
    tools: model.toolCalling ? tools : [],
    ...(model.toolCalling && call.answer !== undefined && { answer: call.answer }),
    transcript: workflowTranscript({
      conversation: state.messages,
      turnNumber: state.turn_number ?? 0,
      node: call.node ?? run.node,
      prompt: call.prompt,
      steps: call.openStep === undefined ? behind : [...behind, call.openStep],
      earlier: attempt === 0 ? [] : steps.filter((step) => step.attempt_number < attempt),
      failedAttempts: state.turn?.failed_attempts ?? [],
      rejections: at.branch.rejections ?? [],
      note: call.note,
      ...(call.after !== undefined && { after: call.after }),
    }),
    summary: validSummary(state.summary, state),
    observed: observedSteps(state.steps),
  });
}

/** What is looked up about the steps of the turn under way. */
export function stepsOfTurn({ state }: NodeAt): TurnSteps {
  return turnSteps(state.steps, {
    turnNumber: state.turn_number ?? 0,
    attemptNumber: state.attempt_number ?? 0,
  });
}
