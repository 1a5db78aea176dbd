import type { ToolResult } from "../../state/step-record.ts";
import { count } from "./figures.ts";
import { plainJson } from "./plain-json.ts";
import { plainText } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";
import { callHead } from "./tool-line.ts";

/** A call by itself: what became of it, its whole result, and what is to be known beside it. */
export function callLines(
  call: ToolResult,
  notes: readonly string[],
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const text = call.outcome === "success" ? resultText(call.result) : (call.error ?? "");
  const retried =
    call.retries === undefined ? [] : [`It was tried again: ${count(call.retries, "retry")}.`];
  const warned = call.warning === undefined ? [] : [call.warning];
  const beside = [...retried, ...warned, ...notes];
  return [
    callHead(call, width, style),
    ...(text === "" ? [] : plainText(text).replace(/\n+$/, "").split("\n")),
    ...beside.flatMap((note) => wrapText(plainText(`· ${note}`), width)).map(style.dim),
  ];
}

function resultText(result: unknown): string {
  return typeof result === "string" ? result : plainJson(result);
}
