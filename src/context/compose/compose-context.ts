import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { runToCompletion, runInSlices } from "../../event-loop.ts";
import { messagesTokens } from "../../models/usage/message-tokens.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { RunningSummary } from "../../state/channels.ts";
import { cleanMessage, cleanText } from "../clean-text.ts";
import { noneObserved } from "../step-note.ts";
import {
  ContextOverflowError,
  type ComposedContext,
  type ComposeOptions,
  type ContextSettings,
  InvalidContextOptionError,
  type Utilization,
} from "../reasoning-context.ts";
import type { Entry, Transcript } from "../transcript.ts";
import {
  ContextFold,
  FoldStore,
  type RenderedBody,
  shortenedConversation,
} from "./context-fold.ts";
import { type HistoryFitter, level, type Level } from "./fit.ts";
import { contextMetadata } from "./metadata.ts";
import { boundStep, type RenderedEntries } from "./rendered-entries.ts";
import { cheapMeasure, mostTokensBound, tokenMeasure, tokensBound } from "./sizes.ts";
import { nothingShortened } from "./step-variant.ts";

/** Characters of texts and items of lists that previews keep; less where there is no room for that. */
const settledPreview = { maxChars: 300, maxItems: 3 } as const;
const tightPreview = { above: 300, maxChars: 120, maxItems: 3 } as const;
const defaultPreviewChars = 1000;

/** What a move brings the entries down to, as a share of the room: moves are large, and rare. */
const lowShare = 0.75;

/** Of the room a step may have so much at most. */
const largestShare = 0.95;

/** A last step is rendered shorter, down to so much of the room, before anything is left out for it. */
const lastShare = 0.5;

/** Maximum characters of a whole result for each token of the room. */
const charactersOfToken = 8;

/** What is said last differs from call to call; so much is kept for it, so that the rest does not depend on it. */
const tailShare = 0.1;
const tailTokens = 1024;

/**
 * What a model call gets to read: the opening, then as much of the transcript as its budget has room for, rendered in full or
 * shortened as {@link HistoryFitter} decides, then what is said last.
 *
 * @throws ContextOverflowError when what always stays is larger than the budget
 * @throws InvalidContextOptionError
 */
export function composeContext(options: ComposeOptions): ComposedContext {
  return runToCompletion(composing(options));
}

/**
 * {@link composeContext} in slices, between which the event loop turns: the first context of a long thread takes seconds.
 *
 * @throws also the reason of the signal, once it has aborted
 */
export function composeInSlices(
  options: ComposeOptions,
  signal?: AbortSignal,
): Promise<ComposedContext> {
  return runInSlices(composing(options), signal);
}

