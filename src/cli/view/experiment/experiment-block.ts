import type { RunProgress } from "../../../experiment/run-progress.ts";
import { headOf } from "../../../values/text.ts";
import { count } from "../figures.ts";
import { type Cell, type Column, tableLines } from "../table.ts";
import { cutToWidth, plainLine, type Style, textWidth } from "../terminal.ts";
import {
  spentText,
  cyclesText,
  leftText,
  shortCount,
  type Spent,
  spentBy,
  tokensText,
} from "./experiment-lines.ts";

export interface ShownExperiment {
  /** In the order of the experiment. */
  readonly runs: readonly RunProgress[];
  /** Milliseconds until all are done; null where it is not known. */
  readonly remaining_ms: number | null;
  readonly isStopping: boolean;
}

/** Lines of runs: a terminal has more, and these are not all. */
const mostRows = 8;
const barWidth = 8;
const leastName = 14;
/** Columns of what runs are doing, such as the name of a tool. */
const usualDoing = 14;
/** Columns below which there is room for a name and its cycles only. */
const leastWidth = 40;
const readCharacters = 300;

const columns: readonly Column[] = [
  { title: "", least: leastName },
  { title: "", optional: 2 },
  { title: "", align: "right" },
  { title: "", align: "right", optional: 3 },
  { title: "", align: "right", optional: 4 },
  { title: "", align: "right", optional: 1 },
  { title: "", least: 10, optional: 0 },
];

/**
 * How far an experiment is, a line a run and one for all of several. Of many runs, those that are under way. No line is
 * wider than `width`.
 */
export function experimentBlock(
  { runs, remaining_ms, isStopping }: ShownExperiment,
  { width, style }: { readonly width: number; readonly style: Style },
): readonly string[] {
  const running = runs.filter(({ status }) => status === "running");
  const shown = runs.length <= mostRows ? runs : running.slice(0, mostRows);
  const names = runNames(runs.map(({ run_id }) => run_id));
  const nameOf = new Map(runs.map((run, index) => [run, names[index] ?? ""]));
  const rows = shown.map((run) => runRow(run, { name: nameOf.get(run) ?? "", isStopping, style }));
  if (runs.length > 1) {
    const done = runs.filter(({ status }) => status === "done").length;
    const of = `${done.toLocaleString("en")}/${runs.length.toLocaleString("en")}`;
    const name = { text: `${of} runs done`, paint: style.bold };
    const left = isStopping ? "" : leftText(remaining_ms);
    rows.push([name, ...figures(spentBy(runs), left, style.green, style), counts(runs, style)]);
  }
  if (width < leastWidth) {
    return rows.map(([name, , cycles]) => {
      const beside = ` ${cycles?.text ?? ""}`;
      const short = shortRunName(name?.text ?? "", Math.max(5, width - beside.length));
      return cutToWidth(short + beside, width);
    });
  }
  const room = nameRoom(rows, width);
  // A column that says nothing takes no room.
  const used = columns.flatMap((_column, index) =>
    rows.some((cells) => (cells[index]?.text ?? "") !== "") ? [index] : [],
  );
  return tableLines(
    used.map((index) => columns[index] as Column),
    rows.map((cells) =>
      used.map((index) => {
        const cell = cells[index] as Cell;
        return index === 0 ? { ...cell, text: shortRunName(cell.text, room) } : cell;
      }),
    ),
    { width, style },
  );
}

/** Columns that are left for names where all else has its width, but for what runs are doing. */
function nameRoom(rows: readonly (readonly Cell[])[], width: number): number {
  const beside = columns.slice(1).map((_column, index) => {
    const widest = Math.max(...rows.map((cells) => textWidth(cells[index + 1]?.text ?? "")));
    const wanted = index === columns.length - 2 ? Math.min(widest, usualDoing) : widest;
    return wanted === 0 ? 0 : wanted + 2;
  });
  return Math.max(leastName, width - beside.reduce((sum, one) => sum + one, 0));
}

