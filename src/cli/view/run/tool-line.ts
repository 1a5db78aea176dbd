import type { Recovered, ToolOutcome } from "../../../state/step-record.ts";
import { jsonHead } from "../../../values/bounded-json.ts";
import { headOf } from "../../../values/text.ts";
import type { ListedPermission, ListedTool, ToolRanking } from "../../tools/find.ts";
import { count, duration } from "../figures.ts";
import { type Cell, type Column, tableLines } from "../table.ts";
import { cutToWidth, plainLine, plainText, type Style, textWidth, wrapText } from "../terminal.ts";
import { plainJson } from "../../../values/diff.ts";
import { titleSuffix, type TitledResult } from "./tool-titles.ts";

/** Characters of one argument, and of a result, that are looked at: nothing that is shown needs more. */
const readCharacters = 2000;
const readArguments = 20;

/** A call and what came of it, on two lines at most: `✓ search(query: "tides")  12 ms`, and the result below. */
export function toolLines(call: TitledResult, width: number, style: Style): string[] {
  const head = callHead(call, width, style);
  const text = cutToWidth(resultText(call), Math.max(20, width - 2));
  if (text === "") return [head];
  return [head, `  ${call.outcome === "success" ? style.dim(text) : text}`];
}

/** The first of the two lines. */
function callHead(call: TitledResult, width: number, style: Style): string {
  const { mark, colour } = marks[call.outcome];
  const took = duration(call.execution_time_ms);
  const ending = [
    took,
    ...(call.outcome === "success" ? [] : [call.outcome]),
    ...(call.recovered === undefined ? [] : [recoveries[call.recovered]]),
  ].join(" · ");
  const room = Math.max(20, width - textWidth(ending) - 4);
  return `${colour(style)(mark)} ${cutToWidth(callText(call), room)}  ${style.dim(ending)}`;
}

const marks: Record<
  ToolOutcome,
  { readonly mark: string; readonly colour: (style: Style) => (text: string) => string }
> = {
  success: { mark: "✓", colour: (style) => style.green },
  failure: { mark: "✗", colour: (style) => style.red },
  error: { mark: "✗", colour: (style) => style.red },
  timeout: { mark: "⏱", colour: (style) => style.yellow },
};

const recoveries: Readonly<Record<Recovered, string>> = {
  recorded: "recorded result",
  repeated: "repeated",
  unknown: "not repeated",
};

/** `search(query: "tides")`, on one line that is not cut. */
function callText({ name, args, display_name: title }: TitledResult): string {
  const shown = Object.entries(args)
    .slice(0, readArguments)
    .map(([key, value]) => `${headOf(key, 100)}: ${jsonHead(value, readCharacters).text}`);
  const suffix = headOf(titleSuffix(name, title), 100);
  return plainLine(`${headOf(name, 100)}${suffix}(${shown.join(", ")})`);
}

function resultText({ result, error, outcome }: TitledResult): string {
  if (outcome !== "success") return plainLine(headOf(error ?? "", readCharacters));
  if (typeof result === "string") return plainLine(headOf(result, readCharacters));
  return result == null ? "" : plainLine(jsonHead(result, readCharacters).text);
}

/** A single call: its outcome, its complete result, and notes on it. */
export function callLines(
  call: TitledResult,
  notes: readonly string[],
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const text = call.outcome === "success" ? callResultText(call.result) : (call.error ?? "");
  const retried = call.retries === undefined ? [] : [`Retried ${count(call.retries, "time")}.`];
  const warned = call.warning === undefined ? [] : [call.warning];
  const beside = [...retried, ...warned, ...notes];
  return [
    callHead(call, width, style),
    ...(text === "" ? [] : plainText(text).replace(/\n+$/, "").split("\n")),
    ...beside.flatMap((note) => wrapText(plainText(`· ${note}`), width)).map(style.dim),
  ];
}

function callResultText(result: unknown): string {
  return typeof result === "string" ? result : plainJson(result);
}

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
    {
      text: plainLine(`${tool.name}${titleSuffix(tool.name, tool.display_name)}`),
      paint: style.bold,
    },
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
      ? `Every step is offered all of them: there are at most ${above.toLocaleString("en")} (tool_selection.above).`
      : `With more than ${count(above, "tool")}, a step is offered the best ${topK.toLocaleString("en")} with a score of at least ${minScore} (tool_selection).`;
  const left =
    refused.length === 0
      ? []
      : [
          `Not ranked, because the agent lacks the permissions they require: ${refused.join(", ")}.`,
        ];
  return [
    ...tableLines(rankColumns, rows, options),
    "",
    ...[rule, ...left].flatMap((line) => wrapText(plainLine(line), width)).map(style.dim),
  ];
}