function* composing(options: ComposeOptions): Generator<void, ComposedContext> {
  const { profile, transcript, settings } = options;
  const { budget, reserved } = contextBudget(profile, settings);
  const { covered, entries, message } = splitCovered(transcript, options.summary ?? null);
  const opening = options.opening.map(cleanMessage);
  const memory = (options.memory?.messages ?? []).map(cleanMessage);
  const tail = transcript.tail.map(cleanMessage);
  const before = message === null ? [] : [message];
  const count = (messages: readonly BaseMessage[]): number =>
    messagesTokens(messages, profile.count);
  const fixed = [...opening, ...memory, ...before];
  const composed = ({ messages: told }: RenderedBody): readonly BaseMessage[] => {
    const front = [...memory, ...before];
    const begun = beginning(front[0] ?? told[0] ?? tail[0]);
    return opening.concat(begun, front, told, tail);
  };
  const done = (
    { rendered, fitter }: Pick<ContextFold, "rendered" | "fitter">,
    body: RenderedBody,
    messages = composed(body),
  ): ComposedContext => ({
    messages,
    isShortened: entries.at(-1)?.turn === transcript.turn && body.hasShort(fitter.turnStart),
    metadata: contextMetadata({
      options,
      budget,
      reserved,
      rendered,
      fit: fitter.fit(),
      covered,
      sections: { opening, memory, before, tail, messages },
    }),
  });

  const bound = yield* foldOf(options, { entries, budget, room: null });
  const { peak, turnPeak } = bound.fitter;
  const cheapTokens =
    cheapMeasure.messages([...fixed, leftOut, ...tail]) + mostTokensBound(options);
  const isTurnOver = turnPeak > (settings.shortTerm?.maxTokens ?? Infinity);
  if (peak <= budget - cheapTokens && !isTurnOver && !bound.hasLarge) {
    return done(bound, bound.body);
  }

  const tools = tokensBound(options, profile.count);
  const kept = tail.length === 0 ? 0 : Math.min(tailTokens, Math.floor(budget * tailShare));
  const room = Math.max(0, budget - count(fixed) - tools - kept);
  const fold = yield* foldOf(options, { entries, budget, room });
  const { body } = fold;
  const begun = beginning(memory[0] ?? before[0] ?? body.messages[0] ?? tail[0]);
  if (count(fixed) + count(begun) + body.tokens + count(tail) + tools <= budget) {
    return done(fold, body);
  }

  const copy = fold.copy();
  const { rendered, fitter } = copy;
  const lastForms: Level[] = [level.settled, level.preview, level.line, level.brief];
  if (fitter.isLastOver) lastForms.push(level.dropped);
  for (;;) {
    const told = copy.body();
    const messages = composed(told);
    const needed = count(messages) + tools;
    if (needed <= budget) return done(copy, told, messages);
    const target = Math.max(0, fitter.tokens - (needed - budget));
    const had = fitter.tokens;
    fitter.shorten(target, entries.length, { drops: !fitter.isLastLarge });
    if (fitter.tokens < had) continue;
    if (fitter.isLastLarge) {
      const left = Math.max(fitter.lastTokens - (needed - budget), Math.floor(room * lastShare));
      const part = { count: profile.count, tokens: left };
      fitter.rerender((lastStep) => boundStep(rendered, lastStep, part));
      if (fitter.tokens < had) continue;
    }
    const next = lastForms.shift();
    if (next === undefined)
      throw overflow(options, {
        budget,
        needed,
        tools,
        fixed: { opening, memory },
        count,
        rendered,
        fitter,
      });
    fitter.shortenLast(next);
  }
}

/** Entries that folds between calls hold at most, all together. */
const folds = new FoldStore(100_000);

/** Returns the fold of these entries: the one of the last call, grown, or a new one. */
function* foldOf(
  { profile, settings, goal, form, summaries = new Map(), observed = noneObserved }: ComposeOptions,
  of: {
    readonly entries: readonly Entry[];
    readonly budget: number;
    /** Null for a bound that needs no tokenizer. */
    readonly room: number | null;
  },
): Generator<void, ContextFold> {
  const { entries, budget, room } = of;
  const { previewChars = defaultPreviewChars, whole, shortTerm } = settings;
  const key = JSON.stringify([
    goal,
    form,
    budget,
    room,
    previewChars,
    whole,
    shortTerm,
    ...summaries,
  ]);
  const kind = { key, count: profile.count };
  const fold =
    folds.take(kind, entries, observed) ??
    new ContextFold({
      rendering: {
        form,
        settled:
          goal === "synthesis" ? nothingShortened : { above: previewChars, ...settledPreview },
        preview: tightPreview,
        largest: Math.max(2000, budget * charactersOfToken),
        summaries,
      },
      room: {
        tokens: room ?? Infinity,
        low: room === null ? Infinity : Math.floor(room * lowShare),
        keepsTurn: goal === "synthesis" || whole === "turn",
        keepsLast: goal === "synthesis" || whole !== "none",
        shortTerm: room === null ? undefined : shortTerm,
      },
      ...(room === null
        ? { measure: cheapMeasure, part: null }
        : {
            measure: tokenMeasure(profile.count),
            part: { count: profile.count, tokens: Math.floor(room * largestShare) },
          }),
    });
  // What may be shortened will always be: the bound need not be known any better.
  const isEnough = () => room === null && mayShorten(fold, settings, budget);
  yield* fold.grow(entries, observed, isEnough);
  folds.put(kind, fold);
  return fold;
}

/** Whether a bound leaves it open that everything has room as it is. */
function mayShorten(
  { fitter, hasLarge }: ContextFold,
  { shortTerm }: ContextSettings,
  room: number,
): boolean {
  const mostOfTurns = shortTerm?.maxTokens ?? Infinity;
  return fitter.peak > room || fitter.turnPeak > mostOfTurns || hasLarge;
}

const leftOut = new HumanMessage(`${shortenedConversation} What was before is left out.`);

