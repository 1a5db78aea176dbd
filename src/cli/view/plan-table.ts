import type { SubtaskStates } from "../../state/subtask-state.ts";
import { isSettled } from "../../state/subtask-state.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import { count } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import { shortName } from "./subtask-line.ts";
import type { Style } from "./style.ts";
import { tableLines, type Column } from "./table.ts";

const mostRows = 20;

const columns: readonly Column[] = [
  { title: "", align: "right" },
  { title: "", least: 8 },
  { title: "", least: 5 },
  { title: "", least: 8 },
];

export interface ShownPlan {
  readonly plan: TaskPlan;
  /** Ids by level: what depends on nothing first. */
  readonly levels: readonly (readonly string[])[];
  readonly subtasks: SubtaskStates;
}

/** The subtasks of a plan that are still to be done, level by level: id, worker, and what they need. */
export function planTableLines(
  { plan, levels, subtasks }: ShownPlan,
  options: { readonly width: number; readonly style: Style },
): string[] {
  const { style } = options;
  const byId = new Map(plan.subtasks.map((subtask) => [subtask.id, subtask]));
  const open = levels.flatMap((ids, level) =>
    ids
      .filter((id) => !isSettled(subtasks[id] ?? { status: "pending" }))
      .map((id, index) => ({ id, level: index === 0 ? String(level + 1) : "" })),
  );
  // One line more is no more than the line that says so.
  const rows = open.length <= mostRows + 1 ? open : open.slice(0, mostRows);
  const lines = tableLines(
    columns,
    rows.map(({ id, level }) => {
      const { worker = "", dependencies = [] } = byId.get(id) ?? {};
      const needs = dependencies.map((one) => shortName(one)).join(", ");
      return [
        { text: level, paint: style.dim },
        { text: shortName(id) },
        { text: shortName(subtasks[id]?.worker ?? worker, 24), paint: style.dim },
        { text: needs === "" ? "" : `after ${needs}`, paint: style.dim },
      ];
    }),
    options,
  );
  const more = open.length - rows.length;
  return [...lines, ...(more === 0 ? [] : [style.dim(`… and ${more.toLocaleString("en")} more`)])];
}

/** What a plan is, on one line. */
export function planTitle({ plan, levels, subtasks }: ShownPlan, depth: number): string {
  const settled = plan.subtasks.filter(({ id }) =>
    isSettled(subtasks[id] ?? { status: "pending" }),
  ).length;
  const open = plan.subtasks.length - settled;
  const before = settled === 0 ? "" : `, ${settled.toLocaleString("en")} settled before`;
  const steps = levels.length > 1 && settled === 0 ? ` on ${count(levels.length, "level")}` : "";
  const what = depth === 0 ? "plan of" : `plan ${depth} for gaps:`;
  return plainLine(`${what} ${count(open, "subtask")}${steps}${before}`);
}
