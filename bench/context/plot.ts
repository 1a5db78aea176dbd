/** A point of a plot: shares of 1. */
export interface Point {
  readonly x: number;
  readonly y: number;
  /** One character. */
  readonly mark: string;
}

const width = 60;
const height = 20;

/** Draws shares of tokens (across) and of answerable calls (up); where points meet, the first is seen. */
export function plot(points: readonly Point[], widest = 1): string {
  const grid = Array.from({ length: height + 1 }, () => Array<string>(width + 1).fill(" "));
  for (const { x, y, mark } of points.toReversed()) {
    const row = grid[height - Math.round(height * y)];
    const column = Math.round((width * x) / widest);
    if (row !== undefined && column <= width) row[column] = mark;
  }
  const lines = grid.map((row, at) => {
    const label = at % 5 === 0 ? `${Math.round(100 * (1 - at / height))} %` : "";
    return `${label.padStart(6)} |${row.join("").trimEnd()}`;
  });
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => `${Math.round(100 * widest * part)} %`);
  const axis = marks.map((mark, at) => (at === 0 ? mark : mark.padStart(width / 4))).join("");
  return [...lines, `${" ".repeat(7)}+${"-".repeat(width + 1)}`, `${" ".repeat(7)}${axis}`].join(
    "\n",
  );
}
