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
import { salientValues, salientWords } from "./preview/salient-values.ts";
import { errorCharacters } from "./step-messages.ts";

/** Values of one result that its line names. */
const valuesNamed = 40;

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

/** A call as one line of a context, in parts: a value that stands in an earlier line need not be said again. */
export interface CallLine {
  /** `- search(query="python tutorial") → success` */
  readonly text: string;
  readonly values: readonly string[];
  /** Values that stand in the text. */
  readonly words: ReadonlySet<string>;
  /** Whether it says no more than that the call succeeded. */
  readonly isPlain: boolean;
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
  return [{ text, values: [], words: new Set(), isPlain: true }];
}

function callLine(result: ToolResult): CallLine {
  const form = callForm(result, { message: result.error ?? "" });
  if (form.outcome !== "success") {
    const text = `- ${failureLine(form, truncateText(form.lesson, shownCharacters))}`;
    return { text, values: [], words: salientWords(text), isPlain: false };
  }
  const { insight, isRelevant } = form;
  // Results noted as unhelpful stay as long as there is room for everything.
  const said = isRelevant
    ? truncateText(insight, shownCharacters) || resultOnLine(result.result)
    : "";
  const text = said === "" ? `- ${form.text}` : `- ${form.text}: ${said}`;
  const values = isRelevant ? salientValues(result.result, valuesNamed).map(cleanText) : [];
  return {
    text,
    values: values.filter((value) => !text.includes(value)),
    words: salientWords(text),
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
export function hasContent(line: CallLine, isNew: (value: string) => boolean): boolean {
  return !line.isPlain || line.values.some(isNew);
}

/** A line with those of its values that are new. */
export function lineText(
  line: CallLine,
  isNew: (value: string) => boolean,
  most = valuesNamed,
): string {
  const values = line.values.filter(isNew);
  if (values.length === 0) return line.text;
  const more = values.length > most ? `, … ${values.length - most} more` : "";
  return `${line.text}; ${values.slice(0, most).join(", ")}${more}`;
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
