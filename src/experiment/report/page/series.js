import { longestRun } from "./report-data.js";

/** Points of a line; more would be closer together than a screen shows. */
const mostPoints = 200;

/** Cycles that one point of a line stands for. */
export const cyclesPerPoint = Math.max(1, Math.ceil(longestRun / mostPoints));

/** A run's numbers by cycle; where there are too many, the means of so many cycles each. */
export function series(run, name) {
  const values = run[name];
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

/** The mean of several lines, at every point that any of them has. */
export function meanSeries(lines) {
  const longest = lines.toSorted((a, b) => b.length - a.length)[0] ?? [];
  return longest.map(({ cycle, from, to }, index) => {
    const values = lines.flatMap((line) => (line[index] === undefined ? [] : [line[index].value]));
    return { cycle, from, to, value: values.reduce((a, b) => a + b, 0) / values.length };
  });
}
