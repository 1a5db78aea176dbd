import type { Subtask, SubtaskState, TaskPlan } from "../../src/state/plan.ts";
import { noUsage } from "../../src/state/usage.ts";

/** A plan of subtasks by id, with what each depends on; `a: "b c"`. All are for the worker `w`. */
export function planOf(
  dependencies: Readonly<Record<string, string>>,
  fields: Partial<Subtask> = { worker: "w" },
): TaskPlan {
  const subtasks = Object.entries(dependencies).map(([id, needs]) => ({
    id,
    description: `Do ${id}.`,
    dependencies: needs === "" ? [] : needs.split(" "),
    ...fields,
  }));
  return { subtasks, success_criteria: "" };
}

/** A subtask that was done by the worker `w` from one second of a minute to another. */
export function subtaskState(
  from: number,
  to: number,
  fields: Partial<SubtaskState> = {},
): SubtaskState {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
  return {
    status: "done",
    worker: "w",
    attempts: 1,
    started_at: at(from),
    ended_at: at(to),
    result: "ok",
    error: null,
    usage: noUsage,
    depth: 0,
    ...fields,
  };
}