/** Providers want a person to speak first: not so where what was said before is no longer there. */
function beginning(first: BaseMessage | undefined): readonly BaseMessage[] {
  return first === undefined || first.type === "human" ? [] : [leftOut];
}

function overflow(
  { profile }: ComposeOptions,
  facts: {
    readonly budget: number;
    readonly needed: number;
    readonly tools: number;
    readonly fixed: {
      readonly opening: readonly BaseMessage[];
      readonly memory: readonly BaseMessage[];
    };
    readonly count: (messages: readonly BaseMessage[]) => number;
    readonly rendered: RenderedEntries;
    readonly fitter: HistoryFitter;
  },
): ContextOverflowError {
  const { budget, needed, tools, fixed, count, rendered, fitter } = facts;
  const system = count(fixed.opening);
  const memory = count(fixed.memory);
  let steps = 0;
  const { levels, from, lastStep } = fitter;
  for (let at = from; at < levels.length; at += 1) {
    const as = levels[at] as Level;
    if (rendered.entry(at).kind !== "step" || as === level.dropped) continue;
    const isLast = at === lastStep;
    steps +=
      as >= level.line
        ? count([new HumanMessage(rendered.lines(at, as, { from, isLast }).join("\n"))])
        : count(rendered.step(at, as).messages);
  }
  const conversation = Math.max(0, needed - system - memory - tools - steps);
  return new ContextOverflowError({
    model: profile.ref,
    window: profile.window,
    budget,
    needed,
    sections: { system, tools, memory, conversation, steps },
  });
}

const shares: Readonly<Record<Utilization, number>> = { low: 0.33, medium: 0.66, full: 1 };

/** Maximum part of the window kept for the reply; a longer reply needs `max_tokens` or a budget. */
const largestReserve = 0.25;

/**
 * Tokens for messages and tools: the given budget, limited by the window less the reply; else
 * the utilization's share of the window less what is kept for the reply.
 *
 * @throws InvalidContextOptionError
 */
function contextBudget(
  { window, maxOutput }: ModelProfile,
  { budget, utilization = "medium", previewChars, shortTerm }: ContextSettings,
): { readonly budget: number; readonly reserved: number } {
  checkPositive("budget", budget);
  checkPositive("previewChars", previewChars);
  checkPositive("shortTerm.maxTokens", shortTerm?.maxTokens);
  const share = Object.hasOwn(shares, utilization) ? shares[utilization] : undefined;
  if (share === undefined) {
    throw new InvalidContextOptionError("utilization", utilization, '"low", "medium" or "full"');
  }
  const reserved = Math.min(maxOutput, Math.floor(window * largestReserve));
  if (budget !== undefined)
    return { budget: Math.min(Math.floor(budget), window - reserved), reserved };
  return { budget: Math.max(1, Math.floor(window * share) - reserved), reserved };
}

function checkPositive(option: string, given: number | undefined): void {
  if (given === undefined || given >= 1) return;
  throw new InvalidContextOptionError(option, given, "a number of at least 1");
}

export interface SplitTranscript {
  /** What the summary stands for. */
  readonly covered: readonly Entry[];
  readonly entries: readonly Entry[];
  readonly message: HumanMessage | null;
}

const messages = new WeakMap<RunningSummary, HumanMessage>();

/** Parts a transcript into the turns that a summary covers and the others. The turn under way is never covered. */
function splitCovered(
  { entries, turn }: Transcript,
  summary: RunningSummary | null,
): SplitTranscript {
  if (summary === null || summary.covers.turns === 0) {
    return { covered: [], entries, message: null };
  }
  const until = Math.min(summary.covers.turns, turn);
  const covered: Entry[] = [];
  const others: Entry[] = [];
  for (const entry of entries) (entry.turn < until ? covered : others).push(entry);
  const message = messages.get(summary) ?? new HumanMessage(summaryText(summary));
  messages.set(summary, message);
  return { covered, entries: others, message };
}

function summaryText({ text, covers, model }: RunningSummary): string {
  const turns = covers.turns === 1 ? "turn 1" : `turns 1 to ${covers.turns}`;
  const what = `${turns}, ${covers.messages} messages and ${covers.steps} steps`;
  const head = `${shortenedConversation} Summary of ${what}, written by ${model}:`;
  return `${head}\n${cleanText(text)}`;
}
