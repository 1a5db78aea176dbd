import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { PlanningState } from "../../state/channels.ts";
import { keptSubtasks, waitingSubtasks } from "../../compile/planner/subtask-log.ts";
import { isRecord } from "../../state/is-record.ts";
import { pendingSubtask, type SubtaskStates } from "../../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../../state/task-plan.ts";

/** What is stored of a planner that has a plan. */
export interface Planning extends PlanningState {
  readonly plan: TaskPlan;
  /** Ids of subtasks that have asked people, and are not settled. */
  readonly waiting: readonly string[];
}

/** Reads the channels of a planner's graph, or the output of its node; null for anything else, and without a plan. */
export function planningIn(value: unknown): Planning | null {
  if (!isRecord(value) || !isPlan(value["plan"]) || !isRecord(value["subtasks"])) return null;
  const { plan, subtasks, depth, gaps, criteria_met } = value;
  return {
    plan,
    subtasks: subtasks as SubtaskStates,
    depth: typeof depth === "number" ? depth : 0,
    gaps: Array.isArray(gaps) ? gaps.map(String) : [],
    criteria_met: typeof criteria_met === "boolean" ? criteria_met : null,
    waiting: [],
  };
}

/** Reads the checkpoint of a planner's graph, with the subtasks that are kept beside it until the last one has ended. */
export function planningUnderWay({
  checkpoint,
  pendingWrites = [],
}: Pick<CheckpointTuple, "checkpoint" | "pendingWrites">): Planning | null {
  const stored = planningIn(checkpoint.channel_values);
  if (stored === null) return null;
  const subtasks = { ...stored.subtasks, ...keptSubtasks(pendingWrites) };
  const asked = waitingSubtasks(pendingWrites);
  const ids = stored.plan.subtasks.map(({ id }) => id);
  return { ...stored, subtasks, waiting: ids.filter((id) => asked.has(id)) };
}

/** A state for every subtask of the plan, in its order. */
export function allSubtasks({
  plan,
  subtasks,
}: Pick<Planning, "plan" | "subtasks">): SubtaskStates {
  return Object.fromEntries(
    plan.subtasks.map(({ id, worker = "" }) => [id, subtasks[id] ?? pendingSubtask(worker, 0)]),
  );
}

function isPlan(value: unknown): value is TaskPlan {
  return isRecord(value) && Array.isArray(value["subtasks"]) && value["subtasks"].every(isSubtask);
}

function isSubtask(value: unknown): value is Subtask {
  return isRecord(value) && typeof value["id"] === "string" && Array.isArray(value["dependencies"]);
}
