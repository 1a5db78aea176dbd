import { inspect } from "node:util";
import { StratagraphError } from "../errors.ts";
import type { ActionRecord, ActionToolCall } from "./action-record.ts";
import { canonicalJson } from "./canonical-json.ts";
import { callSignature, inOneLine } from "./call-signature.ts";
import type { Relevance } from "./step-record.ts";

export interface CompressOptions {
  /** Successful calls below this relevance are left out. Default: `medium`. */
  readonly relevance?: Relevance;
}

const ranks: Readonly<Record<Relevance, number>> = { low: 0, medium: 1, high: 2 };

/** `compressActions` was given a relevance that there is none of. */
export class InvalidRelevanceError extends StratagraphError {
  readonly code = "invalid_relevance";

  constructor(readonly given: unknown) {
    const shown = inspect(given, { depth: 0, maxStringLength: 80 });
    super(`The relevance of compressActions has to be high, medium or low; got ${shown}.`);
  }
}

/**
 * What was tried, as lines that a model reads instead of the history, in the order of the calls. Successful calls whose
 * relevance does not pass are left out first; an empty one, and one that is unknown, passes.
 * - a successful call with an insight: the insight itself
 * - one without: `search(query="python tutorial") → success`
 * - a call that did not succeed always stays, with its message: `read(path="a.txt") → failure: no such file`
 *
 * Calls that are alike in name, arguments, outcome and what their line says become one line where the first of them stood, with their
 * count: `… → success (×3)`. A line never holds a line break. Arguments may be any values, such as circular ones.
 *
 * @throws InvalidRelevanceError
 */
export function compressActions(
  actions: readonly ActionRecord[],
  options: CompressOptions = {},
): string[] {
  const { relevance = "medium" } = options;
  if (!Object.hasOwn(ranks, relevance)) throw new InvalidRelevanceError(relevance);
  const least = ranks[relevance];
  const counts = new Map<string, { readonly line: string; count: number }>();
  for (const { tool_calls: calls } of actions) {
    for (const call of calls) {
      const told = tell(call, least);
      if (told === null) continue;
      const line = told.isWhole ? told.text : `${callSignature(call)} → ${told.text}`;
      const key = keyOf([call.name, call.args, call.outcome, told]);
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
  const rank: number | undefined = Object.hasOwn(ranks, call.relevance)
    ? ranks[call.relevance as Relevance]
    : undefined;
  const passes = rank === undefined || rank >= leastRank;
  if (call.outcome === "success") {
    if (!passes) return null;
    return insight === "" ? { text: "success", isWhole: false } : { text: insight, isWhole: true };
  }
  const message = inOneLine(call.result);
  const learned = insight !== "" && passes ? ` [${insight}]` : "";
  return { text: `${call.outcome}${message && `: ${message}`}${learned}`, isWhole: false };
}

/** The same for equal values, whatever they are. */
function keyOf(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    // Circular, nested too deep, or with big integers.
    const whole = { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity };
    return inspect(value, { ...whole, sorted: true, customInspect: false });
  }
}
