import type { BaseMessage } from "@langchain/core/messages";
import {
  callSignature,
  inOneLine,
  type StepRecord,
  type ToolResult,
} from "../../state/step-record.ts";
import { jsonHead } from "../../values/bounded-json.ts";
import { isRecord } from "../../values/json.ts";
import { truncateText } from "../../values/text.ts";
import { cleanText, cleanValue } from "../clean-text.ts";
import { preview, previewText } from "../preview/preview.ts";
import { salientValues, salientWords } from "../preview/salient-values.ts";
import type { StepFidelity } from "../reasoning-context.ts";
import {
  errorCharacters,
  outcomeText,
  pairedCalls,
  resultText,
  type StepForm,
  stepMessages,
  renderCall,
  type RenderedCall,
} from "../step-messages.ts";

/** Limits for a step's results and arguments. */
export interface Shortening {
  /** Characters from which on a result or an argument is shortened; Infinity for none. */
  readonly above: number;
  /** Characters of a text, and items of a list, that a preview keeps. */
  readonly maxChars: number;
  readonly maxItems: number;
}

export interface StepRenderOptions extends Shortening {
  readonly form: StepForm;
  /** What a model made of a result, by {@link summaryKey}. */
  readonly summaries: ReadonlyMap<string, string>;
  /** Whether ids of calls have to differ from those of another step. */
  readonly ownIds: boolean;
}

/** Ids of calls are unique in their turn alone. */
export function summaryKey({ turn_number }: StepRecord, callId: string): string {
  return `${turn_number}:${callId}`;
}

/** A step as messages, in one way. */
export interface RenderedStep {
  readonly messages: readonly BaseMessage[];
  readonly fidelity: StepFidelity;
}

/** Characters of texts in arguments that are not JSON. */
const longestOddText = 4000;

export const nothingShortened: Shortening = { above: Infinity, maxChars: 0, maxItems: 0 };

/** A record never changes, so that its messages are made once, and counted once, however often they are read. */
const knownSteps = new WeakMap<StepRecord, Map<string, RenderedStep>>();

export function renderStep(step: StepRecord, telling: StepRenderOptions): RenderedStep {
  const key = keyOf(step, telling);
  let variants = knownSteps.get(step);
  if (variants === undefined) knownSteps.set(step, (variants = new Map()));
  const told = variants.get(key);
  if (told !== undefined) return told;
  const made = makeStep(step, telling);
  variants.set(key, made);
  return made;
}

function keyOf(step: StepRecord, telling: StepRenderOptions): string {
  const { form, above, maxChars, maxItems, ownIds, summaries } = telling;
  const limits = `${form} ${above} ${maxChars} ${maxItems} ${ownIds}`;
  if (summaries.size === 0) return limits;
  const said = step.tool_results.map(({ id }) => summaries.get(summaryKey(step, id)) ?? null);
  return `${limits} ${JSON.stringify(said)}`;
}

function makeStep(step: StepRecord, telling: StepRenderOptions): RenderedStep {
  let fidelity: StepFidelity = "whole";
  const told = pairedCalls(step).map((result): RenderedCall => {
    const summary = telling.summaries.get(summaryKey(step, result.id));
    const args = cleanValue(shortArgs(result.args, telling));
    const text = summary !== undefined ? marked(summary) : shortResult(result, telling);
    if (summary !== undefined) fidelity = "summarised";
    else if ((text !== null || isShortArgs(result.args, telling)) && fidelity === "whole") {
      fidelity = "preview";
    }
    const call = renderCall(result, text ?? resultText(result));
    const id = telling.ownIds ? `${result.id}-${step.turn_number}-${step.step_index}` : result.id;
    return { ...call, id, args };
  });
  const { thought } = step;
  const isLong = telling.above < Infinity && thought.length > longestThought(telling);
  const short = isLong
    ? { ...step, thought: truncateText(thought, longestThought(telling)) }
    : step;
  if (isLong && fidelity === "whole") fidelity = "preview";
  return { messages: stepMessages(short, telling.form, () => told), fidelity };
}

/** Thoughts are for planning: they are cut later than results. */
function longestThought({ above, maxChars }: Shortening): number {
  return 2 * Math.max(above, maxChars);
}

function marked(summary: string): string {
  return `[summarised] ${cleanText(summary)}`;
}

/** Null where it need not be shortened. */
function shortResult(result: ToolResult, how: Shortening): string | null {
  if (how.above === Infinity || !isLonger(result.result, how.above)) return null;
  const { maxChars, maxItems } = how;
  const text = cleanText(
    outcomeText(result, (value) => previewText(value, { maxChars, maxItems })),
  );
  // What is small in the notation needs no preview.
  const whole = isLonger(result.result, 8 * how.above) ? null : resultText(result);
  return whole !== null && (whole.length <= how.above || whole.length <= text.length) ? null : text;
}

