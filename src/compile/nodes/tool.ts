import type { TemplateValue } from "../../expression/template.ts";
import { isRecord } from "../../values/json.ts";
import type {
  CurrentStep,
  StepRecord,
  ToolPrediction,
  ToolResult,
} from "../../state/step-record.ts";
import type { RunToolCallsResult } from "../../tools/run-tool-calls.ts";
import { UnknownOutcomeError } from "../errors.ts";
import { editedMessages } from "../loop/step.ts";
import { approveCalls, callsSoFar } from "../loop/human.ts";
import { completeStep, toolMessage } from "../loop/step.ts";
import { makeCalls } from "../loop/tools.ts";
import { failedDraft } from "../loop/reasoning-step.ts";
import { reflectOn } from "../loop/reflect.ts";
import type { ToolNode } from "../workflow-plan.ts";
import {
  type PromptedModel,
  emptyStepAt,
  type NodeAt,
  type NodeDone,
  type NodeWork,
} from "./node-work.ts";
import { reflectionContext } from "./compose-node-context.ts";

export interface ToolNodeDeps {
  readonly plan: ToolNode;
  readonly args: TemplateValue | null;
  /** Returns the model and prompt of an llm node, by name. */
  readonly askedBy: (node: string) => PromptedModel;
}

/** Runs one tool that the definition names, or the calls of the branch's last llm node. */
export function toolNode({ plan, args, askedBy }: ToolNodeDeps): NodeWork {
  return plan.tool === null ? runAsked(plan, askedBy) : runNamed(plan, plan.tool, args);
}

function runAsked(plan: ToolNode, askedBy: ToolNodeDeps["askedBy"]): NodeWork {
  return async (at) => {
    const { state, run, branch } = at;
    const asked = branch.open.flatMap((step) => step.tool_predictions);
    const before = callsBefore(at);
    const { calls } = await approveCalls({ calls: asked, before, state, run });
    const underWay = withCalls(branch.open, calls);
    run.startedSteps.push(...underWay);
    const ran = await runCalls(plan, at, calls);
    const ended = new Map(ran.results.map((result) => [result.id, result]));
    const steps: StepRecord[] = [];
    const read = (openStep: StepRecord, note: string) =>
      reflectionContext(askedBy(openStep.node), at, { openStep, note });
    for (const open of underWay) {
      const results = open.tool_predictions.flatMap(({ id }) => ended.get(id) ?? []);
      const closed = completeStep(open, { results, concurrent: ran.concurrent });
      steps.push(closed.mode === "deep" ? await reflectOn(closed, run, read) : closed);
    }
    for (const step of steps) run.emit({ type: "step", step });
    const results = ran.results.map(shownResult);
    const approach = steps.at(-1)?.approach;
    const update = updateOf(ran, steps, at);
    const edited = editedMessages(asked, calls, state.messages);
    return {
      output: { results },
      value: results,
      branch: { open: [] },
      update: { ...update, messages: [...edited, ...(update.messages ?? [])] },
      ...(approach !== undefined && approach !== "" && { turn: { approach } }),
    };
  };
}

function runNamed(plan: ToolNode, tool: string, args: TemplateValue | null): NodeWork {
  return async (at) => {
    const { state, run } = at;
    const rendered = args?.render(at.values) ?? {};
    const asked: ToolPrediction = {
      // The branch's own id, so that it is the same when the node runs again with an answer.
      id: state.branches.find(({ at: place }) => place === run.node)?.id ?? run.loop.ids(),
      name: tool,
      args: isRecord(rendered) ? rendered : {},
      reason: "",
    };
    const before = callsBefore(at);
    const { calls } = await approveCalls({ calls: [asked], before, state, run });
    const [call = asked] = calls;
    // The definition makes this call, not a model.
    const current: CurrentStep = {
      ...emptyStepAt(at),
      next_action: "use_tools",
      tool_predictions: [call],
    };
    run.startedSteps.push(current);
    run.emit({ type: "tool_call", step_index: current.step_index, call });
    const ran = await runCalls(plan, at, [call], current.step_index);
    const record = completeStep(current, { results: ran.results, concurrent: false });
    run.emit({ type: "step", step: record });
    const [result] = ran.results;
    const { outcome = "error", error = null, result: value = null } = result ?? {};
    const update = updateOf(ran, [record], at);
    const isAskedFor = at.asks("outcome") || at.asks("error");
    // Another attempt would repeat the call.
    if (result?.recovered === "unknown" && !isAskedFor) {
      throw new UnknownOutcomeError(plan.name, tool, error ?? "");
    }
    if (outcome !== "success" && !isAskedFor) {
      return {
        end: failedDraft(`tool "${tool}" of node "${plan.name}" failed: ${error ?? ""}`),
        update,
      };
    }
    return {
      output: { result: value, outcome, error },
      ...(outcome === "success" && { value }),
      branch: { steps: [...at.branch.steps, record.step_index] },
      update,
    };
  };
}

/** Returns the open steps with their calls as approved. */
function withCalls(
  steps: readonly CurrentStep[],
  calls: readonly ToolPrediction[],
): readonly CurrentStep[] {
  const byId = new Map(calls.map((call) => [call.id, call]));
  return steps.map((step) => {
    const own = step.tool_predictions.map((call) => byId.get(call.id) ?? call);
    return { ...step, tool_predictions: own };
  });
}

/** Returns how many calls of the turn precede those of this node, concurrent nodes included. */
function callsBefore({ state, callsBeside }: NodeAt): number {
  return callsSoFar(state) + callsBeside;
}

async function runCalls(
  plan: ToolNode,
  at: NodeAt,
  calls: CurrentStep["tool_predictions"],
  stepIndex?: number,
): Promise<RunToolCallsResult> {
  const { state, run, branch } = at;
  const stepOfCall = new Map(
    branch.open.flatMap((step) =>
      step.tool_predictions.map(({ id }) => [id, step.step_index] as const),
    ),
  );
  return makeCalls(state, run, {
    calls,
    callsBefore: callsBefore(at),
    concurrency: plan.concurrency,
    stepOf: (callId) => stepIndex ?? stepOfCall.get(callId) ?? at.stepIndex,
  });
}

function updateOf(
  ran: RunToolCallsResult,
  steps: readonly StepRecord[],
  { run }: NodeAt,
): NonNullable<NodeDone["update"]> {
  return {
    steps,
    // A call that no model made is not part of the conversation.
    messages: steps
      .filter(({ model }) => model !== "")
      .flatMap((step) => step.tool_results.map((result) => toolMessage(result, run.loop.ids()))),
    execution: ran.state.execution,
    attempt: ran.state.attempt,
    usage: { tool_calls: ran.results.length },
  };
}

function shownResult({ name, args, result, outcome, error }: ToolResult) {
  return { name, args, result, outcome, error };
}
