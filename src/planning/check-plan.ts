import { deepFreeze } from "../state/freeze.ts";
import type { SubtaskStates } from "../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../state/task-plan.ts";
import { KnownNames } from "./known-names.ts";
import { planGraphProblems } from "./plan-graph-problems.ts";
import type { PlanProblem } from "./plan-problem.ts";
import { quoteValue } from "./quote-value.ts";
import { readPlan } from "./read-plan.ts";

export type { PlanProblem } from "./plan-problem.ts";

/** What a plan may hold. */
export interface PlanLimits {
  /** Subtasks of all plans for a task, those in `given` included. */
  readonly maxSubtasks: number;
  /** Names that a subtask may give as its worker. */
  readonly workers: readonly string[];
  /** What was planned before: a plan for gaps may depend on what is done of it, and takes none of its ids. */
  readonly given?: SubtaskStates;
}

export type CheckedPlan =
  | { readonly ok: true; readonly plan: TaskPlan }
  | { readonly ok: false; readonly problems: readonly PlanProblem[] };

/**
 * Checks a plan of whatever came: every problem at once. A sound one is copied, without what a plan has no place for,
 * and frozen. Never throws; in linear time.
 */
export function checkPlan(value: unknown, limits: PlanLimits): CheckedPlan {
  const { maxSubtasks, workers, given = {} } = limits;
  const reading = readPlan(value, { maxSubtasks, before: Object.keys(given).length });
  const { plan } = reading;
  const problems = [
    ...reading.problems,
    ...planGraphProblems(plan.subtasks, given),
    ...workerProblems(plan.subtasks, workers),
  ];
  return problems.length === 0 ? { ok: true, plan: deepFreeze(plan) } : { ok: false, problems };
}

function workerProblems(subtasks: readonly Subtask[], workers: readonly string[]): PlanProblem[] {
  const names = new Set(workers);
  const known = new KnownNames(names);
  return subtasks.flatMap(({ id, worker }) => {
    if (worker === undefined || names.has(worker)) return [];
    const message = `Subtask ${quoteValue(id)} names the worker ${quoteValue(worker)}, which there is not.${known.hint(worker)}`;
    return [{ kind: "unknown_worker" as const, ids: [id], message }];
  });
}
