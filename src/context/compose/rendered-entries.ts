import type { BaseMessage } from "@langchain/core/messages";
import { messagesTokens } from "../../models/usage/message-tokens.ts";
import type { TokenCounter } from "../../models/usage/tokens.ts";
import { inOneLine, type StepRecord } from "../../state/step-record.ts";
import { headOf } from "../../values/text.ts";
import { callLines, foldLines, hasContent, type LineFact, lineText } from "../call-lines.ts";
import { cleanMessage, cleanText } from "../clean-text.ts";
import type { StepForm } from "../step-messages.ts";
import type { Entry, StepEntry } from "../transcript.ts";
import { level, type Level } from "./fit.ts";
import {
  hasLonger,
  nothingShortened,
  type Shortening,
  renderStep,
  type RenderedStep,
} from "./step-variant.ts";

/** Characters of what was said that is kept: of a person's words, and of an answer. */
const kept = {
  digest: { human: 160, ai: 200 },
  brief: { human: 60, ai: 0 },
} as const;

export interface RenderOptions {
  readonly form: StepForm;
  /** Limits of a result once it need not be whole. */
  readonly settled: Shortening;
  /** Limits of results when there is no room for that. */
  readonly preview: Shortening;
  /** Results that are larger are never told whole; characters. */
  readonly largest: number;
  readonly summaries: ReadonlyMap<string, string>;
}

/** The entries of a transcript, as far as they were pushed, with the ways in which each can be told. */
export class RenderedEntries {
  readonly #telling: RenderOptions;
  #entries: Entry[] = [];
  /** For each step the record that its lines show, if later steps noted something on its results. */
  #noted: (StepRecord | undefined)[] = [];
  #usedIds = new Map<string, StepRecord>();
  #ownIds = new Set<StepRecord>();
  /** For each entry and each fact of its lines the last entry before that states it; as far as it was asked for. */
  #named: (ReadonlyMap<string, number> | undefined)[] = [];
  /** For each fact the last of those entries that states it. */
  #lastNamed = new Map<string, number>();
  /** Steps by level and place, each told when it is first asked for. */
  #told: RenderedStep[][] = [];
  /** What a whole step is instead, where it is too large. */
  #bounded = new Map<number, RenderedStep>();

  constructor(telling: RenderOptions) {
    this.#telling = telling;
  }

  /** Returns the same entries, in which other steps can be bounded. */
  copy(): RenderedEntries {
    const copy = new RenderedEntries(this.#telling);
    copy.#entries = this.#entries;
    copy.#noted = this.#noted;
    copy.#usedIds = this.#usedIds;
    copy.#ownIds = this.#ownIds;
    copy.#named = this.#named;
    copy.#lastNamed = this.#lastNamed;
    copy.#told = this.#told;
    copy.#bounded = new Map(this.#bounded);
    return copy;
  }

  entry(at: number): Entry {
    return this.#entries[at] as Entry;
  }

  /** @param noted the step with what later steps noted on its results */
  push(entry: Entry, noted?: StepRecord): void {
    this.#entries.push(entry);
    this.#noted.push(noted);
    if (entry.kind === "step") this.#takeIds(entry.step);
  }

  /** A step of which an earlier one has used an id of a call has ids of its own: they are unique in its turn alone. */
  #takeIds(step: StepRecord): void {
    for (const calls of [step.tool_predictions, step.tool_results]) {
      for (const { id } of calls) {
        const user = this.#usedIds.get(id);
        if (user === undefined) this.#usedIds.set(id, step);
        else if (user !== step) this.#ownIds.add(step);
      }
    }
  }

  /** Returns the record that the lines of a step show, if it is not the step itself. */
  noted(at: number): StepRecord | undefined {
    return this.#noted[at];
  }

  /** Whether lines of an entry, or of one after it, were told already. */
  hasNamed(at: number): boolean {
    return at < this.#named.length;
  }

  /** Replaces the record that the lines of a step show, if nothing {@link hasNamed} it. */
  note(at: number, step: StepRecord | undefined): void {
    this.#noted[at] = step;
  }

