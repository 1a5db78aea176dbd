import type { ToolRanking } from "../rank-tools.ts";
import type { ListedPermission, ListedTool } from "../tool-list.ts";
import { count } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { wrapText } from "./text-width.ts";

interface Options {
  readonly width: number;
  readonly style: Style;
}

const toolColumns: readonly Column[] = [
  { title: "tool", least: 12 },
  { title: "from", least: 8 },
  { title: "permissions", least: 12 },
  { title: "approval" },
  { title: "idempotent", optional: 2 },
  { title: "", least: 20, optional: 1 },
];

/** Tools as a table. */
export function toolTable(tools: readonly ListedTool[], options: Options): string[] {
  const { style } = options;
  const rows = tools.map((tool): readonly Cell[] => [
    { text: plainLine(tool.name), paint: style.bold },
    { text: plainLine(tool.from) },
    permissionCell(tool.permissions, style),
    approvalCell(tool, style),
    { text: tool.idempotent ? "yes" : "no" },
    { text: plainLine(firstSentence(tool.description)), paint: style.dim },
  ]);
  return tableLines(toolColumns, rows, options);
}

function permissionCell(permissions: readonly ListedPermission[], style: Style): Cell {
  if (permissions.length === 0) return { text: "–", paint: style.dim };
  const lacking = permissions.some(({ required, granted }) => required && granted === false);
  const text = plainLine(permissions.map(permissionText).join(", "));
  return lacking ? { text, paint: style.yellow } : { text };
}

function permissionText({ name, required, granted }: ListedPermission): string {
  if (granted === false) return `${name} (${required ? "not granted" : "optional, not granted"})`;
  return required ? name : `${name} (optional)`;
}

function approvalCell({ allowed, approval }: ListedTool, style: Style): Cell {
  if (!allowed) return { text: "not allowed", paint: style.yellow };
  return { text: approval ? "yes" : "no" };
}

/** A full stop ends one where a word in upper case follows, so that `e.g. this` goes on. */
function firstSentence(text: string): string {
  const line = text.trim().split(/\n\s*\n/)[0] ?? "";
  return /^.*?[.!?](?=\s+[\p{Lu}\d"'(]|\s*$)/su.exec(line)?.[0] ?? line;
}

const figure = (title: string): Column => ({ title, align: "right" });

const rankColumns: readonly Column[] = [
  figure(""),
  { title: "tool", least: 12 },
  figure("score"),
  figure("semantic"),
  figure("keyword"),
  figure("success"),
  figure("recency"),
  { title: "" },
];

/** How well tools suit a task, best first. */
export function rankingLines(ranking: ToolRanking, options: Options): string[] {
  const { style, width } = options;
  const { ranked, refused, above, topK, minScore } = ranking;
  const rows = ranked.map((tool, rank): readonly Cell[] => [
    { text: String(rank + 1), paint: style.dim },
    { text: plainLine(tool.name), paint: tool.offered ? style.bold : style.dim },
    ...[tool.score, tool.semantic, tool.keyword, tool.success, tool.recency].map((part) => ({
      text: part.toFixed(2),
    })),
    { text: tool.offered ? "" : "not offered", paint: style.dim },
  ]);
  const there = ranked.length + refused.length;
  const rule =
    there <= above
      ? `A step is offered all of them: there are no more than ${above.toLocaleString("en")} (tool_selection.above).`
      : `Of more than ${count(above, "tool")} a step is offered the best ${topK.toLocaleString("en")}, none under ${minScore} (tool_selection).`;
  const left =
    refused.length === 0
      ? []
      : [`Not ranked, since the agent is not granted what they require: ${refused.join(", ")}.`];
  return [
    ...tableLines(rankColumns, rows, options),
    "",
    ...[rule, ...left].flatMap((line) => wrapText(plainLine(line), width)).map(style.dim),
  ];
}
