import type { ActionRecord, ActionToolCall } from "./action-record.ts";
import { canonicalJson } from "./canonical-json.ts";
import { cutMark, headOf } from "./cut-text.ts";
import { jsonHead } from "./json-head.ts";
import type { Relevance } from "./step-record.ts";

export interface CompressOptions {
  /** Insights of successful calls below this relevance are left out. Default: `medium`. */
  readonly relevance?: Relevance;
}

/** Characters of one argument's value that a line shows. */
const shownValue = 80;

const ranks: Readonly<Record<Relevance, number>> = { low: 0, medium: 1, high: 2 };

/**
 * What was tried, as lines that a model reads instead of the history, in the order of the calls:
 * - a call without an insight: `search(query="python tutorial") → success`
 * - a successful call with one: the insight itself, where its relevance passes (an empty relevance does)
 * - a call that did not succeed always stays, with its message: `read(path="a.txt") → failure: no such file`
 *
 * Calls that are alike in name, arguments, outcome and what their line says become one line where the first of them stood, with their
 * count: `… → success (×3)`. A line never holds a line break.
 */
export function compressActions(
  actions: readonly ActionRecord[],
  options: CompressOptions = {},
): string[] {
  const least = ranks[options.relevance ?? "medium"];
  const counts = new Map<string, { readonly line: string; count: number }>();
  for (const { tool_calls: calls } of actions) {
    for (const call of calls) {
      const told = tell(call, least);
      if (told === null) continue;
      const line = told.isWhole ? told.text : `${signature(call)} → ${told.text}`;
      const key = canonicalJson([call.name, call.args, call.outcome, told]);
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { line, count: 1 });
      else known.count += 1;
    }
  }
  return [...counts.values()].map(({ line, count }) =>
    count === 1 ? line : `${line} (×${count})`,
  );
}

/** What a call's line says: all of it, or what stands after the call itself. Null where it has no line. */
function tell(call: ActionToolCall, leastRank: number): { text: string; isWhole: boolean } | null {
  const insight = inOneLine(call.insights);
  const passes = call.relevance === "" || ranks[call.relevance] >= leastRank;
  if (call.outcome === "success") {
    if (insight === "") return { text: "success", isWhole: false };
    return passes ? { text: insight, isWhole: true } : null;
  }
  const message = inOneLine(call.result);
  const learned = insight !== "" && passes ? ` [${insight}]` : "";
  return { text: `${call.outcome}${message && `: ${message}`}${learned}`, isWhole: false };
}

function signature({ name, args }: ActionToolCall): string {
  const shown = Object.entries(args).map(([key, value]) => `${key}=${shortValue(value)}`);
  return inOneLine(`${name}(${shown.join(", ")})`);
}

function shortValue(value: unknown): string {
  if (typeof value === "string") {
    const head = headOf(value, shownValue);
    const quoted = JSON.stringify(head);
    return head === value ? quoted : quoted + cutMark(value.length - head.length);
  }
  const json = jsonHead(value, 20 * shownValue);
  const head = headOf(json.text, shownValue);
  if (json.whole && head === json.text) return head;
  return head + cutMark(json.text.length - head.length, !json.whole);
}

function inOneLine(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}