function isShortArgs(args: ToolResult["args"], how: Shortening): boolean {
  return how.above < Infinity && isLonger(args, how.above);
}

function shortArgs(args: ToolResult["args"], how: Shortening): ToolResult["args"] {
  const isShort = isShortArgs(args, how);
  if (!isShort && isJson(args)) return args;
  const maxChars = isShort ? how.maxChars : longestOddText;
  const short = preview(args, { maxChars, maxItems: Math.max(10, how.maxItems) });
  return isRecord(short) ? short : { shortened: truncateText(String(short), maxChars) };
}

/** Whether arguments can be written as JSON: records that were made by hand may hold circles and big integers. */
function isJson(args: ToolResult["args"]): boolean {
  try {
    return JSON.stringify(args) !== undefined;
  } catch {
    return false;
  }
}

/** For each step the characters that its longest part is known to have at least, and at most. */
const lengths = new WeakMap<StepRecord, { readonly atLeast: number; readonly atMost: number }>();

/** Whether the thought, a result or the arguments of a call have more characters than that; remembered. */
export function hasLonger(step: StepRecord, characters: number): boolean {
  const length = lengths.get(step) ?? { atLeast: 0, atMost: Infinity };
  if (length.atMost <= characters) return false;
  if (length.atLeast > characters) return true;
  const longer =
    step.thought.length > characters ||
    step.tool_results.some(
      ({ result, args }) => isLonger(result, characters) || isLonger(args, characters),
    );
  lengths.set(
    step,
    longer ? { ...length, atLeast: characters + 1 } : { ...length, atMost: characters },
  );
  return longer;
}

/** Whether a value's JSON, or a text, has more characters; at a cost bounded by that figure. */
function isLonger(value: unknown, characters: number): boolean {
  if (typeof value === "string") return value.length > characters;
  if (typeof value !== "object" || value === null) return false;
  return !jsonHead(value, characters + 1).whole;
}

/** Values of one result that its line names. */
const valuesNamed = 40;

/** Characters of an insight or of a short result that a line keeps. */
const shownCharacters = 200;

/** A call as one line, in parts: a value that stands in an earlier line need not be said again. */
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
 * The calls of a step in the form of `compressActions`, with the values of their results that another call may need:
 * ids, dates, URLs, keys. Failures keep their message.
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
  const call = `- ${cleanText(callSignature(result))} → ${result.outcome}`;
  if (result.outcome !== "success") {
    const message = inOneLine(truncateText(cleanText(result.error ?? ""), errorCharacters));
    const learned = inOneLine(cleanText(truncateText(result.learning, shownCharacters)));
    const said = message === "" ? call : `${call}: ${message}`;
    const text = learned === "" ? said : `${said} [${learned}]`;
    return { text, values: [], words: salientWords(text), isPlain: false };
  }
  const insight = inOneLine(cleanText(result.insights));
  // Results noted as unhelpful stay as long as there is room for everything.
  const isUseless = result.relevance === "low";
  const said =
    insight === "" ? resultOnLine(result.result) : truncateText(insight, shownCharacters);
  const text = said === "" || isUseless ? call : `${call}: ${said}`;
  const values = isUseless ? [] : salientValues(result.result, valuesNamed).map(cleanText);
  return {
    text,
    values: values.filter((value) => !text.includes(value)),
    words: salientWords(text),
    isPlain: said === "" || isUseless,
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

/** Lines that are the same become one, where the first of them stood, with their count. */
export function foldLines(lines: readonly string[]): readonly string[] {
  if (lines.length < 2) return lines;
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts].map(([line, count]) => (count === 1 ? line : `${line} (×${count})`));
}

/** Values made from texts, for as long as the texts are few and short; then all are forgotten together. */
export class TextCache<T> {
  readonly #values = new Map<string, T>();
  readonly #most: { readonly texts: number; readonly characters: number };
  #characters = 0;

  constructor(most: { readonly texts: number; readonly characters: number }) {
    this.#most = most;
  }

  get(text: string, make: () => T): T {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    const made = make();
    const { texts, characters } = this.#most;
    if (text.length > characters) return made;
    if (this.#values.size >= texts || this.#characters + text.length > characters) {
      this.#values.clear();
      this.#characters = 0;
    }
    this.#values.set(text, made);
    this.#characters += text.length;
    return made;
  }
}
