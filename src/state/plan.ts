import { isRecord } from "../values/json.ts";
import { StateUpdateError } from "./reducers.ts";
import { noUsage, type Usage } from "./usage.ts";

/** One piece of a plan, done by one worker. */
export interface Subtask {
  /** Unique over all plans of the task; letters, digits, `_`, `.` and `-`, at most 64. */
  readonly id: string;
  /** The work to do. The worker receives nothing else but the results of `dependencies`. */
  readonly description: string;
  /** Ids of the subtasks whose results it needs. */
  readonly dependencies: readonly string[];
  /** Name of the worker; if left out, one is matched to the description. */
  readonly worker?: string | undefined;
  /** The expected form of its result. */
  readonly expected_output?: string | undefined;
}

/** A task divided into subtasks, whose dependencies have no cycle. */
export interface TaskPlan {
  readonly subtasks: readonly Subtask[];
  /** The criteria for judging the joined results; empty if the task itself states them. */
  readonly success_criteria: string;
}

export const subtaskStatuses = ["pending", "running", "done", "failed", "skipped"] as const;
export type SubtaskStatus = (typeof subtaskStatuses)[number];

/** Why a subtask failed or was skipped. `code` is a stable word. */
export interface SubtaskError {
  readonly code: string;
  readonly message: string;
}

/** The progress of a subtask and its outcome. */
export interface SubtaskState {
  readonly status: SubtaskStatus;
  readonly worker: string;
  /** Number of attempts that were started. */
  readonly attempts: number;
  /** ISO 8601: start of the first attempt; null before that. */
  readonly started_at: string | null;
  /** ISO 8601; null until it is done, failed or skipped. */
  readonly ended_at: string | null;
  /** The worker's result; null unless it is done. */
  readonly result: unknown;
  /** A guardrail's warning about the result, for its readers; left out if there is none. */
  readonly warning?: string;
  readonly error: SubtaskError | null;
  /** The usage of all its attempts. */
  readonly usage: Usage;
  /** The index of the plan it belongs to: 0 for the first, then one more for each plan for gaps. */
  readonly depth: number;
}

/** Returns the state of a planned subtask that has not started. */
export function pendingSubtask(worker: string, depth: number): SubtaskState {
  return {
    status: "pending",
    worker,
    attempts: 0,
    started_at: null,
    ended_at: null,
    result: null,
    error: null,
    usage: noUsage,
    depth,
  };
}

export type SubtaskStates = Readonly<Record<string, SubtaskState>>;

/** Merges by id; each subtask is written whole. */
export function reduceSubtasks(states: SubtaskStates, update: SubtaskStates): SubtaskStates {
  if (!isRecord(update)) throw new StateUpdateError("subtasks", "an object");
  return { ...states, ...update };
}

/** Returns whether the status is final. */
export function isSettled({ status }: Pick<SubtaskState, "status">): boolean {
  return status === "done" || status === "failed" || status === "skipped";
}
