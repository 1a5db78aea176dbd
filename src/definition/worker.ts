import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import { isRecord } from "../values/json.ts";
import { showFound } from "./check/problems.ts";
import { agentSpecSchema } from "./schema/agent.ts";

/** The subtask that a code worker runs. */
export interface WorkerTask {
  readonly id: string;
  readonly description: string;
  readonly expected_output: string;
  /** Ids of the subtasks that it depends on, in the order the plan lists them. */
  readonly dependencies: readonly string[];
  /** Results of the dependencies by id. JavaScript key order applies: integer ids come first, ascending. */
  readonly results: Readonly<Record<string, unknown>>;
  /** 1-based. */
  readonly attempt: number;
  /** Aborts when the attempt times out or the run is cancelled; results returned later are ignored. */
  readonly signal: AbortSignal;
}

/**
 * A function that runs subtasks, like a planner's agents. It returns plain JSON. An exception fails the attempt. Errors
 * with `status` 408, 429 or 5xx and connection errors are retried.
 */
export interface CodeWorker {
  readonly name: string;
  /** Its purpose: the planner reads it, and subtasks without a worker are matched against it. */
  readonly description: string;
  run(task: WorkerTask): unknown;
}

/** Returns the descriptions of workers by name. */
export function workerDescriptions(
  workers: readonly CodeWorker[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(workers.map(({ name, description }) => [name, description]));
}

/** The definition of a worker is invalid. */
export class InvalidWorkerError extends StratagraphError {
  readonly code = "invalid_worker";

  constructor(
    readonly worker: string,
    problem: string,
  ) {
    super(`Worker "${worker}": ${problem}.`);
  }
}

const optionNames = ["name", "description", "run"];

/**
 * Makes a worker of a planner from a TypeScript function.
 *
 * @throws InvalidWorkerError
 * @example
 * const counter = defineWorker({
 *   name: "counter",
 *   description: "Counts the words of the results that it is given.",
 *   run: ({ results }) => Object.values(results).join(" ").split(/\s+/).length,
 * });
 */
export function defineWorker(options: CodeWorker): CodeWorker {
  const given: unknown = options;
  const name = isRecord(given) && typeof given["name"] === "string" ? given["name"] : "?";
  const problem = workerProblem(given) ?? unknownOption(Object.keys(options));
  if (problem !== undefined) throw new InvalidWorkerError(name, problem);
  return Object.freeze({
    name,
    description: options.description,
    run: (task) => options.run(task),
  } satisfies CodeWorker);
}

/** Returns why a value is not a valid worker, or undefined if it is one. */
export function workerProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return `expected the worker's options, found ${showFound(value)}`;
  const { name, description, run } = value;
  if (!agentSpecSchema.shape.name.safeParse(name).success) {
    return `a name has 1 to 128 lower-case letters, digits, _ and -, and begins with a letter or digit; found ${showFound(name)}`;
  }
  if (description !== undefined && typeof description !== "string") {
    return `the description must be a text, not ${showFound(description)}`;
  }
  if (description === undefined || description.trim() === "") {
    return "the description is empty; subtasks are given to workers by it";
  }
  return typeof run === "function" ? undefined : "run is not a function";
}

function unknownOption(keys: readonly string[]): string | undefined {
  const unknown = keys.find((key) => !optionNames.includes(key));
  if (unknown === undefined) return undefined;
  const near = nearestName(unknown, optionNames);
  const meant = near === undefined ? "" : `; did you mean "${near}"?`;
  return `unknown option "${unknown}" (allowed: ${optionNames.join(", ")}${meant})`;
}
