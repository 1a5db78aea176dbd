import { deviation, max, min } from "d3-array";
import { mean } from "./figures.ts";

/** A figure of several runs. */
export interface Spread {
  readonly count: number;
  readonly mean: number;
  /** Sample standard deviation; null for one run. */
  readonly deviation: number | null;
  readonly least: number;
  readonly most: number;
}

/** Returns null for no values. */
export function spreadOf(values: readonly number[]): Spread | null {
  const middle = mean(values);
  if (middle === null) return null;
  const least = min(values) ?? middle;
  const most = max(values) ?? middle;
  return { count: values.length, mean: middle, deviation: deviation(values) ?? null, least, most };
}

/** The difference of two means, and how sure it is. */
export interface Difference {
  readonly value: number;
  /** As a share of the left mean; null if that is 0. */
  readonly share: number | null;
  /** The 95 % confidence interval by Welch's t-test; null with one run on a side. */
  readonly interval: readonly [number, number] | null;
}

/** The right mean less the left one. */
export function differenceOf(left: Spread, right: Spread): Difference {
  const value = right.mean - left.mean;
  const share = left.mean === 0 ? null : value / Math.abs(left.mean);
  if (left.deviation === null || right.deviation === null) return { value, share, interval: null };
  const a = left.deviation ** 2 / left.count;
  const b = right.deviation ** 2 / right.count;
  if (a + b === 0) return { value, share, interval: [value, value] };
  // Welch and Satterthwaite. Rounded down, the interval is wider.
  const freedom = (a + b) ** 2 / (a ** 2 / (left.count - 1) + b ** 2 / (right.count - 1));
  const half = criticalValue(freedom) * Math.sqrt(a + b);
  return { value, share, interval: [value - half, value + half] };
}

/** Student's t at 0.975 for 1 to 30 degrees of freedom. */
const criticalValues = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
];

function criticalValue(freedom: number): number {
  const whole = Math.max(1, Math.floor(freedom));
  // Above the table within 0.001 of the exact value.
  return criticalValues[whole - 1] ?? 1.96 + 2.46 / whole;
}
