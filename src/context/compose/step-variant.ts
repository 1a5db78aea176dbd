import type { BaseMessage } from "@langchain/core/messages";
import { pairedCalls, type StepRecord, type ToolResult } from "../../state/step-record.ts";
import { jsonHead } from "../../values/bounded-json.ts";
import { isRecord } from "../../values/json.ts";
import { truncateText } from "../../values/text.ts";
import { cleanText, cleanValue } from "../clean-text.ts";
import { preview, previewText } from "../preview/preview.ts";
import type { StepFidelity } from "../reasoning-context.ts";
import {
  outcomeText,
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

/** Returns whether two records differ at most in fields that {@link renderStep} does not read, such as a reflection. */
export function haveSameMessages(one: StepRecord, other: StepRecord): boolean {
  const { tool_results: results } = other;
  return (
    areEqualIn(stepFields, one, other) &&
    one.tool_results.length === results.length &&
    one.tool_results.every((result, at) => areEqualIn(resultFields, result, results[at]!))
  );
}

const stepFields = [
  "turn_number",
  "attempt_number",
  "step_index",
  "thought",
  "tool_predictions",
  "next_action",
  "problem",
] as const;
const resultFields = ["id", "name", "args", "result", "error", "outcome", "warning"] as const;

function areEqualIn<T>(fields: readonly (keyof T)[], one: T, other: T): boolean {
  return fields.every((field) => one[field] === other[field]);
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
