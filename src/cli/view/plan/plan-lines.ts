import { planTimes } from "../../../runtime/threads/plans.ts";
import type { ThreadPlan } from "../../../runtime/threads/threads.ts";
import {
  isSettled,
  type SubtaskStates,
  type SubtaskStatus,
  type TaskPlan,
} from "../../../state/plan.ts";
import { headOf } from "../../../values/text.ts";
import { count, duration } from "../figures.ts";
import { type Cell, type Column, tableLines } from "../table.ts";
import { plainLine, shortLines, type Style, wrapText } from "../terminal.ts";
import {
  planPaths,
  shortName,
  shownSubtask,
  type SubtaskSign,
  subtaskSigns,
} from "./subtask-line.ts";

const columns: readonly Column[] = [
  { title: "level", align: "right", optional: 3 },
  { title: "" },
  { title: "" },
  { title: "subtask", least: 12 },
  { title: "worker", least: 6, optional: 2 },
  { title: "time", align: "right", optional: 1 },
  { title: "after", least: 8 },
  { title: "", least: 12 },
];

const unboundedWidth = 160;

export interface PlanLinesOptions {
  readonly width: number;
  readonly style: Style;
  readonly now: Date;
}

/** Plans of a thread, level by level, with what came of each subtask; what the signs mean at the end. */
export function planLines(plans: readonly ThreadPlan[], options: PlanLinesOptions): string[] {
  const { style } = options;
  const paths = planPaths(plans);
  const width = Math.min(options.width, unboundedWidth);
  const signs = new Set<SubtaskSign>();
  const sections = plans.flatMap((found, index) => {
    for (const { id } of found.plan.subtasks) signs.add(shownSubtask(found, id).sign);
    return [...(index === 0 ? [] : [""]), ...sectionOf(found, paths[index] ?? "", options)];
  });
  const legend = Object.entries(subtaskSigns).flatMap(([sign, { mark, name }]) =>
    signs.has(sign as SubtaskSign) ? [`${mark} ${name}`] : [],
  );
  const said = wrapText([...legend, "* critical path"].join("   "), width);
  return [...sections, "", ...said.map(style.dim)];
}

function sectionOf(found: ThreadPlan, path: string, options: PlanLinesOptions): string[] {
  const { plan, subtasks, levels, gaps, criteria_met: met, depth } = found;
  const { style } = options;
  const width = Math.min(options.width, unboundedWidth);
  const verdict = met === null ? [] : [met ? "no gaps" : count(gaps.length, "gap")];
  const plans = depth === 0 ? [] : [`${count(depth, "plan")} for gaps`];
  const title = [planSummary(plan, subtasks), ...plans, ...verdict].join(" · ");
  const rows = levels.flatMap((ids, level) =>
    ids.map((id, index) => rowOf(found, id, index === 0 ? String(level + 1) : "", options)),
  );
  return [
    ...wrapText(plainLine(headOf(path, 500)), width).map(style.bold),
    ...wrapText(title, width),
    "",
    ...tableLines(columns, rows, options),
    ...(gaps.length === 0 ? [] : ["", style.bold("Missing")]),
    ...gaps.flatMap((gap) =>
      shortLines(gap, width - 4, 3).map((line, index) => `${index === 0 ? "  - " : "    "}${line}`),
    ),
  ];
}

function rowOf(
  found: ThreadPlan,
  id: string,
  level: string,
  { style, now }: PlanLinesOptions,
): readonly Cell[] {
  const { plan, criticalPath } = found;
  const { sign, mark, worker, took, why } = shownSubtask(found, id, now);
  const paint = subtaskSigns[sign].colour(style);
  const isCritical = criticalPath.ids.includes(id);
  const needs = plan.subtasks.find((subtask) => subtask.id === id)?.dependencies ?? [];
  return [
    { text: level, paint: style.dim },
    { text: mark, paint },
    { text: isCritical ? "*" : "" },
    { text: plainLine(headOf(id, 200)), ...(isCritical && { paint: style.bold }) },
    { text: plainLine(headOf(worker, 200)), paint: style.dim },
    { text: took },
    { text: plainLine(headOf(needs.join(", "), 500)), paint: style.dim },
    { text: why, paint },
  ];
}

const shown: readonly SubtaskStatus[] = ["done", "failed", "skipped", "running"];

/** `5 subtasks: 3 done, 1 failed, 1 skipped`; what is left is not begun. */
export function countsOf(plan: Pick<TaskPlan, "subtasks">, states: SubtaskStates): string {
  const numbers = shown.flatMap((status) => {
    const number = plan.subtasks.filter(({ id }) => states[id]?.status === status).length;
    return number === 0 ? [] : [`${number.toLocaleString("en")} ${status}`];
  });
  const all = count(plan.subtasks.length, "subtask");
  return numbers.length === 0 ? all : `${all}: ${numbers.join(", ")}`;
}

/**
 * What became of a plan, on one line, and what it gained: `3 subtasks: 3 done · 2.0 s · critical path 1.8 s · 1.1 s saved by running side by
 * side`.
 */
export function planSummary(plan: Pick<TaskPlan, "subtasks">, states: SubtaskStates): string {
  const { wallMs, summedMs, criticalPath } = planTimes(plan, states);
  const savedMs = summedMs - wallMs;
  const isOver = plan.subtasks.every(({ id }) => isSettled(states[id] ?? { status: "pending" }));
  if (!isOver) return [countsOf(plan, states), duration(wallMs)].join(" · ");
  return [
    countsOf(plan, states),
    duration(wallMs),
    `critical path ${duration(criticalPath.ms)}`,
    ...(savedMs < 0.5 ? [] : [`${duration(savedMs)} saved by running concurrently`]),
  ].join(" · ");
}

const mostRows = 20;

const tableColumns: readonly Column[] = [
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
    tableColumns,
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
  const before = settled === 0 ? "" : `, ${settled.toLocaleString("en")} already settled`;
  const steps = levels.length > 1 && settled === 0 ? ` on ${count(levels.length, "level")}` : "";
  const what = depth === 0 ? "plan of" : `plan ${depth} for gaps:`;
  return plainLine(`${what} ${count(open, "subtask")}${steps}${before}`);
}
