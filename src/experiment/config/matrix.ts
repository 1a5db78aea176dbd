import {
  type DefinitionPath,
  type DefinitionProblem,
  showFound,
  getAtPath,
} from "../../definition/check/problems.ts";
import { isRecord } from "../../values/json.ts";
import {
  type ExperimentInput,
  maxRunId,
  maxRuns,
  type OptionName,
  optionNames,
  promptName,
} from "./experiment-schema.ts";

/** One combination of the values of a matrix. */
export interface MatrixPoint {
  /** The experiment's `run_id`, and a part for each axis. */
  readonly run_id: string;
  readonly values: ReadonlyMap<AxisKey, AxisPoint>;
}

/**
 * Every combination of the values of the axes, the last axis changing fastest. An id holds nothing but the values of its
 * own combination, so that it stays the same when values are added. No axes make one combination, with no values.
 */
export function expandMatrix(runId: string, axes: readonly Axis[]): readonly MatrixPoint[] {
  let combinations: (readonly (readonly [AxisKey, AxisPoint])[])[] = [[]];
  for (const { key, points } of axes) {
    combinations = combinations.flatMap((one) =>
      points.map((point) => [...one, [key, point] as const]),
    );
  }
  return combinations.map((combination) => {
    const values = new Map(combination);
    const segments = axisKeys.flatMap((key) => values.get(key)?.segment ?? []);
    return { run_id: [runId, ...segments].join("."), values };
  });
}

/** How many combinations there are. */
function matrixSize(axes: readonly Axis[]): number {
  return axes.reduce((product, { points }) => product * points.length, 1);
}

/** What a run may differ in from others. */
type AxisKey = "model_name" | OptionName | "system_prompt";

/** One value of an axis. */
interface AxisPoint {
  readonly value: string | number;
  /** Of a system prompt. */
  readonly name?: string;
  /** Its part of the ids of runs. */
  readonly segment: string;
  /** Where it stands in the list of its axis, or by which name. */
  readonly at: number | string;
}

interface Axis {
  readonly key: AxisKey;
  readonly points: readonly AxisPoint[];
}

/** In the order in which the ids of runs name them, whatever the order of the file. */
const axisKeys: readonly AxisKey[] = ["model_name", ...optionNames, "system_prompt"];

/** The axes of a matrix that fits the schema, and their values, in the order of the file. */
export function axesOf(matrix: NonNullable<ExperimentInput["matrix"]>): readonly Axis[] {
  const keys = Object.keys(matrix) as AxisKey[];
  return keys.flatMap((key) => {
    const points = pointsOf(key, matrix[key]);
    return points.length === 0 ? [] : [{ key, points }];
  });
}

function pointsOf(
  key: AxisKey,
  values: readonly (string | number)[] | Readonly<Record<string, string>> | undefined,
): readonly AxisPoint[] {
  if (values === undefined) return [];
  if (isList(values)) {
    return values.map((value, at) => ({ value, segment: segmentOf(key, value), at }));
  }
  return Object.entries(values).map(([name, value]) => {
    return { value, name, segment: fileSafe(name), at: name };
  });
}

function isList(values: object): values is readonly (string | number)[] {
  return Array.isArray(values);
}

/** A model without its provider; an option with its name. */
function segmentOf(key: AxisKey, value: string | number): string {
  return key === "model_name"
    ? fileSafe(String(value).replace(/^[^:]*:/, ""))
    : fileSafe(`${key}-${value}`);
}

function fileSafe(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]+/g, "-");
}

/** Returns the problems of a written matrix that its schema does not find. */
export function matrixProblems(written: unknown): readonly DefinitionProblem[] {
  const matrix = getAtPath(written, ["matrix"]);
  if (!isRecord(matrix)) return [];
  if (Object.keys(matrix).length === 0) {
    const message = "expected at least one key with the values that runs differ in";
    return [{ path: ["matrix"], message, found: "an empty map", allowed: axisKeys }];
  }
  return [
    ...axisKeys.flatMap((key) => setTwice(written, key)),
    ...axisKeys.flatMap((key) => doubles(matrix[key], ["matrix", key])),
    ...promptProblems(matrix["system_prompt"]),
  ];
}

