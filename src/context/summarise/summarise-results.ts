import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { Clock } from "../../clock.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { noUsage, type Usage } from "../../state/usage.ts";
import type { Goal, ResultSummaryMade } from "../context-metadata.ts";
import { readSummary } from "../short-term/read-summary.ts";
import { inOrder } from "./in-order.ts";
import { contentDigest, isLargeResult, summaryRoom } from "./large-result.ts";
import type { ResultSummaryCache, SummaryOutcome } from "./result-summary-cache.ts";
import { resultSummaryRequest } from "./result-summary-request.ts";
import { timeBound, type TimeBound } from "./time-bound.ts";

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
  /** Null where nobody is to be asked, and only what is known is told. */
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
  /** Call ids of large results that were not known, where nobody was to be asked. */
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
  const bound = timeBound(clock, options.timeoutMs, signal);
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

interface Summarised {
  readonly made: ResultSummaryMade;
  readonly text: string | null;
}

/** Null where it is not known, and nobody is to be asked. */
async function summarise(
  result: ToolResult,
  options: SummariseOptions,
  bound: TimeBound,
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
    // Somebody else's time may be over sooner than this one's: then it is asked again.
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
  bound: TimeBound,
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
