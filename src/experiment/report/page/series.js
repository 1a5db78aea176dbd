import { longestRun } from "./report-data.js";

/** Points of a line; more would be closer together than a screen shows. */
const mostPoints = 200;

/** Cycles that one point of a line stands for. */
export const cyclesPerPoint = Math.max(1, Math.ceil(longestRun / mostPoints));

/**
 * A run's numbers by cycle, each the mean of so many cycles around it; where there are too many points, the means of so
 * many cycles each.
 */
export function series(run, name, smooth = 1) {
  const values = smooth > 1 ? smoothed(run[name], smooth) : run[name];
  const points = [];
  for (let from = 0; from < values.length; from += cyclesPerPoint) {
    const to = Math.min(from + cyclesPerPoint, values.length);
    let total = 0;
    for (let index = from; index < to; index += 1) total += values[index];
    points.push({
      run,
      from: from + 1,
      to,
      cycle: (from + 1 + to) / 2,
      value: total / (to - from),
    });
  }
  return points;
}

/** Near an end, the mean of the cycles that are there. */
function smoothed(values, width) {
  const sums = [0];
  for (const value of values) sums.push(sums.at(-1) + value);
  const before = Math.floor((width - 1) / 2);
  return values.map((_value, index) => {
    const from = Math.max(0, index - before);
    const to = Math.min(values.length, index - before + width);
    return (sums[to] - sums[from]) / (to - from);
  });
}

/** The mean of several lines, at every point that any of them has. */
export function meanSeries(lines) {
  const longest = lines.toSorted((a, b) => b.length - a.length)[0] ?? [];
  return longest.map(({ cycle, from, to }, index) => {
    const values = lines.flatMap((line) => (line[index] === undefined ? [] : [line[index].value]));
    return { cycle, from, to, value: values.reduce((a, b) => a + b, 0) / values.length };
  });
}
