import { isRecord } from "../state/is-record.ts";
import { workerProblem } from "./define-worker.ts";
import { showFound, type DefinitionProblem } from "./problems.ts";
import { valueAt } from "./value-at.ts";

/** What is wrong with the `workers` of a TypeScript definition, by themselves and beside its `agents`. */
export function inlineWorkerProblems(
  workers: unknown,
  agents: unknown,
): readonly DefinitionProblem[] {
  if (!Array.isArray(workers)) {
    return [
      { path: ["workers"], message: "expected a list of workers", found: showFound(workers) },
    ];
  }
  const first = new Map<string, string>();
  (Array.isArray(agents) ? agents : []).forEach((agent: unknown, index) => {
    const name = valueAt(agent, ["spec", "name"]);
    if (typeof name === "string" && !first.has(name)) first.set(name, `agents[${index}]`);
  });
  return (workers as readonly unknown[]).flatMap((worker, index): DefinitionProblem[] => {
    const path = ["workers", index];
    if (!isRecord(worker)) {
      return [{ path, message: "expected a worker of defineWorker", found: showFound(worker) }];
    }
    const problem = workerProblem(worker);
    if (problem !== undefined) return [{ path, message: problem }];
    const name = String(worker["name"]);
    const earlier = first.get(name);
    if (earlier !== undefined) {
      return [{ path, message: `"${name}" is already the name of ${earlier}` }];
    }
    first.set(name, `workers[${index}]`);
    return [];
  });
}
