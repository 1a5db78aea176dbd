import type { TemplateValue } from "../../expression/template-value.ts";
import { isRecord } from "../../state/is-record.ts";
import type {
  CurrentStep,
  StepRecord,
  ToolPrediction,
  ToolResult,
} from "../../state/step-record.ts";
import type { RunToolCallsResult } from "../../tools/run-tool-calls.ts";
import { UnknownOutcomeError } from "../errors.ts";
import { approveCalls, editedMessages } from "../loop/approval.ts";
import { callsSoFar } from "../loop/call-rules.ts";
import { closeStep, toolMessage } from "../loop/close-step.ts";
import { makeCalls } from "../loop/make-calls.ts";
import { noAnswer } from "../loop/reasoning.ts";
import { reflectOn } from "../loop/reflection.ts";
import type { ToolNode } from "../plan/plan-node.ts";
import { blankStepAt } from "./blank-step-at.ts";
import type { Asker } from "./asker.ts";
import { lookBack } from "./look-back.ts";
import type { NodeAt, NodeDone, NodeWork } from "./node-work.ts";

export interface ToolNodeParts {
  readonly plan: ToolNode;
  readonly args: TemplateValue | null;
  /** What an llm node, by its name, asks with. */
  readonly askedBy: (node: string) => Asker;
}

/** Runs one tool that the definition names, or the calls that the last llm node of the branch asked for. */
export function toolNode({ plan, args, askedBy }: ToolNodeParts): NodeWork {
  return plan.tool === null ? runAsked(plan, askedBy) : runNamed(plan, plan.tool, args);
}

function runAsked(plan: ToolNode, askedBy: ToolNodeParts["askedBy"]): NodeWork {
  return async (at) => {
    const { state, run, branch } = at;
    const asked = branch.open.flatMap((step) => step.tool_predictions);
    const before = callsBefore(at);
    const { calls } = await approveCalls({ calls: asked, before, state, run });
    const underWay = withCalls(branch.open, calls);
    run.begun.push(...underWay);
    const ran = await runCalls(plan, at, calls);
    const ended = new Map(ran.results.map((result) => [result.id, result]));
    const steps: StepRecord[] = [];
    const read = (openStep: StepRecord, note: string) =>
      lookBack(askedBy(openStep.node), at, { openStep, note });
    for (const open of underWay) {
      const results = open.tool_predictions.flatMap(({ id }) => ended.get(id) ?? []);
      const closed = closeStep(open, { results, concurrent: ran.concurrent });
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
      // The branch's own, so that it is the same when the node runs again with an answer.
      id: state.branches.find(({ at: place }) => place === run.node)?.id ?? run.parts.ids(),
      name: tool,
      args: isRecord(rendered) ? rendered : {},
      reason: "",
    };
    const before = callsBefore(at);
    const { calls } = await approveCalls({ calls: [asked], before, state, run });
    const [call = asked] = calls;
    // No model thought of it: the definition makes the call.
    const current: CurrentStep = {
      ...blankStepAt(at),
      next_action: "use_tools",
      tool_predictions: [call],
    };
    run.begun.push(current);
    run.emit({ type: "tool_call", step_index: current.step_index, call });
    const ran = await runCalls(plan, at, [call], current.step_index);
    const record = closeStep(current, { results: ran.results, concurrent: false });
    run.emit({ type: "step", step: record });
    const [result] = ran.results;
    const { outcome = "error", error = null, result: value = null } = result ?? {};
    const update = updateOf(ran, [record], at);
    const isAskedFor = at.asks("outcome") || at.asks("error");
    // Another attempt would make the call again.
    if (result?.recovered === "unknown" && !isAskedFor) {
      throw new UnknownOutcomeError(plan.name, tool, error ?? "");
    }
    if (outcome !== "success" && !isAskedFor) {
      return {
        end: noAnswer(`tool "${tool}" of node "${plan.name}" failed: ${error ?? ""}`),
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

/** Steps under way with their calls as they may be made. */
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

/** Calls of the turn that come before those of this node, also of nodes beside it. */
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
    // A call that no model asked for is not part of the conversation.
    messages: steps
      .filter(({ model }) => model !== "")
      .flatMap((step) => step.tool_results.map((result) => toolMessage(result, run.parts.ids()))),
    execution: ran.state.execution,
    attempt: ran.state.attempt,
    usage: { tool_calls: ran.results.length },
  };
}

function shownResult({ name, args, result, outcome, error }: ToolResult) {
  return { name, args, result, outcome, error };
}
