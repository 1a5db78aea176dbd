import { durationOf } from "../../runtime/threads/plan-times.ts";
import { headOf } from "../../state/cut-text.ts";
import type { SubtaskState, SubtaskStatus } from "../../state/subtask-state.ts";
import { duration } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import { shortLines } from "./short-lines.ts";
import { createStyle, type Style } from "./style.ts";
import { cutToWidth, textWidth } from "./text-width.ts";

type Paint = (style: Style) => (text: string) => string;

const unpainted: Paint = () => (text) => text;

/** The sign of a subtask that is as far as this, and its colour. */
export const subtaskMarks: Readonly<
  Record<SubtaskStatus, { readonly mark: string; readonly colour: Paint }>
> = {
  pending: { mark: "·", colour: (style) => style.dim },
  running: { mark: "▸", colour: unpainted },
  done: { mark: "✓", colour: (style) => style.green },
  failed: { mark: "✗", colour: (style) => style.red },
  skipped: { mark: "–", colour: (style) => style.dim },
};

const readCharacters = 2000;

/** An id, or the name of a worker, on a place of at most so many columns. */
export function shortName(name: string, most = 32): string {
  return cutToWidth(plainLine(headOf(name, 200)), most);
}

export interface SubtaskPlace {
  /** Its id, cut short, and where it is. */
  readonly name: string;
  /** Cut short; empty where none is chosen yet. */
  readonly worker: string;
  /** Columns that the names take, so that what follows them is one below the other. */
  readonly nameWidth: number;
}

/** `✓ count-lines  counter  1.2 s`, with `ending` after it. */
export function subtaskLine(
  { mark, colour }: { readonly mark: string; readonly colour: Paint },
  { name, worker, nameWidth }: SubtaskPlace,
  ending: readonly string[],
  style: Style,
): string {
  const padded = name + " ".repeat(Math.max(0, nameWidth - textWidth(name)));
  const about = [...(worker === "" ? [] : [style.dim(worker)]), ...ending];
  return `${colour(style)(mark)} ${[padded, ...about].join("  ").trimEnd()}`;
}

/** How long it took, and why it came to nothing, as plain text. */
export function subtaskEnding(state: SubtaskState): {
  readonly took: string;
  readonly why: string;
} {
  const { status, error, started_at: start } = state;
  const ms = durationOf(state);
  const message = plainLine(headOf(error?.message ?? "", readCharacters));
  const took = ms === null || start === null ? "" : duration(ms);
  if (status === "failed") {
    const code = error === null ? "" : ` (${plainLine(headOf(error.code, 60))})`;
    return { took, why: `failed${code}${message === "" ? "" : `: ${message}`}` };
  }
  if (status === "skipped")
    return { took, why: message === "" ? "skipped" : `skipped: ${message}` };
  return { took, why: "" };
}

const messageLines = 2;
const plainStyle = createStyle(false);

/** A subtask, and why it does not go on: beside it where there is room, else below. */
export function subtaskLines(
  sign: { readonly mark: string; readonly colour: Paint },
  place: SubtaskPlace,
  { took, why }: { readonly took: string; readonly why: string },
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const head = subtaskLine(sign, place, took === "" ? [] : [style.dim(took)], style);
  if (why === "") return [head];
  const plainHead = subtaskLine(sign, place, took === "" ? [] : [took], plainStyle);
  const line = plainLine(headOf(why, readCharacters));
  if (textWidth(plainHead) + textWidth(line) + 2 <= width) return [`${head}  ${line}`];
  return [head, ...shortLines(line, width - 2, messageLines).map((text) => `  ${text}`)];
}
