import { headOf } from "../../state/cut-text.ts";
import { jsonHead } from "../../state/json-head.ts";
import type { Recovered, ToolOutcome, ToolResult } from "../../state/step-record.ts";
import { duration } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { cutToWidth, textWidth } from "./text-width.ts";

/** Characters of one argument, and of a result, that are looked at: nothing that is shown needs more. */
const readCharacters = 2000;
const readArguments = 20;

/** A call and what came of it, on two lines at most: `✓ search(query: "tides")  12 ms`, and the result below. */
export function toolLines(call: ToolResult, width: number, style: Style): string[] {
  const head = callHead(call, width, style);
  const text = cutToWidth(resultText(call), Math.max(20, width - 2));
  if (text === "") return [head];
  return [head, `  ${call.outcome === "success" ? style.dim(text) : text}`];
}

/** The first of the two lines. */
export function callHead(call: ToolResult, width: number, style: Style): string {
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
  recorded: "recorded before",
  repeated: "called again",
  unknown: "not called again",
};

/** `search(query: "tides")`, on one line that is not cut. */
function callText({ name, args }: Pick<ToolResult, "name" | "args">): string {
  const shown = Object.entries(args)
    .slice(0, readArguments)
    .map(([key, value]) => `${headOf(key, 100)}: ${jsonHead(value, readCharacters).text}`);
  return plainLine(`${headOf(name, 100)}(${shown.join(", ")})`);
}

function resultText({ result, error, outcome }: ToolResult): string {
  if (outcome !== "success") return plainLine(headOf(error ?? "", readCharacters));
  if (typeof result === "string") return plainLine(headOf(result, readCharacters));
  return result == null ? "" : plainLine(jsonHead(result, readCharacters).text);
}
