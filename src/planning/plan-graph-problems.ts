import type { SubtaskStates } from "../state/subtask-state.ts";
import { KnownNames } from "./known-names.ts";
import { planCycles } from "./plan-cycles.ts";
import type { Linked } from "./plan-links.ts";
import type { PlanProblem } from "./plan-problem.ts";
import { quoteValue } from "./quote-value.ts";

/** Ids of a cycle that are said; `ids` has all. */
const maxSaid = 20;

/**
 * What is wrong with ids and dependencies: those of each subtask in the order of the plan, then the cycles. In linear
 * time.
 *
 * @param given subtasks of earlier plans
 */
export function planGraphProblems(subtasks: Linked, given: SubtaskStates): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const places = new Map<string, number>();
  for (const [place, { id }] of subtasks.entries()) {
    // Nothing could be read of it.
    if (id === "") continue;
    const first = places.get(id);
    if (first === undefined) places.set(id, place);
    const usedBy = first === undefined ? "an earlier plan" : `subtasks[${first}]`;
    if (first === undefined && !Object.hasOwn(given, id)) continue;
    const message = `subtasks[${place}].id: ${quoteValue(id)} was used before, by ${usedBy}; give each subtask an id of its own`;
    problems.push({ kind: "duplicate_id", ids: [id], message });
  }
  const done = Object.keys(given).filter((id) => given[id]?.status === "done");
  const known = new KnownNames([...places.keys(), ...done]);
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
    if (places.has(dependency)) return undefined;
    if (!Object.hasOwn(given, dependency)) {
      const hint = known.hint(dependency, id);
      const message = `${subtask} depends on ${quoteValue(dependency)}, which there is not.${hint}`;
      return { kind: "unknown_dependency", ids: [id], message };
    }
    const status = given[dependency]?.status;
    if (status === "done") return undefined;
    const message = `${subtask} depends on ${quoteValue(dependency)} of an earlier plan, which is ${status}; only what is done can be depended on`;
    return { kind: "unfinished_dependency", ids: [id, dependency], message };
  }
}

function cycleProblem(ids: readonly string[]): PlanProblem {
  const more = ids.length - maxSaid;
  const said =
    more <= 0
      ? ids
      : [...ids.slice(0, maxSaid - 1), `… ${more.toLocaleString("en")} more …`, ids[0]];
  const message = `These subtasks depend on each other in a circle, each on the next: ${said.join(" → ")}`;
  return { kind: "cycle", ids, message };
}