  /** Replaces a step by one with the same messages, if nothing {@link hasNamed} it. */
  replace(at: number, entry: StepEntry): void {
    const { step } = this.entry(at) as StepEntry;
    this.#entries[at] = entry;
    if (this.#ownIds.has(step)) this.#ownIds.add(entry.step);
    for (const { id } of [...step.tool_predictions, ...step.tool_results]) {
      if (this.#usedIds.get(id) === step) this.#usedIds.set(id, entry.step);
    }
  }

  /** A step as messages of its own, in one of the levels before `line`. */
  step(at: number, as: Level): RenderedStep {
    const { settled, preview } = this.#telling;
    const how = as === level.whole ? nothingShortened : as === level.settled ? settled : preview;
    const bounded = how.above === Infinity ? this.#bounded.get(at) : undefined;
    if (bounded !== undefined) return bounded;
    const told = (this.#told[as] ??= []);
    return (told[at] ??= this.#tellAs(at, how));
  }

  #tellAs(at: number, how: Shortening): RenderedStep {
    const { step } = this.entry(at) as StepEntry;
    const { preview, largest } = this.#telling;
    return this.render(step, how.above === Infinity && hasLonger(step, largest) ? preview : how);
  }

  /** Whether a step is too large to be told whole. */
  isTooLarge(at: number): boolean {
    const entry = this.entry(at);
    return entry.kind === "step" && hasLonger(entry.step, this.#telling.largest);
  }

  render(step: StepRecord, how: Shortening): RenderedStep {
    const { form, summaries } = this.#telling;
    const ownIds = this.#ownIds.has(step);
    // A step without anything to shorten is the same messages at each of these levels.
    const isWhole = how.above === Infinity || (summaries.size === 0 && !hasLonger(step, how.above));
    if (isWhole) return renderStep(step, { ...nothingShortened, form, summaries: none, ownIds });
    // A model's words stand in for a preview, not for what is whole.
    return renderStep(step, { ...how, form, summaries, ownIds });
  }

  /** Sets the rendering of the step at level `whole`. */
  bound(at: number, told: RenderedStep): void {
    this.#bounded.set(at, told);
  }

  messages(at: number): readonly BaseMessage[] {
    const entry = this.entry(at);
    if (entry.kind === "spoken") return [cleanMessage(entry.message)];
    return entry.kind === "fixed" ? entry.messages : [];
  }

  /**
   * The entry as lines of a larger message.
   * @param isLast whether it is the last step, which always has its lines
   */
  lines(
    at: number,
    as: Level,
    { from, isLast }: { readonly from: number; readonly isLast: boolean },
  ): readonly string[] {
    const entry = this.entry(at);
    if (entry.kind === "fixed") return [];
    const isBrief = as === level.brief;
    if (entry.kind === "spoken") return saidLines(entry.message, isBrief ? "brief" : "digest");
    const named = this.#namedBefore(at);
    const isNew = ({ key }: LineFact): boolean => (named?.get(key) ?? -1) < from;
    const lines = callLines(this.#noted[at] ?? entry.step).filter(
      (line) => !isBrief || isLast || hasContent(line, isNew),
    );
    return foldLines(lines.map((line) => lineText(line, isNew, as > level.line)));
  }

  #namedBefore(at: number): ReadonlyMap<string, number> | undefined {
    for (let next = this.#named.length; next <= at; next += 1) {
      const step = this.#noted[next];
      this.#named.push(nameFacts(this.entry(next), { at: next, last: this.#lastNamed, step }));
    }
    return this.#named[at];
  }
}

const none: ReadonlyMap<string, string> = new Map();

/** The entries before that last state the facts of this one, which is then the last that states them. */
function nameFacts(
  entry: Entry,
  of: {
    readonly at: number;
    readonly last: Map<string, number>;
    readonly step: StepRecord | undefined;
  },
): ReadonlyMap<string, number> | undefined {
  const { at, last, step = entry.kind === "step" ? entry.step : undefined } = of;
  if (step === undefined) return undefined;
  const named = new Map<string, number>();
  for (const { key } of callLines(step).flatMap(({ facts }) => facts)) {
    const before = last.get(key);
    if (before !== undefined && before !== at) named.set(key, before);
    last.set(key, at);
  }
  return named;
}

const saidBefore = {
  digest: new WeakMap<BaseMessage, readonly string[]>(),
  brief: new WeakMap<BaseMessage, readonly string[]>(),
};

/** The first words of what was said. */
function saidLines(message: BaseMessage, as: keyof typeof kept): readonly string[] {
  const known = saidBefore[as].get(message);
  if (known !== undefined) return known;
  const isHuman = message.type === "human";
  const limit = kept[as][isHuman ? "human" : "ai"];
  const text = inOneLine(cleanText(headOf(message.text, 8 * limit)));
  const head = headOf(text, limit);
  const isWhole = head === text && message.text.length <= 8 * limit;
  const lines =
    limit === 0 ? [] : [`${isHuman ? "user" : "assistant"}: ${head}${isWhole ? "" : "…"}`];
  saidBefore[as].set(message, lines);
  return lines;
}

/** Characters of texts and items of lists that the largest preview shows for a token of its part. */
const charactersOfToken = 6;
const itemsOfToken = 0.1;

/** Each preview shows two thirds of what the one before does, until it is as short as others are. */
const step = 2 / 3;
const shortest = { above: 300, maxChars: 300, maxItems: 3 } as const;

/** Preview limits to try for a number of tokens, the largest first. */
function previewsFor(tokens: number): readonly Shortening[] {
  const previews: Shortening[] = [];
  for (let share = 1; share * charactersOfToken * tokens > shortest.maxChars; share *= step) {
    const maxChars = Math.ceil(share * charactersOfToken * tokens);
    const maxItems = Math.max(shortest.maxItems, Math.ceil(share * itemsOfToken * tokens));
    previews.push({ above: maxChars, maxChars, maxItems });
  }
  return [...previews, shortest];
}

/** A part of the room. */
export interface Part {
  readonly count: TokenCounter;
  readonly tokens: number;
}

/** Renders a step that exceeds its share of the room by the largest preview that fits into it. */
export function boundStep(told: RenderedEntries, at: number, part: Part): void {
  const entry = told.entry(at);
  if (entry.kind !== "step") return;
  const fits = ({ messages }: RenderedStep): boolean =>
    messagesTokens(messages, part.count) <= part.tokens;
  if (!told.isTooLarge(at) && fits(told.step(at, level.whole))) return;
  for (const how of previewsFor(part.tokens)) {
    const one = told.render(entry.step, how);
    if (fits(one)) return told.bound(at, one);
  }
  told.bound(at, told.step(at, level.preview));
}
