import { axisKeys, type Axis, type AxisKey, type AxisPoint } from "./matrix-axes.ts";

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
export function matrixSize(axes: readonly Axis[]): number {
  return axes.reduce((product, { points }) => product * points.length, 1);
}
