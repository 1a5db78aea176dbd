import type { TaskPlan } from "../state/task-plan.ts";
import { type CriticalPath, criticalPath } from "./critical-path.ts";
import { InvalidPlanError, InvalidScheduleOptionError } from "./errors.ts";
import { planLevels } from "./levels.ts";
import { planGraphProblems } from "./plan-graph-problems.ts";
import { PriorityQueue } from "./priority-queue.ts";
import { quoteValue } from "./quote-value.ts";
import { readPlan } from "./read-plan.ts";
import { Scheduler } from "./scheduler.ts";

export interface SchedulePlanOptions {
  /** Subtasks at once, a whole number from 1. Default 8, as at run time; `Infinity` for no limit. */
  readonly maxParallel?: number;
  /** How long a subtask takes, in any unit, at least 0. Default: 1 each. */
  readonly durationOf?: (id: string) => number;
}

export interface PlanSchedule {
  /** In the order in which they begin. */
  readonly subtasks: readonly {
    readonly id: string;
    readonly start: number;
    readonly end: number;
  }[];
  /** When the last one ends. */
  readonly makespan: number;
  /** The longest way through the plan: no schedule is shorter. */
  readonly criticalPath: CriticalPath;
  /** Ids by topological level. */
  readonly levels: readonly (readonly string[])[];
}

/**
 * How a plan is run when every subtask takes as long as is said: the scheduler of the run on a clock of its own.
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
  const running = new PriorityQueue<PlanSchedule["subtasks"][number]>((a, b) => a.end < b.end);
  const begun: PlanSchedule["subtasks"][number][] = [];
  let now = 0;
  while (!scheduler.isOver) {
    for (const id of scheduler.begin()) {
      const one = { id, start: now, end: now + timeOf(id) };
      begun.push(one);
      running.push(one);
    }
    now = running.first?.end ?? now;
    while (running.first?.end === now) {
      scheduler.done(running.first.id);
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
