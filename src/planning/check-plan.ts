import { nearestName } from "../nearest-name.ts";
import type { Subtask, SubtaskState, TaskPlan } from "../state/plan.ts";
import { deepFreeze } from "../values/json.ts";
import { type Linked, planCycles } from "./plan-graph.ts";
import { type PlanProblem, quoteValue, readPlan } from "./read-plan.ts";
export type { PlanProblem } from "./read-plan.ts";

/** Limits and names for checking a plan. */
export interface PlanLimits {
  /** Maximum number of subtasks over all plans of a task, those in `given` included. */
  readonly maxSubtasks: number;
  /** Worker names that a subtask may use. */
  readonly workers: readonly string[];
  /** Earlier subtasks. A plan for gaps may depend on the completed ones and must not reuse their ids. */
  readonly given?: EarlierSubtasks;
}

/** Subtasks of earlier plans, by id. */
export type EarlierSubtasks = Readonly<Record<string, Pick<SubtaskState, "status">>>;

export type CheckedPlan =
  | { readonly ok: true; readonly plan: TaskPlan }
  | { readonly ok: false; readonly problems: readonly PlanProblem[] };

/**
 * Checks a plan from an untrusted value and reports every problem at once. A valid plan is copied without unknown keys,
 * and frozen. Never throws; linear time.
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
    const message = `Subtask ${quoteValue(id)} names the worker ${quoteValue(worker)}, which does not exist.${known.hint(worker)}`;
    return [{ kind: "unknown_worker" as const, ids: [id], message }];
  });
}

/** Ids of a cycle shown in a message; `ids` has all. */
const maxSaid = 20;

/**
 * Returns the problems of ids and dependencies: those of each subtask in the order of the plan, then the cycles. Linear
 * time.
 *
 * @param given subtasks of earlier plans
 */
export function planGraphProblems(subtasks: Linked, given: EarlierSubtasks): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const indexes = new Map<string, number>();
  for (const [index, { id }] of subtasks.entries()) {
    // Its id could not be read.
    if (id === "") continue;
    const first = indexes.get(id);
    if (first === undefined) indexes.set(id, index);
    const usedBy = first === undefined ? "an earlier plan" : `subtasks[${first}]`;
    if (first === undefined && !Object.hasOwn(given, id)) continue;
    const message = `subtasks[${index}].id: ${quoteValue(id)} was used before, by ${usedBy}; give each subtask an id of its own`;
    problems.push({ kind: "duplicate_id", ids: [id], message });
  }
  const done = Object.keys(given).filter((id) => given[id]?.status === "done");
  const known = new KnownNames([...indexes.keys(), ...done]);
  for (const { id, dependencies } of subtasks) {
    for (const dependency of dependencies) {
      const problem = dependencyProblem(id, dependency);
      if (problem !== undefined) problems.push(problem);
    }
  }
  return [...problems, ...planCycles(subtasks).map(cycleProblem)];

  function dependencyProblem(id: string, dependency: string): PlanProblem | undefined {
    const subtask = `Subtask ${quoteValue(id)}`;
    if (dependency === id) {
      return { kind: "self_dependency", ids: [id], message: `${subtask} depends on itself` };
    }
    if (indexes.has(dependency)) return undefined;
    if (!Object.hasOwn(given, dependency)) {
      const hint = known.hint(dependency, id);
      const message = `${subtask} depends on ${quoteValue(dependency)}, which does not exist.${hint}`;
      return { kind: "unknown_dependency", ids: [id], message };
    }
    const status = given[dependency]?.status;
    if (status === "done") return undefined;
    const message = `${subtask} depends on ${quoteValue(dependency)} of an earlier plan, which is ${status}; a subtask can only depend on completed ones`;
    return { kind: "unfinished_dependency", ids: [id, dependency], message };
  }
}

function cycleProblem(ids: readonly string[]): PlanProblem {
  const more = ids.length - maxSaid;
  const said =
    more <= 0
      ? ids
      : [...ids.slice(0, maxSaid - 1), `… ${more.toLocaleString("en")} more …`, ids[0]];
  const message = `These subtasks form a dependency cycle, each depending on the next: ${said.join(" → ")}`;
  return { kind: "cycle", ids, message };
}

/** Names listed in one message. */
const maxListed = 20;
/**
 * Maximum number of edit-distance comparisons for all messages about one set of names, which bounds the cost of a plan
 * full of unknown names.
 */
const maxCompared = 5_000;

/** The known names, for messages about unknown ones. */
class KnownNames {
  readonly #names: readonly string[];
  readonly #nearest = new Map<string, string | undefined>();
  #compared = 0;
  #listed: string | undefined;

  constructor(names: Iterable<string>) {
    this.#names = [...names];
  }

  /** Returns a suggestion for `name`: the nearest known name except `except`, and the known names. */
  hint(name: string, except?: string): string {
    const near = this.#near(name);
    const meant = near === undefined || near === except ? "" : ` Did you mean "${near}"?`;
    this.#listed ??= listed(this.#names);
    return meant + this.#listed;
  }

  #near(name: string): string | undefined {
    if (this.#nearest.has(name)) return this.#nearest.get(name);
    const compared = this.#names.slice(0, maxCompared - this.#compared);
    this.#compared += compared.length;
    const near = nearestName(name, compared);
    this.#nearest.set(name, near);
    return near;
  }
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return " There are none.";
  const more = names.length - maxListed;
  const rest = more > 0 ? ` and ${more.toLocaleString("en")} more` : "";
  return ` There are: ${names.slice(0, maxListed).join(", ")}${rest}.`;
}
