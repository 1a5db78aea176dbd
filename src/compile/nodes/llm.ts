import { checkAnswer } from "../../context/answer-form.ts";
import { attemptFeedback } from "../../context/prompts.ts";
import type { SchemaCheck } from "../../definition/schema/json-schema.ts";
import {
  type CurrentStep,
  type ExecutionMode,
  raiseOrEnd,
  type StepRecord,
} from "../../state/step-record.ts";
import { repetitionLimits } from "../loop/reasoning-step.ts";
import { chooseTools, offeredTools } from "../loop/reason.ts";
import {
  synthesizeFinalAnswer,
  asFinalAnswer,
  callingMessage,
  runReasoningStep,
  failedDraft,
  type StepResponse,
} from "../loop/reasoning-step.ts";
import { type StepRequest, withoutTools } from "../loop/step-record.ts";
import { unredactedCheck } from "../loop/node-rails.ts";
import { isWorthReflection, reflectOn } from "../loop/reflect.ts";
import { probeFixedContext } from "../loop/node.ts";
import type { LlmNode } from "../workflow-plan.ts";
import {
  type PromptedModel,
  type NodeAt,
  type NodeDone,
  type NodeWork,
  promptText,
} from "./node-work.ts";
import {
  reflectionContext,
  composeNodeContext,
  stepsOfBranch,
  stepsOfNode,
  stepsOfTurn,
} from "./compose-node-context.ts";

export interface LlmNodeDeps extends PromptedModel {
  readonly plan: LlmNode;
  readonly outputSchema: SchemaCheck | null;
}

/** One reasoning step. Its output has the model's text, the tools it calls, and the value described by its schema. */
export function llmNode(deps: LlmNodeDeps): { work: NodeWork; lastAnswer: NodeWork } {
  return {
    async work(at) {
      const own = stepsOfNode(at, deps.plan.name);
      const stuck = raiseOrEnd(own, repetitionLimits(at.run));
      if (stuck.action === "end") {
        const reason = refusedReason(deps, own, at.run) ?? stuck.reason;
        at.run.emit({ type: "stuck", action: "end", reason });
        return { end: failedDraft(reason) };
      }
      const raised = stuck.action === "deepen" ? stuck.reason : "";
      if (raised !== "") at.run.emit({ type: "stuck", action: "deepen", reason: raised });
      const { mode } = deps.plan;
      const step = await stepRequest(deps, at, { mode, raised, answerSchema: schemaOf(deps, at) });
      return next(deps, at, await runReasoningStep(step));
    },
    lastAnswer: lastAnswerOf(deps, deps.plan.mode),
  };
}

/** Returns the schema of a node's answers: its own, or the agent's if they are the turn's output. */
function schemaOf({ plan, outputSchema }: LlmNodeDeps, { run }: NodeAt): SchemaCheck | null {
  return outputSchema ?? (plan.answerSchema === null ? null : run.loop.definition.output);
}

/** Builds the step of a node, with its own model or the agent's. */
async function stepRequest(
  deps: PromptedModel,
  at: NodeAt,
  how: {
    readonly mode: ExecutionMode;
    /** Why the step is raised to deep mode; empty if `mode` decides. */
    readonly raised: string;
    readonly answerSchema: SchemaCheck | null;
  },
): Promise<StepRequest> {
  const { mode, raised, answerSchema } = how;
  const { state, run, branch } = at;
  const model = await deps.boundModel.model(run.context);
  const steps = stepsOfBranch(at);
  const { callIds, reasoning } = stepsOfTurn(at);
  const open = branch.open.flatMap((one) => one.tool_predictions.map(({ id }) => id));
  const prompt = promptText(deps.prompt, at.values);
  const choice = await chooseTools(deps.boundModel, state, run);
  return {
    run,
    model,
    purpose: "node",
    mode: raised === "" ? mode : "deep",
    turnNumber: state.turn_number ?? 0,
    attemptNumber: state.attempt_number ?? 0,
    stepIndex: at.stepIndex,
    approach: state.turn?.approach ?? "",
    stuck: raised,
    before: steps.at(-1),
    behind: steps,
    reasoning,
    offered: offeredTools(choice.tools, { model, mode, taken: run.loop.tools }),
    selection: choice.record,
    answerSchema,
    // Concurrent branches cannot see each other's ids.
    isUsed: (id) => at.isParallel || callIds.has(id) || open.includes(id),
    read: (note, goal, tools = []) =>
      probeFixedContext(
        run,
        at.stepIndex,
        composeNodeContext(at, { boundModel: deps.boundModel, model, goal, prompt, note, tools }),
      ),
  };
}

async function next(deps: LlmNodeDeps, at: NodeAt, made: StepResponse): Promise<NodeDone> {
  const { run } = at;
  const { current, read } = made;
  const { outputSchema } = deps;
  const schema = outputSchema && unredactedCheck(outputSchema, run.rails);
  const checked = read.answer === null || schema === null ? null : checkAnswer(read.answer, schema);
  const issues = checked?.ok === false ? run.rails.redact(checked.issues) : [];
  const value = checked?.ok === true ? run.rails.redact(checked.value) : null;
  const said = { text: read.thought, tool_calls: calls(current), output: value };
  const steps = [...at.branch.steps, current.step_index];
  const branch = { last: run.node, steps };
  if (read.nextAction === "use_tools") {
    for (const call of read.predictions) {
      run.emit({ type: "tool_call", step_index: current.step_index, call });
    }
    return {
      output: said,
      branch: { ...branch, open: [...at.branch.open, current] },
      update: { messages: [callingMessage(made, run)] },
    };
  }
  const closed: StepRecord = withoutTools({
    ...current,
    ...(issues.length > 0 && { problem: attemptFeedback(issues), next_action: "continue" }),
  });
  const record = isWorthReflection(closed)
    ? await reflectOn(closed, run, (openStep, note) =>
        reflectionContext(deps, at, { openStep, note }),
      )
    : closed;
  run.emit({ type: "step", step: record });
  const isAnswer = read.answer !== null && issues.length === 0;
  return {
    output: { ...said, message_id: made.reply.message.id ?? null },
    ...(isAnswer && { value: outputSchema === null ? read.answer : value }),
    branch,
    update: { steps: [record] },
    ...(record.approach !== current.approach && { turn: { approach: record.approach } }),
    again: !isAnswer,
  };
}

function calls(current: CurrentStep) {
  return current.tool_predictions.map(({ id, name, args }) => ({ id, name, args }));
}

/** Returns why a node gives up after invalid answers: the problems of the last one. */
function refusedReason(
  { plan, outputSchema }: LlmNodeDeps,
  own: readonly StepRecord[],
  { rails }: NodeAt["run"],
): string | null {
  const last = own.at(-1);
  if (last?.next_action !== "continue" || last.thought === "") return null;
  const checked = outputSchema && checkAnswer(last.thought, unredactedCheck(outputSchema, rails));
  if (checked?.ok !== false) return null;
  const issues = rails.redact(checked.issues).join("; ");
  return `the output_schema of node "${plan.name}" refused its answers, the last for: ${issues}`;
}

/** Returns the work of a node that has reached its limit: it answers from the known results. */
export function lastAnswerOf(asker: PromptedModel, mode: ExecutionMode): NodeWork {
  return async (at) => {
    const { output, spec } = at.run.loop.definition;
    const step = await stepRequest(asker, at, { mode, raised: "", answerSchema: output });
    const { record, draft } = await synthesizeFinalAnswer(asFinalAnswer(step), spec.output_schema);
    return { end: draft, update: { steps: [record] } };
  };
}
