import { deadline, type Deadline } from "../../async.ts";
import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { Clock } from "../../clock.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { TokenCounter } from "../../models/usage/tokens.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { noUsage, type Usage } from "../../state/usage.ts";
import type { Goal, ResultSummaryMade } from "../reasoning-context.ts";
import { resultText } from "../step-messages.ts";
import {
  type ResultSummaryCache,
  resultSummaryRequest,
  type SummaryOutcome,
} from "./result-summary.ts";
import { readSummary } from "./running-summary.ts";

export interface SummaryReply {
  readonly text: string;
  readonly usage: Usage;
  /** `provider:model` that answered. */
  readonly model: string;
}

/** Asks a model; `signal` aborts when there is no more time to answer. */
export type AskForSummary = (
  messages: readonly BaseMessage[],
  signal: AbortSignal,
) => Promise<SummaryReply>;

export interface SummariseOptions {
  readonly results: readonly ToolResult[];
  readonly goal: Goal;
  /** The request that the results are for. */
  readonly question: string;
  /** Null in a dry run, which uses known summaries only. */
  readonly ask: AskForSummary | null;
  /** Of the model that is asked. */
  readonly profile: Pick<ModelProfile, "ref" | "window" | "count">;
  /** Successful results with more tokens are summarised. */
  readonly thresholdTokens: number;
  /** Milliseconds that all of them may take together. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly cache: ResultSummaryCache;
  readonly signal?: AbortSignal | undefined;
}

export interface ResultSummaries {
  /** By call id; none where there is nothing to say instead of the result. */
  readonly summaries: ReadonlyMap<string, string>;
  /** One for each large result, in order; none for those that are not known. */
  readonly made: readonly ResultSummaryMade[];
  /** Call ids of large results without a known summary, in a dry run. */
  readonly unknown: readonly string[];
}

/** Calls of the model that are under way at the same time. */
const mostAtOnce = 4;

/** Tokens of a result that the model reads; never more than half of its window. */
const maxTokensRead = 64_000;

/**
 * What a model says of large results that matters for the goal and the question. A result that the model fails on, or
 * takes too long for, has none. What was asked for before is not asked for again.
 *
 * @throws the reason of `signal` when that aborts
 */
export async function summariseResults(options: SummariseOptions): Promise<ResultSummaries> {
  const { results, profile, thresholdTokens, clock, signal } = options;
  const large = results.filter((one) => isLargeResult(one, thresholdTokens, profile.count));
  if (large.length === 0) return { summaries: new Map(), made: [], unknown: [] };
  signal?.throwIfAborted();
  const begunAt = clock.monotonic();
  const bound: SummaryDeadline = {
    isYoung: () => clock.monotonic() - begunAt <= options.timeoutMs / 2,
    ...deadline({
      clock,
      outer: [signal],
      remainingMs: options.timeoutMs,
      timeUp: () => new DOMException("", "TimeoutError"),
    }),
  };
  try {
    const found = await inOrder(large, mostAtOnce, (result) => summarise(result, options, bound));
    const all = found.filter((one) => one !== null);
    const unknown = large.filter((_, at) => found[at] === null).map(({ id }) => id);
    const told = all.flatMap(({ made, text }) =>
      text === null ? [] : [[made.callId, text] as const],
    );
    return { summaries: new Map(told), made: all.map(({ made }) => made), unknown };
  } finally {
    bound.release();
  }
}

/** The time that the summaries of one context share. */
interface SummaryDeadline extends Deadline {
  /** Whether at most half of the time has passed. */
  isYoung(): boolean;
}

interface Summarised {
  readonly made: ResultSummaryMade;
  readonly text: string | null;
}

