import { optionNames, type ExperimentInput, type OptionName } from "./experiment-schema.ts";

/** What a run may differ in from others. */
export type AxisKey = "model_name" | OptionName | "system_prompt";

/** One value of an axis. */
export interface AxisPoint {
  readonly value: string | number;
  /** Of a system prompt. */
  readonly name?: string;
  /** Its part of the ids of runs. */
  readonly segment: string;
  /** Where it stands in the list of its axis, or by which name. */
  readonly at: number | string;
}

export interface Axis {
  readonly key: AxisKey;
  readonly points: readonly AxisPoint[];
}

/** In the order in which the ids of runs name them, whatever the order of the file. */
export const axisKeys: readonly AxisKey[] = ["model_name", ...optionNames, "system_prompt"];

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
