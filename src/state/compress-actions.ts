import type { ActionRecord, ActionToolCall } from "./action-record.ts";
import { canonicalJson } from "./canonical-json.ts";
import { callSignature, inOneLine } from "./call-signature.ts";
import type { Relevance } from "./step-record.ts";

export interface CompressOptions {
  /** Insights of successful calls below this relevance are left out. Default: `medium`. */
  readonly relevance?: Relevance;
}

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
      const line = told.isWhole ? told.text : `${callSignature(call)} → ${told.text}`;
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
