import { inspect } from "node:util";
import { StratagraphError } from "../errors.ts";
import type { ActionRecord, ActionToolCall } from "../state/action-record.ts";
import {
  callSignature,
  inOneLine,
  pairedCalls,
  type Relevance,
  type StepRecord,
  type ToolOutcome,
  type ToolResult,
} from "../state/step-record.ts";
import { canonicalJson } from "../values/json.ts";
import { truncateText } from "../values/text.ts";
import { cleanText } from "./clean-text.ts";
import { factsText, salientFacts, type SalientFact } from "./preview/salient-values.ts";
import { errorCharacters } from "./step-messages.ts";

/** Values of one result that its line names, and a short one. */
const valuesNamed = 40;
const valuesInShort = 30;

/** Characters of a note or of a short result that a line of a context keeps. */
const shownCharacters = 200;

/** A call as every line renders it. Its texts are clean and have no line breaks. */
interface CallForm {
  /** `search(query="python tutorial") → success` */
  readonly text: string;
  readonly outcome: ToolOutcome;
  /** Of a failed call, cut at 4,000 characters. */
  readonly message: string;
  /** The important facts of the result; empty if none were noted. */
  readonly insight: string;
  /** Of a failed call: what to do differently, else its insight if that is relevant; empty if nothing was noted. */
  readonly lesson: string;
  /** Whether its relevance is at least the least one; calls without a known relevance are relevant. */
  readonly isRelevant: boolean;
}

const ranks: Readonly<Record<Relevance, number>> = { low: 0, medium: 1, high: 2 };

/** Returns the form of a call from its record or from its action record. `message` is that of a failed call. */
function callForm(
  call: Omit<ActionToolCall, "result" | "execution_time_ms">,
  { message, least = "medium" }: { readonly message: string; readonly least?: Relevance },
): CallForm {
  const { outcome, relevance } = call;
  const insight = inOneLine(cleanText(call.insights));
  const rank = Object.hasOwn(ranks, relevance) ? ranks[relevance as Relevance] : ranks.high;
  const isRelevant = rank >= ranks[least];
  return {
    text: `${cleanText(callSignature(call))} → ${outcome}`,
    outcome,
    message: inOneLine(truncateText(cleanText(message), errorCharacters)),
    insight,
    lesson: inOneLine(cleanText(call.learning)) || (isRelevant ? insight : ""),
    isRelevant,
  };
}

/** The line of a failed call. */
function failureLine({ text, message }: CallForm, lesson: string): string {
  return `${text}${message && `: ${message}`}${lesson && ` [${lesson}]`}`;
}

export interface CompressOptions {
  /** Successful calls below this relevance are left out. Default: `medium`. */
  readonly relevance?: Relevance;
}

/** `compressActions` was given an unknown relevance. */
export class InvalidRelevanceError extends StratagraphError {
  readonly code = "invalid_relevance";

  constructor(readonly given: unknown) {
    const shown = inspect(given, { depth: 0, maxStringLength: 80 });
    super(`The relevance of compressActions must be high, medium or low; got ${shown}.`);
  }
}

/**
 * Renders actions as lines that a model reads instead of the history, in the order of the calls. Successful calls below
 * the relevance are left out first; calls with an empty or unknown relevance are included.
 *
 * - a successful call with an insight: the insight itself
 * - one without: `search(query="python tutorial") → success`
 * - a call that failed is always included, with its message and the lesson from it, which is its `learning`, else a
 *   relevant insight: `read(path="a.txt") → failure: no such file [List the folder first.]`
 *
 * Calls with equal names, arguments, outcomes and texts are merged into one line at the position of the first, with
 * their count: `… → success (×3)`. A line contains no line break and no control character. Arguments may be any values,
 * such as circular ones. Lines of contexts have the same form, and add values of results ({@link callLines}).
 *
 * @throws InvalidRelevanceError
 */
export function compressActions(
  actions: readonly ActionRecord[],
  options: CompressOptions = {},
): string[] {
  const { relevance = "medium" } = options;
  if (!Object.hasOwn(ranks, relevance)) throw new InvalidRelevanceError(relevance);
  const lines: string[] = [];
  const keys: string[] = [];
  for (const call of actions.flatMap(({ tool_calls: calls }) => calls)) {
    const form = callForm(call, { message: call.result, least: relevance });
    const { outcome, message, insight, lesson } = form;
    const isSuccess = outcome === "success";
    if (isSuccess && !form.isRelevant) continue;
    lines.push(isSuccess ? insight || form.text : failureLine(form, lesson));
    const said = isSuccess ? [insight] : [message, lesson];
    keys.push(keyOf([call.name, call.args, outcome, said]));
  }
  return [...foldLines(lines, keys)];
}

