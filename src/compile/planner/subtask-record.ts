import type { GraphState } from "../../state/channels.ts";
import type { StepRecord, ToolResult } from "../../state/step-record.ts";
import type { SubtaskState, SubtaskStates } from "../../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../../state/task-plan.ts";
import { blankStep } from "../loop/blank-step.ts";
import type { NodeRun } from "../loop/node-body.ts";

/**
 * What a node ran of a plan as one record: a call of a worker for each subtask, with what it gave. Requests tell the
 * results from it, like those of tools. Null where nothing was run.
 */
export function recordOf(of: {
  readonly state: GraphState;
  readonly run: NodeRun;
  readonly plan: TaskPlan;
  /** What has settled in the node. */
  readonly subtasks: SubtaskStates;
  /** When the node began. */
  readonly timestamp: string;
}): StepRecord | null {
  const { state, run, plan, subtasks, timestamp } = of;
  const ran = plan.subtasks.flatMap((subtask): readonly [Subtask, SubtaskState][] => {
    const settled = subtasks[subtask.id];
    return settled === undefined ? [] : [[subtask, settled]];
  });
  if (ran.length === 0) return null;
  return {
    ...blankStep(placeOf(state, run, timestamp)),
    next_action: "use_tools",
    tool_predictions: ran.map(([subtask, { worker }]) => ({
      id: subtask.id,
      name: worker,
      args: { task: subtask.description },
      reason: "",
    })),
    tool_results: ran.map(([subtask, settled]) => resultOf(subtask, settled)),
    concurrent_execution: ran.length > 1,
  };
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

function resultOf({ id, description }: Subtask, settled: SubtaskState): ToolResult {
  const { status, worker, result, error, started_at, ended_at } = settled;
  const took =
    started_at === null || ended_at === null ? 0 : Date.parse(ended_at) - Date.parse(started_at);
  return {
    id,
    name: worker,
    args: { task: description },
    result,
    error: error?.message ?? null,
    outcome:
      status === "done" ? "success" : error?.code.includes("timeout") ? "timeout" : "failure",
    execution_time_ms: Math.max(0, took),
    insights: "",
    learning: "",
    relevance: "",
  };
}
