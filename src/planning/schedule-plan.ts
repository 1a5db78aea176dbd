import TinyQueue from "tinyqueue";
import type { TaskPlan } from "../state/plan.ts";
import { criticalPath, type CriticalPath, planLevels } from "./plan-graph.ts";
import { InvalidPlanError, InvalidScheduleOptionError } from "./errors.ts";
import { planGraphProblems } from "./check-plan.ts";
import { Scheduler } from "./scheduler.ts";
import { quoteValue, readPlan } from "./read-plan.ts";

export interface SchedulePlanOptions {
  /**
   * Maximum number of concurrent subtasks, a whole number from 1. Default 8, as at run time; `Infinity` for no limit.
   */
  readonly maxParallel?: number;
  /** Duration of a subtask, in any unit, at least 0. Default: 1 each. */
  readonly durationOf?: (id: string) => number;
}

export interface PlanSchedule {
  /** In order of their start. */
  readonly subtasks: readonly {
    readonly id: string;
    readonly start: number;
    readonly end: number;
  }[];
  /** End time of the last subtask. */
  readonly makespan: number;
  /** The longest path through the plan: a lower bound for any schedule. */
  readonly criticalPath: CriticalPath;
  /** Ids by topological level. */
  readonly levels: readonly (readonly string[])[];
}

/**
 * Computes the schedule of a plan with known durations: the run-time scheduler on a simulated clock.
 *
 * @throws InvalidPlanError, InvalidScheduleOptionError
 */
export function schedulePlan(
  plan: Pick<TaskPlan, "subtasks">,
  options: SchedulePlanOptions = {},
): PlanSchedule {
  const { maxParallel = 8, durationOf = () => 1 } = options;
  if (!(maxParallel >= 1) || (maxParallel !== Infinity && !Number.isInteger(maxParallel))) {
    const expected = "a whole number from 1, or Infinity";
    throw new InvalidScheduleOptionError("maxParallel", expected, quoteValue(maxParallel));
  }
  const { subtasks } = soundPlan(plan);
  const durations = new Map(subtasks.map(({ id }) => [id, checkedDuration(id, durationOf(id))]));
  const timeOf = (id: string) => durations.get(id) ?? 0;
  const scheduler = new Scheduler(subtasks, { maxParallel, durationOf: timeOf });
  const running = new TinyQueue<PlanSchedule["subtasks"][number]>([], (a, b) => a.end - b.end);
  const begun: PlanSchedule["subtasks"][number][] = [];
  let now = 0;
  while (!scheduler.isOver) {
    for (const id of scheduler.start()) {
      const one = { id, start: now, end: now + timeOf(id) };
      begun.push(one);
      running.push(one);
    }
    now = running.peek()?.end ?? now;
    for (let next = running.peek(); next?.end === now; next = running.peek()) {
      scheduler.complete(next.id);
      running.pop();
    }
  }
  return {
    subtasks: begun,
    makespan: now,
    criticalPath: criticalPath(subtasks, timeOf),
    levels: planLevels(subtasks),
  };
}

function soundPlan(plan: unknown): TaskPlan {
  const reading = readPlan(plan, { maxSubtasks: Infinity, before: 0 });
  const problems = [...reading.problems, ...planGraphProblems(reading.plan.subtasks, {})];
  if (problems.length > 0) throw new InvalidPlanError(problems, "caller");
  return reading.plan;
}

function checkedDuration(id: string, duration: number): number {
  if (Number.isFinite(duration) && duration >= 0) return duration;
  const expected = `a finite number from 0 for subtask "${id}"`;
  throw new InvalidScheduleOptionError("durationOf", expected, quoteValue(duration));
}
