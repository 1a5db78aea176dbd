/** Prints rows as a Markdown table whose columns are aligned; the first is a name, the others are figures. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => aligned(cell, column, widths[column] ?? 0)).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(Math.max(width - 1, 1))}:`,
  );
  console.log([line(head), line(rule), ...rows.map(line)].join("\n"));
}

function aligned(cell: string, column: number, width: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** `1.0` as `100.0 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
