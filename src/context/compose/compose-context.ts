import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { runToCompletion, runInSlices } from "../../event-loop.ts";
import { messagesTokens } from "../../models/usage/message-tokens.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { RunningSummary } from "../../state/channels.ts";
import { cleanMessage, cleanText } from "../clean-text.ts";
import {
  ContextOverflowError,
  type ContextSettings,
  InvalidContextOptionError,
  type ReasoningContext,
  type Utilization,
} from "../reasoning-context.ts";
import type { Entry, Transcript } from "../transcript.ts";
import type { ComposeOptions } from "./compose-options.ts";
import { HistoryFitter, level, type Level, openErrors, type Room } from "./fit.ts";
import { contextMetadata } from "./metadata.ts";
import { cheapSizes, tokensBound, tokenSizes } from "./sizes.ts";
import { nothingShortened } from "./step-variant.ts";
import {
  boundStep,
  boundSteps,
  renderEntries,
  shortenedConversation,
  RenderedEntries,
} from "./rendered-entries.ts";

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
export function composeContext(options: ComposeOptions): ReasoningContext {
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
): Promise<ReasoningContext> {
  return runInSlices(composing(options), signal);
}

function* composing(options: ComposeOptions): Generator<void, ReasoningContext> {
  const { profile, transcript, settings, goal } = options;
  const { budget, reserved } = contextBudget(profile, settings);
  const { covered, entries, message } = splitCovered(transcript, options.summary ?? null);
  const opening = options.opening.map(cleanMessage);
  const memory = (options.memory ?? []).map(cleanMessage);
  const tail = transcript.tail.map(cleanMessage);
  const before = message === null ? [] : [message];
  const count = (messages: readonly BaseMessage[]): number =>
    messagesTokens(messages, profile.count);
  const fixed = [...opening, ...memory, ...before];

  const rendered = new RenderedEntries(entries, {
    form: options.form,
    settled:
      goal === "synthesis"
        ? nothingShortened
        : { above: settings.previewChars ?? defaultPreviewChars, ...settledPreview },
    preview: tightPreview,
    largest: Math.max(2000, budget * charactersOfToken),
    summaries: options.summaries ?? new Map(),
    observed: options.observed ?? new Map(),
  });
  const open = openErrors(entries);
  const done = (fitter: HistoryFitter, messages: readonly BaseMessage[]): ReasoningContext => ({
    messages,
    metadata: contextMetadata({
      options,
      budget,
      reserved,
      rendered,
      fitter,
      covered,
      sections: { opening, memory, before, tail, messages },
    }),
  });

  const composed = (fitter: HistoryFitter): readonly BaseMessage[] => {
    const body = [...memory, ...before, ...renderEntries(rendered, fitter), ...tail];
    return [...opening, ...beginning(body), ...body];
  };
  const cheap = cheapSizes(rendered, open);
  const roomOf = (tokens: number): Room => ({
    tokens,
    low: Math.floor(tokens * lowShare),
    keepsTurn: goal === "synthesis" || settings.whole === "turn",
    keepsLast: goal === "synthesis" || settings.whole !== "none",
    shortTerm: settings.shortTerm,
  });
  const cheapTokens = cheap.messages([...fixed, leftOut, ...tail]) + cheap.bound(options);
  const easy = yield* fitted(cheap.entries, { ...roomOf(budget - cheapTokens), onlyAsks: true });
  if (easy.moves === 0 && !(yield* hasLarge(rendered))) {
    return done(easy, composed(easy));
  }

  const tools = tokensBound(options, profile.count);
  const kept = tail.length === 0 ? 0 : Math.min(tailTokens, Math.floor(budget * tailShare));
  const room = Math.max(0, budget - count(fixed) - tools - kept);
  const sizes = tokenSizes(rendered, open, profile.count);
  yield* boundSteps(rendered, { count: profile.count, tokens: Math.floor(room * largestShare) });
  const fitter = yield* fitted(sizes, roomOf(room));
  const lastForms: Level[] = [level.settled, level.preview, level.line, level.brief];
  if (fitter.isLastOver) lastForms.push(level.dropped);
  for (;;) {
    const messages = composed(fitter);
    const needed = count(messages) + tools;
    if (needed <= budget) return done(fitter, messages);
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

const leftOut = new HumanMessage(`${shortenedConversation} What was before is left out.`);

/** Providers want a person to speak first: not so where what was said before is no longer there. */
function beginning([first]: readonly BaseMessage[]): readonly BaseMessage[] {
  return first === undefined || first.type === "human" ? [] : [leftOut];
}

function* hasLarge(rendered: RenderedEntries): Generator<void, boolean> {
  for (let at = 0; at < rendered.length; at += 1) {
    if (rendered.isTooLarge(at)) return true;
    yield;
  }
  return false;
}

function* fitted(
  entries: ConstructorParameters<typeof HistoryFitter>[0],
  room: Room,
): Generator<void, HistoryFitter> {
  const fitter = new HistoryFitter(entries, room);
  while (!(room.onlyAsks === true && fitter.moves > 0) && fitter.grow()) yield;
  return fitter;
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
  for (let at = fitter.from; at < rendered.length; at += 1) {
    const as = fitter.levels[at] as Level;
    if (rendered.entry(at).kind !== "step" || as === level.dropped) continue;
    steps +=
      as >= level.line
        ? count([new HumanMessage(rendered.lines(at, as, fitter.from).join("\n"))])
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
  const isCovered = (entry: Entry): boolean => entry.turn < until;
  const covered = entries.filter(isCovered);
  const message = messages.get(summary) ?? new HumanMessage(summaryText(summary));
  messages.set(summary, message);
  return { covered, entries: entries.filter((entry) => !isCovered(entry)), message };
}

function summaryText({ text, covers, model }: RunningSummary): string {
  const turns = covers.turns === 1 ? "turn 1" : `turns 1 to ${covers.turns}`;
  const what = `${turns}, ${covers.messages} messages and ${covers.steps} steps`;
  const head = `${shortenedConversation} Summary of ${what}, written by ${model}:`;
  return `${head}\n${cleanText(text)}`;
}