/** Returns equal strings for equal values, whatever their type. */
function keyOf(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    // Circular, nested too deep, or with big integers.
    const whole = { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity };
    return inspect(value, { ...whole, sorted: true, customInspect: false });
  }
}

/** A call as one line of a context, in parts: what an earlier line states in the same words is not said again. */
export interface CallLine {
  /** `- search(query="python tutorial") → success` */
  readonly text: string;
  readonly facts: readonly LineFact[];
  /** Whether it says no more than that the call succeeded. */
  readonly isPlain: boolean;
}

export interface LineFact extends SalientFact {
  /** The same for facts that say the same of the same call: of another one, it would be missed there. */
  readonly key: string;
}

const knownLines = new WeakMap<StepRecord, readonly CallLine[]>();

/**
 * Returns the calls of a step in the form of {@link compressActions}, with what another call may need of their results:
 * ids, dates, URLs, keys. Insights follow the call, and calls of low relevance stay without what they gave.
 */
export function callLines(step: StepRecord): readonly CallLine[] {
  const lines = knownLines.get(step);
  if (lines !== undefined) return lines;
  const calls = pairedCalls(step);
  const made = calls.length > 0 ? calls.map(callLine) : problemLines(step);
  knownLines.set(step, made);
  return made;
}

/** What was wrong with a reply without calls. */
function problemLines({ problem }: StepRecord): readonly CallLine[] {
  if (problem === "") return [];
  const text = `- no call: ${truncateText(inOneLine(cleanText(problem)), shownCharacters)}`;
  return [{ text, facts: [], isPlain: true }];
}

function callLine(result: ToolResult): CallLine {
  const form = callForm(result, { message: result.error ?? "" });
  if (form.outcome !== "success") {
    const text = `- ${failureLine(form, truncateText(form.lesson, shownCharacters))}`;
    return { text, facts: [], isPlain: false };
  }
  const { insight, isRelevant } = form;
  // Results noted as unhelpful stay as long as there is room for everything.
  const said = isRelevant
    ? truncateText(insight, shownCharacters) || resultOnLine(result.result)
    : "";
  const text = said === "" ? `- ${form.text}` : `- ${form.text}: ${said}`;
  const facts = isRelevant ? salientFacts(result.result, valuesNamed) : [];
  const isSaid = ({ text: own }: SalientFact): boolean => text.includes(own);
  return {
    text,
    facts: facts
      .filter((fact) => !isSaid(fact))
      .map((fact) => ({ ...fact, key: `${form.text} ${fact.name}: ${fact.text}` })),
    isPlain: said === "",
  };
}

/** Results that are as short as what could be said of them. */
function resultOnLine(result: unknown): string {
  if (typeof result === "number" || typeof result === "boolean") return String(result);
  if (typeof result !== "string" || result.length > 80) return "";
  return inOneLine(cleanText(result));
}

/** Whether a call failed, or gave something that another call may need. */
export function hasContent(line: CallLine, isNew: (fact: LineFact) => boolean): boolean {
  return !line.isPlain || line.facts.some(isNew);
}

/** A line with those of its facts that are new. @param isShort without what only stands next to values */
export function lineText(
  line: CallLine,
  isNew: (fact: LineFact) => boolean,
  isShort = false,
): string {
  const most = isShort ? valuesInShort : valuesNamed;
  const shown: Pick<LineFact, "name" | "text">[] = [];
  let left = 0;
  let values = 0;
  for (const fact of line.facts) {
    const text = isShort ? fact.short : fact;
    if (text === null || !isNew(fact)) continue;
    values += fact.values.length;
    if (values <= most || shown.length === 0) shown.push(text);
    else left += 1;
  }
  if (shown.length === 0) return line.text;
  return `${line.text}; ${factsText(shown)}${left > 0 ? `; … ${left} more` : ""}`;
}

/**
 * Merges lines with equal keys into the first of them, with their count.
 *
 * @param keys one for each line; default: the lines themselves
 */
export function foldLines(
  lines: readonly string[],
  keys: readonly string[] = lines,
): readonly string[] {
  if (lines.length < 2) return lines;
  const counts = new Map<string, { readonly line: string; count: number }>();
  for (const [at, line] of lines.entries()) {
    const known = counts.get(keys[at] ?? line);
    if (known === undefined) counts.set(keys[at] ?? line, { line, count: 1 });
    else known.count += 1;
  }
  return [...counts.values()].map(({ line, count }) =>
    count === 1 ? line : `${line} (×${count})`,
  );
}
