import { resolve } from "node:path";
import { readDefinitionFile } from "../../definition/read-definition-file.ts";
import { readDocument } from "../../definition/read-document.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { checkExperiment, type CheckedExperiment } from "./check-experiment.ts";
import type { ExperimentInput } from "./experiment-schema.ts";
import { InvalidExperimentError } from "./invalid-experiment-error.ts";
import type { ExperimentModels } from "./model-problems.ts";
import { runOfPoint } from "./run-of-point.ts";
import type { RunSpec } from "./run-spec.ts";

/** A config that was checked, and the runs that it makes. Deeply frozen. */
export interface Experiment {
  /** What the ids of its runs begin with. */
  readonly run_id: string;
  readonly cycle_count: number;
  /** Runs that are made at the same time. */
  readonly parallel: number;
  /** At least one, in the order in which they begin. */
  readonly runs: readonly RunSpec[];
  /** Absolute path of the file that it was loaded from. */
  readonly source?: string;
}

/**
 * Loads and checks the config of an experiment from a `.yaml`, `.yml` or `.json` file.
 *
 * @param models beside those of the built-in providers
 * @throws DefinitionFileError for a file that is missing or too large; InvalidExperimentError with every problem, each
 * with file, line, column and path
 */
export async function loadExperiment(
  path: string,
  models: ExperimentModels = {},
): Promise<Experiment> {
  const text = await readDefinitionFile(path);
  const read = await readDocument(text, { file: path, what: "experiment" });
  if (!read.ok) throw new InvalidExperimentError(read.problems);
  const checked = checkExperiment(read.written, models);
  if (!checked.ok) throw new InvalidExperimentError(read.placed(checked.problems));
  return experimentOf(checked, resolve(path));
}

/**
 * Checks the config of an experiment given as a plain object of what a file holds.
 *
 * @throws InvalidExperimentError with every problem
 */
export function parseExperiment(config: unknown, models: ExperimentModels = {}): Experiment {
  const checked = checkExperiment(config, models);
  if (!checked.ok) throw new InvalidExperimentError(checked.problems);
  return experimentOf(checked);
}

/**
 * Defines an experiment in TypeScript: {@link parseExperiment} for a config whose type is known.
 *
 * @throws InvalidExperimentError with every problem
 * @example
 * const drift = defineExperiment({
 *   run_id: "drift",
 *   cycle_count: 100,
 *   matrix: { model_name: ["ollama:llama3:latest", "ollama:qwen3:8b"], seed: [1, 2, 3] },
 * });
 */
export function defineExperiment(
  config: ExperimentInput,
  models: ExperimentModels = {},
): Experiment {
  return parseExperiment(config, models);
}

function experimentOf(
  { config, points }: CheckedExperiment & { readonly ok: true },
  source?: string,
): Experiment {
  const { run_id, cycle_count, parallel } = config;
  return deepFreeze({
    run_id,
    cycle_count,
    parallel,
    // Each of its own, as none may share what another has.
    runs: points.map((point) => structuredClone(runOfPoint(config, point))),
    ...(source !== undefined && { source }),
  });
}
