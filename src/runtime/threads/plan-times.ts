import { criticalPath } from "../../planning/critical-path.ts";
import type { SubtaskState, SubtaskStates } from "../../state/subtask-state.ts";
import type { TaskPlan } from "../../state/task-plan.ts";

/** How long the subtasks of a plan took, in milliseconds. What has not ended took nothing yet. */
export interface PlanTimes {
  /** While at least one of them ran. What lies between two plans, or between a crash and what follows it, is left out. */
  readonly wallMs: number;
  /** One after the other. */
  readonly summedMs: number;
  /** The way through the plan that took longest: no schedule is shorter. */
  readonly criticalPath: MeasuredPath;
}

export interface MeasuredPath {
  /**
   * In the order in which they are run, without what was skipped. While it is under way, a subtask that has not ended counts for the choice of the
   * path as long as those that have took on average.
   */
  readonly ids: readonly string[];
  /** What was measured along it. */
  readonly ms: number;
}

export function planTimes(
  { subtasks }: Pick<TaskPlan, "subtasks">,
  states: SubtaskStates,
): PlanTimes {
  const durations = subtasks.map(({ id }) => durationOf(states[id]));
  const measured = durations.filter((one) => one !== null);
  const summedMs = measured.reduce((sum, one) => sum + one, 0);
  const mean = summedMs > 0 ? summedMs / measured.length : 1;
  const byId = new Map(subtasks.map(({ id }, index) => [id, durations[index] ?? null]));
  const path = criticalPath(subtasks, (id) => byId.get(id) ?? mean);
  const ids = path.ids.filter((id) => states[id]?.status !== "skipped");
  const ms = ids.reduce((sum, id) => sum + (byId.get(id) ?? 0), 0);
  return { wallMs: coveredMs(Object.values(states)), summedMs, criticalPath: { ids, ms } };
}

/** Milliseconds from its first beginning to its end; none for what was skipped, null for what has not ended. */
export function durationOf(state: SubtaskState | undefined): number | null {
  if (state === undefined || state.ended_at === null) return null;
  if (state.started_at === null) return 0;
  return Math.max(0, Date.parse(state.ended_at) - Date.parse(state.started_at));
}

/** How much time the subtasks cover together. */
function coveredMs(states: readonly SubtaskState[]): number {
  const spans = states
    .flatMap(({ started_at: start, ended_at: end }) =>
      start === null || end === null ? [] : [{ from: Date.parse(start), to: Date.parse(end) }],
    )
    .toSorted((a, b) => a.from - b.from);
  let covered = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans) {
    covered += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return covered;
}
