import type { ThreadPlan } from "../../runtime/threads/threads.ts";
import type { Subtask } from "../../state/plan.ts";
import { plainLine } from "../view/terminal.ts";
import { planPaths, shownSubtask, type SubtaskSign } from "../view/plan/subtask-line.ts";
import { asEntity, type Escape, escapeText, mermaidIds } from "../../compile/mermaid-text.ts";

/** Fill, outline and text: readable on white paper and on a dark page alike. */
const looks: Readonly<Record<SubtaskSign, string>> = {
  pending: "fill:#f8fafc,stroke:#94a3b8,color:#334155",
  running: "fill:#f0f9ff,stroke:#0ea5e9,color:#0c4a6e",
  waiting: "fill:#fdf2f8,stroke:#ec4899,color:#831843",
  done: "fill:#ecfdf5,stroke:#10b981,color:#064e3b",
  failed: "fill:#fef2f2,stroke:#ef4444,color:#7f1d1d",
  skipped: "fill:#f8fafc,stroke:#cbd5e1,color:#64748b,stroke-dasharray:4 3",
};

const criticalLook = "stroke-width:3px";
const groupLook = "fill:#f8fafc,stroke:#94a3b8,color:#334155";

/**
 * Plans as Mermaid text: a node for each subtask, with its worker and its time, coloured by its status, and thick lines
 * along the critical path. Several plans have a box each, which hangs on the subtask that it is within.
 */
export function planMermaid(plans: readonly ThreadPlan[], escape: Escape = asEntity): string {
  const text = (line: string) => escapeText(plainLine(line), escape);
  const isOnly = plans.length === 1;
  const paths = planPaths(plans);
  const nameOf = (index: number, id: string) => (isOnly ? id : `${paths[index]}:${id}`);
  const names = plans.flatMap(({ plan }, index) => [
    ...(isOnly ? [] : [nameOf(index, "")]),
    ...plan.subtasks.map(({ id }) => nameOf(index, id)),
  ]);
  const ids = mermaidIds(names);
  const idOf = (index: number, id: string) => ids.get(nameOf(index, id)) ?? id;
  const signs = new Set<SubtaskSign>();
  const nodes = (found: ThreadPlan, index: number, indent: string) =>
    found.plan.subtasks.map((subtask) => {
      const { sign } = shownSubtask(found, subtask.id);
      signs.add(sign);
      return `${indent}${idOf(index, subtask.id)}["\`${label(found, subtask, text)}\`"]:::is_${sign}`;
    });
  const drawn = plans.flatMap((found, index) => {
    if (isOnly) return nodes(found, index, "  ");
    const title = text(paths[index] ?? "");
    return [
      `  subgraph ${idOf(index, "")}["\`**${title}**\`"]`,
      // Mermaid would turn every second box.
      "    direction TB",
      ...nodes(found, index, "    "),
      "  end",
    ];
  });
  const links = plans.flatMap((found, index) => linksOf(found, (id) => idOf(index, id)));
  const hangs = plans.flatMap((found, index) => {
    const around = aroundOf(found, plans);
    return around === null ? [] : [`  ${idOf(around.index, around.id)} -.- ${idOf(index, "")}`];
  });
  const critical = plans.flatMap(({ criticalPath }, index) =>
    criticalPath.ids.map((id) => idOf(index, id)),
  );
  const groups = isOnly ? [] : plans.map((_, index) => idOf(index, ""));
  const lines = [
    "flowchart TD",
    ...drawn,
    ...links,
    ...hangs,
    ...Object.entries(looks)
      .filter(([sign]) => signs.has(sign as SubtaskSign))
      .map(([sign, look]) => `  classDef is_${sign} ${look}`),
    ...(critical.length === 0
      ? []
      : [`  classDef is_critical ${criticalLook}`, `  class ${critical.join(",")} is_critical`]),
    ...(groups.length === 0
      ? []
      : [`  classDef is_group ${groupLook}`, `  class ${groups.join(",")} is_group`]),
  ];
  return `${lines.join("\n")}\n`;
}

function label(found: ThreadPlan, { id }: Subtask, text: (line: string) => string): string {
  const { mark, worker, took, code } = shownSubtask(found, id);
  const about = [worker, took, code].filter((part) => part !== "").join(" · ");
  // A Markdown string keeps its lines apart; Mermaid breaks the long ones.
  return `**${mark} ${text(id)}**${about === "" ? "" : `\n${text(about)}`}`;
}

function linksOf({ plan, criticalPath }: ThreadPlan, idOf: (id: string) => string): string[] {
  const known = new Set(plan.subtasks.map(({ id }) => id));
  const { ids } = criticalPath;
  const after = new Map(ids.slice(1).map((id, index) => [id, ids[index]]));
  return plan.subtasks.flatMap(({ id, dependencies }) =>
    dependencies
      .filter((dependency) => known.has(dependency))
      .map((dependency) => {
        const line = after.get(id) === dependency ? "==>" : "-->";
        return `  ${idOf(dependency)} ${line} ${idOf(id)}`;
      }),
  );
}

/** The subtask whose worker a planner is within. */
function aroundOf(
  { within }: ThreadPlan,
  plans: readonly ThreadPlan[],
): { readonly index: number; readonly id: string } | null {
  const found = plans.findLastIndex((other) => {
    const path = [...other.within, other.node];
    return within.length >= path.length + 2 && path.every((node, at) => within[at] === node);
  });
  const around = plans[found];
  const id = around === undefined ? undefined : within[around.within.length + 2];
  return id === undefined ? null : { index: found, id };
}
