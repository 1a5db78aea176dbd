import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import { isRecord } from "../values/json.ts";
import { showFound } from "./check/problems.ts";
import { agentSpecSchema } from "./schema/agent.ts";

/** What a worker of code is given. */
export interface WorkerTask {
  readonly id: string;
  readonly description: string;
  readonly expected_output: string;
  /** Ids of the subtasks that it depends on, in the order in which it names them. */
  readonly dependencies: readonly string[];
  /** Their results by id. In the order of an object's keys: ids that are whole numbers come first, by size. */
  readonly results: Readonly<Record<string, unknown>>;
  /** From 1. */
  readonly attempt: number;
  /** Aborts when the attempt's time is over, or the run is cancelled; what is given after that counts for nothing. */
  readonly signal: AbortSignal;
}

/**
 * A function that runs subtasks, like the agents of a planner. It returns plain JSON. An exception fails the attempt:
 * an error with `status` 408, 429 or 5xx, and those of a broken connection, are worth another one.
 */
export interface CodeWorker {
  readonly name: string;
  /** Its purpose: the planner reads it, and subtasks without a worker are matched with it. */
  readonly description: string;
  run(task: WorkerTask): unknown;
}

/** All of workers that is data: descriptions by name. */
export function describedWorkers(workers: readonly CodeWorker[]): Readonly<Record<string, string>> {
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

/** Why a value is no worker; undefined where it is one. */
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
