import { cutToWidth, type Style, textWidth } from "./terminal.ts";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** Minimum width, in columns, to which the column may be cut. If left out, it is never cut. */
  readonly least?: number;
  /** Left out where there is no room for it: those with the highest number first. */
  readonly optional?: number;
}

/** One line of plain text, and how it is marked up once it has been cut. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

const gap = 2;
/** Of one column, where no terminal limits the line. */
const unboundedWidth = 60;

/** Rows under a heading, in columns that fit into `width` as long as their least widths do. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const natural = columns.map((column, index) =>
    Math.max(textWidth(column.title), ...rows.map((row) => textWidth(row[index]?.text ?? ""))),
  );
  const kept = fittingColumns(columns, natural, width);
  const widths = fittedWidths(columns, natural, kept, width);
  const line = (cells: readonly Cell[]) =>
    kept
      .map((index, place) => {
        const { text, paint = (same: string) => same } = cells[index] ?? { text: "" };
        const cut = cutToWidth(text, widths[index] ?? 0);
        const space = " ".repeat(Math.max(0, (widths[index] ?? 0) - textWidth(cut)));
        if (columns[index]?.align === "right") return space + paint(cut);
        return place === kept.length - 1 ? paint(cut) : paint(cut) + space;
      })
      .join(" ".repeat(gap))
      .trimEnd();
  const heading = columns.map(({ title }) => ({ text: title, paint: style.dim }));
  const titled = columns.some(({ title }) => title !== "");
  return [...(titled ? [line(heading)] : []), ...rows.map(line)];
}

/** Which columns there is room for, in order. */
function fittingColumns(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): readonly number[] {
  let kept = columns.map((_column, index) => index);
  const leastOf = (index: number) =>
    Math.min(natural[index] ?? 0, columns[index]?.least ?? Infinity);
  while (total(kept.map(leastOf)) > width) {
    const optional = kept.filter((index) => columns[index]?.optional !== undefined);
    const [dropped] = optional.toSorted(
      (a, b) => (columns[b]?.optional ?? 0) - (columns[a]?.optional ?? 0),
    );
    if (dropped === undefined) break;
    kept = kept.filter((index) => index !== dropped);
  }
  return kept;
}

/** Columns give way one by one, the one that can give most first. */
function fittedWidths(
  columns: readonly Column[],
  natural: readonly number[],
  kept: readonly number[],
  width: number,
): readonly number[] {
  const widths = natural.map((wanted, index) =>
    columns[index]?.least === undefined ? wanted : Math.min(wanted, unboundedWidth),
  );
  const spare = (index: number) => (widths[index] ?? 0) - (columns[index]?.least ?? Infinity);
  while (total(kept.map((index) => widths[index] ?? 0)) > width) {
    const [widest] = kept.toSorted((a, b) => spare(b) - spare(a));
    if (widest === undefined || spare(widest) <= 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, widths.length - 1);
}