/** Where a key stands outside of the matrix. */
function outsidePath(key: AxisKey): DefinitionPath {
  return key === "model_name" || key === "system_prompt" ? [key] : ["model_options", key];
}

function setTwice(written: unknown, key: AxisKey): readonly DefinitionProblem[] {
  const outside = outsidePath(key);
  const isTwice =
    getAtPath(written, ["matrix", key]) !== undefined && getAtPath(written, outside) !== undefined;
  if (!isTwice) return [];
  const message = `also set by ${outside.join(".")}; leave one of the two out`;
  return [{ path: ["matrix", key], message }];
}

function doubles(values: unknown, path: DefinitionPath): readonly DefinitionProblem[] {
  if (!Array.isArray(values)) return [];
  const first = new Map<unknown, number>();
  return values.flatMap((value: unknown, index): DefinitionProblem[] => {
    if (typeof value !== "string" && typeof value !== "number") return [];
    const earlier = first.get(value);
    first.set(value, earlier ?? index);
    if (earlier === undefined) return [];
    const message = `the same as ${path.join(".")}[${earlier}]`;
    return [{ path: [...path, index], message, found: showFound(value) }];
  });
}

function promptProblems(prompts: unknown): readonly DefinitionProblem[] {
  if (!isRecord(prompts)) return [];
  const path = ["matrix", "system_prompt"];
  const names = Object.keys(prompts);
  if (names.length === 0) {
    return [{ path, message: "expected at least one system prompt", found: "an empty map" }];
  }
  return names
    .filter((name) => !promptName.test(name))
    .map((name) => {
      const message =
        "expected a prompt's name of at most 64 letters, digits, ., _ and -, a letter at the beginning";
      return { path: [...path, name], message };
    });
}

/** More runs than one experiment may have. They are not made to be counted. */
export function sizeProblems(axes: readonly Axis[]): readonly DefinitionProblem[] {
  const size = matrixSize(axes);
  if (size <= maxRuns) return [];
  const message = `expected at most ${maxRuns.toLocaleString("en")} runs in all`;
  return [{ path: ["matrix"], message, found: size.toLocaleString("en") }];
}

/**
 * Runs whose ids are one where a file system does not tell letter case apart, at a value that only one of them has; and
 * ids that are too long.
 */
export function runIdProblems(points: readonly MatrixPoint[]): readonly DefinitionProblem[] {
  const first = new Map<string, MatrixPoint>();
  const clashes = new Map<string, DefinitionProblem>();
  for (const point of points) {
    const id = point.run_id.toLowerCase();
    const earlier = first.get(id);
    first.set(id, earlier ?? point);
    const problem = earlier && clashProblem(earlier, point);
    if (problem && !clashes.has(problem.path.join("."))) {
      clashes.set(problem.path.join("."), problem);
    }
  }
  return [...clashes.values(), ...longIdProblems(points)];
}

function clashProblem(earlier: MatrixPoint, point: MatrixPoint): DefinitionProblem | undefined {
  const key = axisKeys.find((one) => earlier.values.get(one) !== point.values.get(one));
  const [before, now] = [earlier, point].map(({ values }) => key && values.get(key));
  if (key === undefined || before === undefined || now === undefined) return undefined;
  const other = typeof before.at === "number" ? `[${before.at}]` : `.${before.at}`;
  const message = `its run has the same id "${point.run_id}" as that of matrix.${key}${other}; make two experiments of them, each with a run_id of its own`;
  return { path: ["matrix", key, now.at], message, found: showFound(now.name ?? now.value) };
}

function longIdProblems(points: readonly MatrixPoint[]): readonly DefinitionProblem[] {
  const [longest] = points.toSorted((a, b) => b.run_id.length - a.run_id.length);
  if (longest === undefined || longest.run_id.length <= maxRunId) return [];
  const { length } = longest.run_id;
  const message = `the ids of runs have at most ${maxRunId} characters, and one would have ${length}; shorten run_id`;
  return [{ path: ["run_id"], message, found: showFound(longest.run_id) }];
}