function runRow(
  run: RunProgress,
  of: { readonly name: string; readonly isStopping: boolean; readonly style: Style },
): Cell[] {
  const { name, isStopping, style } = of;
  const colour = run.status === "failed" ? style.red : style.green;
  const left = run.status === "running" && !isStopping ? leftText(run.remaining_ms) : "";
  return [{ text: name }, ...figures(run, left, colour, style), doing(run, isStopping, style)];
}

function figures(spent: Spent, left: string, colour: Style["green"], style: Style): Cell[] {
  const { cycles_done: done, cycle_count: all, usage } = spent;
  // Full only when all is done.
  const full = Math.min(barWidth, Math.floor((done / Math.max(1, all)) * barWidth));
  return [
    {
      text: "━".repeat(full) + "─".repeat(barWidth - full),
      paint: (bar) => colour(bar.slice(0, full)) + style.dim(bar.slice(full)),
    },
    { text: cyclesText(spent) },
    {
      text: usage.llm_calls === 0 ? "" : `${shortCount(usage.tokens_in + usage.tokens_out)} tok`,
      paint: style.dim,
    },
    { text: spentText(usage), paint: style.dim },
    { text: left },
  ];
}

function doing(run: RunProgress, isStopping: boolean, style: Style): Cell {
  switch (run.status) {
    case "running": {
      const text = isStopping ? "stopping" : plainLine(headOf(run.doing ?? "", readCharacters));
      return { text, paint: style.dim };
    }
    case "failed":
      return {
        text: plainLine(`failed: ${headOf(run.failure ?? "", readCharacters)}`),
        paint: style.red,
      };
    case "stopped":
      return { text: "stopped", paint: style.yellow };
    case "done":
      return { text: "done", paint: style.green };
    case "waiting":
      return { text: "waiting", paint: style.dim };
  }
}

const counted = ["failed", "stopped", "running", "waiting"] as const;

function counts(runs: readonly RunProgress[], style: Style): Cell {
  const words = counted.flatMap((status) => {
    const number = runs.filter((run) => run.status === status).length;
    return number === 0 ? [] : [`${number.toLocaleString("en")} ${status}`];
  });
  return { text: words.join(", "), paint: style.dim };
}

/** What a run has come to, on one line without an end. */
export function runLine(run: RunProgress): string {
  const { status, cycles_done: done, usage } = run;
  const spent = [tokensText(usage), spentText(usage)];
  const told = (words: readonly string[]) => words.filter((word) => word !== "").join(" · ");
  switch (status) {
    case "done":
      return `✓ ${run.run_id} ${told([`done, ${count(done, "cycle")}`, ...spent])}`;
    case "failed": {
      const why = plainLine(headOf(run.failure ?? "", readCharacters));
      return `✗ ${run.run_id} failed after ${count(done, "cycle")}: ${why}`;
    }
    case "stopped":
      return `■ ${run.run_id} ${told([`stopped after ${cyclesText(run)} cycles`, ...spent])}`;
    default:
      return `${run.run_id} ${told([`cycle ${cyclesText(run)}`, ...spent, leftText(run.remaining_ms)])}`;
  }
}

/** What tells runs of one experiment apart: their ids without the parts that all of them begin and end with. */
export function runNames(ids: readonly string[]): readonly string[] {
  const parts = ids.map((id) => id.split("."));
  if (parts.length < 2) return ids;
  const least = Math.min(...parts.map(({ length }) => length));
  const start = sameParts(parts, least - 1);
  const reversed = parts.map((one) => one.toReversed());
  const end = sameParts(reversed, least - 1 - start);
  return parts.map((one) => one.slice(start, one.length - end).join("."));
}

/** How many parts, up to `most`, all begin with. */
function sameParts(ids: readonly (readonly string[])[], most: number): number {
  let same = 0;
  while (same < most && ids.every((parts) => parts[same] === ids[0]?.[same])) same += 1;
  return same;
}

/** An id that is too wide loses its middle, since runs often differ at the end. */
export function shortRunName(name: string, width: number): string {
  if (name.length <= width || width < 5) return cutToWidth(name, width);
  const end = Math.floor((width - 1) / 2);
  return `${name.slice(0, width - 1 - end)}…${name.slice(-end)}`;
}
