import type { ThreadPlan } from "../../runtime/threads/threads.ts";
import { headOf } from "../../state/cut-text.ts";
import { count } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import { planSummary } from "./plan-summary.ts";
import { shortLines } from "./short-lines.ts";
import { planPaths, shownSubtask, subtaskSigns, type SubtaskSign } from "./shown-plan.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { wrapText } from "./text-width.ts";

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
  const verdict = met === null ? [] : [met ? "nothing is missing" : count(gaps.length, "gap")];
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
