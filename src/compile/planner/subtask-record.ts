import type { GraphState } from "../../state/channels.ts";
import type { StepRecord, ToolResult } from "../../state/step-record.ts";
import type { SubtaskState, SubtaskStates } from "../../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../../state/task-plan.ts";
import { blankStep } from "../loop/blank-step.ts";
import type { NodeRun } from "../loop/node-body.ts";

/**
 * What was run of a plan as records, in the order in which the subtasks ended: a call of a worker each, with what it gave.
 * Requests tell the results from them like those of tools, and leave the oldest out first where there is no room.
 */
export function recordsOf(of: {
  readonly state: GraphState;
  readonly run: NodeRun;
  readonly plan: TaskPlan;
  /** Settled ones. */
  readonly subtasks: SubtaskStates;
}): readonly StepRecord[] {
  const { state, run, plan, subtasks } = of;
  const ran = plan.subtasks.flatMap((subtask): readonly [Subtask, SubtaskState][] => {
    const settled = subtasks[subtask.id];
    return settled === undefined ? [] : [[subtask, settled]];
  });
  const inOrder = ran.toSorted(([, a], [, b]) => compare(a.ended_at ?? "", b.ended_at ?? ""));
  return inOrder.map(([subtask, settled], i) => {
    const { worker, started_at, ended_at, usage } = settled;
    const place = placeOf(state, run, started_at ?? ended_at ?? "");
    const call = { id: subtask.id, name: worker, args: argsOf(subtask), reason: "" };
    return {
      ...blankStep({ ...place, step_index: place.step_index + i }),
      next_action: "use_tools",
      tool_predictions: [call],
      tool_results: [resultOf(subtask, settled)],
      concurrent_execution: false,
      usage,
    };
  });
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Where the next record of a planner stands: it has one turn, and makes one record after the other. */
export function placeOf(state: GraphState, run: NodeRun, timestamp: string) {
  return {
    turn_number: state.turn_number ?? 0,
    attempt_number: state.attempt_number ?? 0,
    step_index: state.steps.length,
    node: run.node,
    timestamp,
    approach: "",
  };
}

/** The id as well: further plans depend on results by it. */
function argsOf({ id, description }: Subtask) {
  return { id, task: description };
}

function resultOf(subtask: Subtask, settled: SubtaskState): ToolResult {
  const { status, worker, result, warning, error, started_at, ended_at } = settled;
  const took =
    started_at === null || ended_at === null ? 0 : Date.parse(ended_at) - Date.parse(started_at);
  return {
    id: subtask.id,
    name: worker,
    args: argsOf(subtask),
    result,
    error: error?.message ?? null,
    outcome:
      status === "done" ? "success" : error?.code.includes("timeout") ? "timeout" : "failure",
    execution_time_ms: Math.max(0, took),
    insights: "",
    learning: "",
    relevance: "",
    ...(warning !== undefined && { warning }),
  };
}
