import { durationOf } from "../../../runtime/threads/plans.ts";
import type { ThreadPlan } from "../../../runtime/threads/threads.ts";
import type { SubtaskState, SubtaskStatus } from "../../../state/plan.ts";
import { headOf } from "../../../values/text.ts";
import { duration } from "../figures.ts";
import {
  createStyle,
  cutToWidth,
  plainLine,
  shortLines,
  type Style,
  textWidth,
} from "../terminal.ts";

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

/** An id or a worker's name, cut or padded to a number of columns. */
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

/** A subtask and the reason why it is stuck: on the same line if there is room, else below. */
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

/** How far a subtask is, as it is shown. */
export type SubtaskSign = SubtaskStatus | "waiting";

type Paint2 = (style: Style) => (text: string) => string;

export const subtaskSigns: Readonly<
  Record<SubtaskSign, { readonly mark: string; readonly colour: Paint2; readonly name: string }>
> = {
  done: { ...subtaskMarks.done, name: "done" },
  failed: { ...subtaskMarks.failed, name: "failed" },
  skipped: { ...subtaskMarks.skipped, name: "skipped" },
  running: { ...subtaskMarks.running, name: "running" },
  waiting: { mark: "?", colour: (style) => style.yellow, name: "waits for a person" },
  pending: { ...subtaskMarks.pending, name: "open" },
};

export interface ShownSubtask {
  readonly sign: SubtaskSign;
  readonly mark: string;
  readonly worker: string;
  /** `1.2 s`; of one that has not ended, how long it has run at `now`. Empty where that is not known. */
  readonly took: string;
  /** Why it came to nothing, as a word; empty unless it failed. */
  readonly code: string;
  /** The same in words, for what was skipped too. */
  readonly why: string;
}

export function shownSubtask(
  { subtasks, waiting }: Pick<ThreadPlan, "subtasks" | "waiting">,
  id: string,
  now?: Date,
): ShownSubtask {
  const state = subtasks[id];
  const sign = waiting.includes(id) ? "waiting" : (state?.status ?? "pending");
  const { mark } = subtaskSigns[sign];
  if (state === undefined) return { sign, mark, worker: "", took: "", code: "", why: "" };
  const { worker, started_at: start, error } = state;
  const { took, why } = subtaskEnding(state);
  const runs = sign === "running" && start !== null && now !== undefined;
  const isOver = durationOf(state) !== null;
  const code = sign === "failed" && error !== null ? `failed (${error.code})` : "";
  return {
    sign,
    mark,
    worker,
    took: runs && !isOver ? duration(Math.max(0, now.getTime() - Date.parse(start))) : took,
    code,
    why,
  };
}

/** Where each planner is, in words, without the planners' own nodes that workers run within. */
export function planPaths(
  plans: readonly Pick<ThreadPlan, "node" | "within">[],
): readonly string[] {
  const keyOf = (path: readonly string[]) => JSON.stringify(path);
  const planners = new Set(plans.map(({ within, node }) => keyOf([...within, node])));
  return plans.map(({ within, node }) => {
    const path = [...within, node];
    const shown = path.filter(
      (name, index) => name !== "execute" || !planners.has(keyOf(path.slice(0, index))),
    );
    return shown.join(" › ");
  });
}
