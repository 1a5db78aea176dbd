import { isRecord } from "./is-record.ts";
import { StateUpdateError } from "./update-error.ts";
import { noUsage, type Usage } from "./usage.ts";

export const subtaskStatuses = ["pending", "running", "done", "failed", "skipped"] as const;
export type SubtaskStatus = (typeof subtaskStatuses)[number];

/** Why a subtask failed, or was not begun. `code` is a stable word. */
export interface SubtaskError {
  readonly code: string;
  readonly message: string;
}

/** Where a subtask of a plan is, and what came of it. */
export interface SubtaskState {
  readonly status: SubtaskStatus;
  readonly worker: string;
  /** How often it was begun. */
  readonly attempts: number;
  /** ISO 8601: when its first attempt began; null before that. */
  readonly started_at: string | null;
  /** ISO 8601; null until it is done, failed or skipped. */
  readonly ended_at: string | null;
  /** What the worker gave; null unless it is done. */
  readonly result: unknown;
  /** What a guardrail says of the result, for whoever reads it; left out where none says anything. */
  readonly warning?: string;
  readonly error: SubtaskError | null;
  /** What all its attempts have spent. */
  readonly usage: Usage;
  /** The plan that it belongs to: 0 for the first, then one more for each that closes gaps. */
  readonly depth: number;
}

/** A subtask that was planned, and not begun yet. */
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

/** Merged by id: each subtask is written whole. */
export function reduceSubtasks(states: SubtaskStates, update: SubtaskStates): SubtaskStates {
  if (!isRecord(update)) throw new StateUpdateError("subtasks", "an object");
  return { ...states, ...update };
}

/** Whether it comes to no more. */
export function isSettled({ status }: Pick<SubtaskState, "status">): boolean {
  return status === "done" || status === "failed" || status === "skipped";
}