/** Returns null if it is unknown in a dry run. */
async function summarise(
  result: ToolResult,
  options: SummariseOptions,
  bound: SummaryDeadline,
): Promise<Summarised | null> {
  const { ask, cache, clock, profile, signal } = options;
  const key = keyOf(result, options);
  const begun = clock.monotonic();
  const give = (outcome: SummaryOutcome, usage: Usage, isKnown: boolean): Summarised => ({
    made: {
      callId: result.id,
      model: outcome.model,
      outcome: outcome.outcome === "made" && isKnown ? "cached" : outcome.outcome,
      latencyMs: Math.round(clock.monotonic() - begun),
      tokensIn: usage.tokens_in,
      tokensOut: usage.tokens_out,
      costUsd: usage.cost_usd,
    },
    text: outcome.outcome === "made" ? outcome.text : null,
  });
  for (;;) {
    const known = cache.get(key);
    if (known !== undefined) return give(known, noUsage, true);
    if (ask === null) return null;
    if (bound.signal.aborted) {
      signal?.throwIfAborted();
      return give({ outcome: "timeout", model: profile.ref }, noUsage, false);
    }
    const underWay = cache.underWay.get(key);
    if (underWay === undefined) break;
    // Another caller's time limit may be shorter than this one's: then the model is called again.
    await bound.race(underWay).catch(() => {});
  }
  let usage = noUsage;
  const asked = askFor(result, { ...options, ask }, bound, (spent) => (usage = spent));
  cache.underWay.set(key, asked);
  try {
    const { outcome, isLasting } = await asked;
    signal?.throwIfAborted();
    if (isLasting) cache.set(key, outcome);
    return give(outcome, usage, false);
  } finally {
    cache.underWay.delete(key);
  }
}

/** Never rejects. What does not last may come out otherwise when it is asked for again. */
async function askFor(
  result: ToolResult,
  { goal, question, ask, profile }: SummariseOptions & { readonly ask: AskForSummary },
  bound: SummaryDeadline,
  spend: (usage: Usage) => void,
): Promise<{ readonly outcome: SummaryOutcome; readonly isLasting: boolean }> {
  const { ref, window, count } = profile;
  const hasTime = bound.isYoung();
  try {
    const maxCharacters = summaryRoom(result);
    const maxTokens = Math.min(maxTokensRead, Math.floor(window / 2));
    const request = resultSummaryRequest(
      result,
      { goal, question, maxCharacters },
      { maxTokens, count },
    );
    const reply = await bound.race(ask(request, bound.signal));
    spend(reply.usage);
    const text = readSummary(reply.text, maxCharacters);
    const outcome: SummaryOutcome =
      text === null
        ? { outcome: "failed", model: reply.model }
        : { outcome: "made", text, model: reply.model };
    return { outcome, isLasting: true };
  } catch {
    return bound.signal.aborted
      ? { outcome: { outcome: "timeout", model: ref }, isLasting: hasTime }
      : { outcome: { outcome: "failed", model: ref }, isLasting: true };
  }
}

function keyOf(result: ToolResult, { goal, question }: SummariseOptions): string {
  const parts = JSON.stringify([contentDigest(result), goal, question]);
  return createHash("sha256").update(parts).digest("hex");
}

/** The results of `work` for each item, in their order, with at most `most` of them under way. */
async function inOrder<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next;
      next += 1;
      results[at] = await work(items[at] as Item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}

const longestSummary = 2000;

interface Known {
  readonly bytes: number;
  /** SHA-256 (hex) of the text. */
  readonly digest: string;
  readonly tokens: Map<TokenCounter, number>;
}

/** A result never changes, so that it is read and counted once. */
const known = new WeakMap<ToolResult, Known>();

function read(result: ToolResult): Known {
  const before = known.get(result);
  if (before !== undefined) return before;
  const text = resultText(result);
  const digest = createHash("sha256").update(text).digest("hex");
  const made = { bytes: Buffer.byteLength(text), digest, tokens: new Map<TokenCounter, number>() };
  known.set(result, made);
  return made;
}

/** Whether a call succeeded with more than `tokens` tokens. What has no more bytes is not counted. */
function isLargeResult(result: ToolResult, tokens: number, count: TokenCounter): boolean {
  if (result.outcome !== "success") return false;
  const { bytes, tokens: counted } = read(result);
  if (bytes <= tokens) return false;
  let figure = counted.get(count);
  if (figure === undefined) counted.set(count, (figure = count(resultText(result))));
  return figure > tokens;
}

/** Stands for what a result says. */
function contentDigest(result: ToolResult): string {
  return read(result).digest;
}

/** Characters that a summary may have: at most half of what it stands for. */
function summaryRoom(result: ToolResult): number {
  return Math.min(longestSummary, Math.floor(read(result).bytes / 2));
}
