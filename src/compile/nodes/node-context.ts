import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { withoutFigures } from "../../context/without-figures.ts";
import { buildWorkflowContext } from "../../context/workflow-context.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { turnSteps, type TurnSteps } from "../../state/turn.ts";
import { toolFormOf, type Thinker } from "../loop/parts.ts";
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
    readonly prompt: string;
    /** Whose context it is, where that is another node's. */
    readonly node?: string;
    /** A step that is not in the state yet. */
    readonly openStep?: StepRecord;
    readonly note: string;
  },
): Promise<ReasoningContext> {
  const { state, run } = at;
  const toolForm = toolFormOf(call.model);
  const attempt = state.attempt_number ?? 0;
  const { steps } = stepsOfTurn(at);
  const behind = stepsOfBranch(at);
  const messages = buildWorkflowContext({
    opening: call.thinker.opening(toolForm),
    conversation: state.messages,
    node: call.node ?? run.node,
    prompt: call.prompt,
    steps: call.openStep === undefined ? behind : [...behind, call.openStep],
    earlier: attempt === 0 ? [] : steps.filter((step) => step.attempt_number < attempt),
    failedAttempts: state.turn?.failed_attempts ?? [],
    toolForm: call.thinker.modelTools.length === 0 ? "report" : toolForm,
    note: call.note,
  });
  return withoutFigures(messages, { goal: call.goal, model: call.model.ref });
}

/** What is looked up about the steps of the turn under way. */
export function stepsOfTurn({ state }: NodeAt): TurnSteps {
  return turnSteps(state.steps, {
    turnNumber: state.turn_number ?? 0,
    attemptNumber: state.attempt_number ?? 0,
  });
}
