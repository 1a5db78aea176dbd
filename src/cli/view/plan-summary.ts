import { planTimes } from "../../runtime/threads/plan-times.ts";
import { isSettled, type SubtaskStates, type SubtaskStatus } from "../../state/subtask-state.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import { count, duration } from "./figures.ts";

const shown: readonly SubtaskStatus[] = ["done", "failed", "skipped", "running"];

/** `5 subtasks: 3 done, 1 failed, 1 skipped`; what is left is not begun. */
export function countsOf(plan: Pick<TaskPlan, "subtasks">, states: SubtaskStates): string {
  const numbers = shown.flatMap((status) => {
    const number = plan.subtasks.filter(({ id }) => states[id]?.status === status).length;
    return number === 0 ? [] : [`${number.toLocaleString("en")} ${status}`];
  });
  const all = count(plan.subtasks.length, "subtask");
  return numbers.length === 0 ? all : `${all}: ${numbers.join(", ")}`;
}

/**
 * What became of a plan, on one line, and what it gained: `3 subtasks: 3 done · 2.0 s · critical path 1.8 s · 1.1 s saved by running side by
 * side`.
 */
export function planSummary(plan: Pick<TaskPlan, "subtasks">, states: SubtaskStates): string {
  const { wallMs, summedMs, criticalPath } = planTimes(plan, states);
  const savedMs = summedMs - wallMs;
  const isOver = plan.subtasks.every(({ id }) => isSettled(states[id] ?? { status: "pending" }));
  if (!isOver) return [countsOf(plan, states), duration(wallMs)].join(" · ");
  return [
    countsOf(plan, states),
    duration(wallMs),
    `critical path ${duration(criticalPath.ms)}`,
    ...(savedMs < 0.5 ? [] : [`${duration(savedMs)} saved by running side by side`]),
  ].join(" · ");
}
