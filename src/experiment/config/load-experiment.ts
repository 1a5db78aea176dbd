import { resolve } from "node:path";
import { duplicateTools, nestingProblems } from "../../definition/check/check-definition.ts";
import { templateProblems } from "../../definition/check/expressions.ts";
import { type DefinitionProblem, getAtPath } from "../../definition/check/problems.ts";
import { schemaProblems } from "../../definition/check/schema-problems.ts";
import { malformedReferences, serverProblems } from "../../definition/check/tools.ts";
import { readDefinitionFile } from "../../definition/load/parse-definition.ts";
import { readDocument } from "../../definition/load/read-document.ts";
import { deepFreeze, isRecord } from "../../values/json.ts";
import { InvalidExperimentError } from "../errors.ts";
import {
  type ExperimentConfig,
  type ExperimentInput,
  experimentSchema,
  matrixSchema,
  optionNames,
  promptScope,
} from "./experiment-schema.ts";
import {
  axesOf,
  expandMatrix,
  type MatrixPoint,
  matrixProblems,
  runIdProblems,
  sizeProblems,
} from "./matrix.ts";
import { type ExperimentModels, isOllama, modelProblems } from "./model-problems.ts";
import type { ExperimentModelOptions, RunSpec } from "./run-spec.ts";

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
 * @param models in addition to those of the built-in providers
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
  const checked = checkExperiment(read.document, models);
  if (!checked.ok) throw new InvalidExperimentError(read.locateProblems(checked.problems));
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

/** The config of one run: that of the experiment with the values of a point of its matrix put in. */
function runOfPoint(config: ExperimentConfig, { run_id, values }: MatrixPoint): RunSpec {
  const {
    model_options,
    matrix: _matrix,
    parallel: _parallel,
    ollama_client_config,
    ...rest
  } = config;
  const model_name = String(values.get("model_name")?.value ?? config.model_name);
  const prompt = values.get("system_prompt");
  const options = Object.fromEntries(
    optionNames.flatMap((name) => {
      const value = values.get(name)?.value ?? model_options[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ) as ExperimentModelOptions;
  return {
    ...rest,
    run_id,
    model_name,
    model_options: options,
    ollama_client_config:
      ollama_client_config !== undefined && isOllama(model_name) ? ollama_client_config : null,
    system_prompt: String(prompt?.value ?? config.system_prompt),
    variant: {
      model_name,
      seed: options.seed ?? null,
      system_prompt: prompt?.name ?? null,
    },
  };
}

type CheckedExperiment =
  | {
      readonly ok: true;
      readonly config: ExperimentConfig;
      /** One for every run. */
      readonly points: readonly MatrixPoint[];
    }
  | { readonly ok: false; readonly problems: readonly DefinitionProblem[] };

/** Everything that can be said of a config as it was written, without knowing what tools there are. */
export function checkExperiment(written: unknown, models: ExperimentModels): CheckedExperiment {
  const nesting = nestingProblems(written);
  if (nesting.length > 0) return { ok: false, problems: nesting };
  const parsed = experimentSchema.safeParse(written);
  const { points, problems: ofPoints } = pointsOf(written);
  const problems = [
    ...schemaProblems(written, experimentSchema),
    ...matrixProblems(written),
    ...ofPoints,
    ...modelProblems(written, { models, points }),
    ...clientProblems(written),
    ...duplicateTools(getAtPath(written, ["tools"])),
    ...serverProblems(written),
    ...promptProblems(getAtPath(written, ["cycle_prompt"])),
  ];
  if (problems.length > 0 || !parsed.success) return { ok: false, problems };
  // A copy, so that freezing it leaves the caller's objects as they are; it is plain JSON by now.
  const config = JSON.parse(JSON.stringify(parsed.data)) as ExperimentConfig;
  return { ok: true, config, points };
}

/** The runs of a config whose matrix has the right shape; none where there would be too many. */
function pointsOf(written: unknown): {
  readonly points: readonly MatrixPoint[];
  readonly problems: readonly DefinitionProblem[];
} {
  const matrix = getAtPath(written, ["matrix"]);
  if (matrix !== undefined && !matrixSchema.safeParse(matrix).success) {
    return { points: [], problems: [] };
  }
  // As it was written, since the schema puts the keys into another order.
  const axes = axesOf(matrix ?? {});
  const tooMany = sizeProblems(axes);
  if (tooMany.length > 0) return { points: [], problems: tooMany };
  const runId = getAtPath(written, ["run_id"]);
  const points = expandMatrix(typeof runId === "string" ? runId : "", axes);
  const isNamed = experimentSchema.shape.run_id.safeParse(runId).success;
  const hasDoubles = matrixProblems(written).length > 0;
  return { points, problems: isNamed && !hasDoubles ? runIdProblems(points) : [] };
}

function promptProblems(source: unknown): readonly DefinitionProblem[] {
  if (typeof source !== "string") return [];
  return templateProblems({ source, path: ["cycle_prompt"] }, promptScope);
}

/** Headers that no request can have. Their values are not shown, which may be secrets. */
function clientProblems(written: unknown): readonly DefinitionProblem[] {
  const path = ["ollama_client_config", "headers"];
  const headers = getAtPath(written, path);
  if (!isRecord(headers)) return [];
  return [
    ...Object.entries(headers).flatMap(([name, value]): DefinitionProblem[] => {
      const message = problemOf(name, value);
      return message === null ? [] : [{ path: [...path, name], message }];
    }),
    ...malformedReferences(headers, path),
  ];
}

/** Names are tokens (RFC 9110, 5.1); values are text of one line in Latin-1, as `fetch` takes it. */
function problemOf(name: string, value: unknown): string | null {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return "not a name that a header can have";
  const isFine = typeof value !== "string" || /^[\t\u0020-\u007E\u0080-\u00FF]*$/.test(value);
  return isFine ? null : "a header's value is one line of Latin letters, digits and signs";
}
