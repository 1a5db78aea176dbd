import { stepFormOf } from "../../context/step-messages.ts";
import type { BaseMessage } from "@langchain/core/messages";
import type { Goal, ComposedContext } from "../../context/reasoning-context.ts";
import { observedSteps } from "../../context/step-note.ts";
import { validSummary } from "../../context/summarise/running-summary.ts";
import { workflowTranscript } from "../../context/transcript.ts";
import type { AgentModel, ModelTool, StructuredAnswer } from "../../models/agent-model.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { turnSteps, type TurnSteps } from "../../state/turn.ts";
import { composeFor, contextSettingsOf } from "../loop/context.ts";
import type { BoundModel } from "../loop/context.ts";
import { narrowBoundModel } from "../loop/loop-config.ts";
import type { Reading } from "../loop/reflect.ts";
import { type PromptedModel, type NodeAt, promptText } from "./node-work.ts";

/** Returns the records of this attempt along a node's branch, in order. */
export function stepsOfBranch(at: NodeAt): readonly StepRecord[] {
  const { attempt } = stepsOfTurn(at);
  // A branch that never ran in parallel has them all.
  if (attempt.length === at.branch.steps.length) return attempt;
  const behind = new Set(at.branch.steps);
  return attempt.filter(({ step_index }) => behind.has(step_index));
}

/** Returns the records that a node has made in this attempt along the branch, in order. */
export function stepsOfNode(at: NodeAt, node: string): readonly StepRecord[] {
  const { attempt, byNode } = stepsOfTurn(at);
  if (attempt.length === at.branch.steps.length) return byNode.get(node) ?? [];
  return stepsOfBranch(at).filter((step) => step.node === node);
}

/** Composes the context of a model call at a node. */
export async function composeNodeContext(
  at: NodeAt,
  call: {
    readonly boundModel: BoundModel;
    readonly model: AgentModel;
    readonly goal: Goal;
    /** The tools of the request; without them, calls are rendered as text. */
    readonly tools?: readonly ModelTool[];
    /** The required form of the reply, instead of tools. */
    readonly answer?: StructuredAnswer;
    readonly prompt: string;
    /** The node whose context is composed, if that is another one. */
    readonly node?: string;
    /** A step that is not in the state yet. */
    readonly openStep?: StepRecord;
    readonly note: string;
    /** Messages after the note. */
    readonly after?: readonly BaseMessage[];
  },
): Promise<ComposedContext> {
  const { state, run } = at;
  const { model, tools = [], boundModel } = call;
  const attempt = state.attempt_number ?? 0;
  const { steps } = stepsOfTurn(at);
  const behind = stepsOfBranch(at);
  return composeFor(run, model, {
    profile: model.profile,
    goal: call.goal,
    settings: contextSettingsOf(run.loop.definition.spec, model.profile),
    form: stepFormOf(model, tools),
    opening: narrowBoundModel(boundModel, run.loop).promptPrefix(model, tools),
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

/** Returns the steps of the running turn, indexed. */
export function stepsOfTurn({ state }: NodeAt): TurnSteps {
  return turnSteps(state.steps, {
    turnNumber: state.turn_number ?? 0,
    attemptNumber: state.attempt_number ?? 0,
  });
}

/** Composes the context in which the model of an llm node reflects on its step. */
export async function reflectionContext(
  { boundModel, prompt }: PromptedModel,
  at: NodeAt,
  about: { readonly openStep: StepRecord; readonly note: string },
): Promise<Reading> {
  const model = await boundModel.model(at.run.context);
  const context = await composeNodeContext(at, {
    boundModel,
    model,
    goal: "planning",
    node: about.openStep.node,
    prompt: promptText(prompt, at.values),
    ...about,
  });
  return { model, messages: context.messages };
}
