import { durationOf } from "../../runtime/threads/plan-times.ts";
import type { ThreadPlan } from "../../runtime/threads/threads.ts";
import type { SubtaskStatus } from "../../state/subtask-state.ts";
import { duration } from "./figures.ts";
import { subtaskEnding, subtaskMarks } from "./subtask-line.ts";
import type { Style } from "./style.ts";

/** How far a subtask is, as it is shown. */
export type SubtaskSign = SubtaskStatus | "waiting";

type Paint = (style: Style) => (text: string) => string;

export const subtaskSigns: Readonly<
  Record<SubtaskSign, { readonly mark: string; readonly colour: Paint; readonly name: string }>
> = {
  done: { ...subtaskMarks.done, name: "done" },
  failed: { ...subtaskMarks.failed, name: "failed" },
  skipped: { ...subtaskMarks.skipped, name: "skipped" },
  running: { ...subtaskMarks.running, name: "under way" },
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
