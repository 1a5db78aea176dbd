import { z } from "zod";

/** The usage of a step, a turn or a thread. Counts are absolute numbers. */
export interface Usage {
  tokens_in: number;
  /** The part of `tokens_in` that was read from the provider's cache. */
  cached_tokens: number;
  tokens_out: number;
  /** The part of `tokens_out` that the model reasoned with. */
  reasoning_tokens: number;
  llm_calls: number;
  tool_calls: number;
  /** US dollars. Null if it is unknown: at least one call was made to a model without a known price. */
  cost_usd: number | null;
  /** Left out if `cost_usd` is a number. */
  unpriced?: UnpricedCalls;
}

/** The two parts of an unknown cost, so that the cost of a later turn can be told apart from it. */
interface UnpricedCalls {
  /** Replies of models without a known price. */
  readonly calls: number;
  /** US dollars of all other calls. */
  readonly others_usd: number;
}

export const noUsage: Usage = Object.freeze({
  tokens_in: 0,
  cached_tokens: 0,
  tokens_out: 0,
  reasoning_tokens: 0,
  llm_calls: 0,
  tool_calls: 0,
  cost_usd: 0,
});

const count = z.number().int().nonnegative();
const dollars = z.number().nonnegative();

/** Usage as it is stored. Earlier versions left out the optional fields: a missing count is 0. */
export const usageSchema = z.object({
  tokens_in: count,
  cached_tokens: count.optional().describe("The part of tokens_in that was read from a cache."),
  tokens_out: count,
  reasoning_tokens: count.optional().describe("The part of tokens_out that is reasoning."),
  llm_calls: count,
  tool_calls: count,
  cost_usd: dollars.nullable().describe("US dollars; null if a model has no known price."),
  unpriced: z.object({ calls: count, others_usd: dollars }).optional(),
});

/** Returns the sum of both as a new object; a missing field counts as 0. The sum with an unknown cost is unknown. */
export function addUsage(a: Partial<Usage>, b: Partial<Usage>): Usage {
  return combine(a, b, 1);
}

/** Returns the usage between two readings of a growing sum. */
export function usageSince(before: Partial<Usage>, now: Partial<Usage>): Usage {
  return combine(now, before, -1);
}

function combine(a: Partial<Usage>, b: Partial<Usage>, sign: 1 | -1): Usage {
  const calls = unpricedCalls(a) + sign * unpricedCalls(b);
  const dollarsOfOthers = pricedDollars(a) + sign * pricedDollars(b);
  const usage: Usage = {
    tokens_in: (a.tokens_in ?? 0) + sign * (b.tokens_in ?? 0),
    cached_tokens: (a.cached_tokens ?? 0) + sign * (b.cached_tokens ?? 0),
    tokens_out: (a.tokens_out ?? 0) + sign * (b.tokens_out ?? 0),
    reasoning_tokens: (a.reasoning_tokens ?? 0) + sign * (b.reasoning_tokens ?? 0),
    llm_calls: (a.llm_calls ?? 0) + sign * (b.llm_calls ?? 0),
    tool_calls: (a.tool_calls ?? 0) + sign * (b.tool_calls ?? 0),
    cost_usd: calls > 0 ? null : dollarsOfOthers,
  };
  if (calls > 0) usage.unpriced = { calls, others_usd: dollarsOfOthers };
  return usage;
}

/** Returns the replies of models without a known price. */
function unpricedCalls({ cost_usd, llm_calls = 1, unpriced }: Partial<Usage>): number {
  if (cost_usd !== null) return 0;
  return unpriced?.calls ?? Math.max(1, llm_calls);
}

/** Returns the dollars of all other calls. */
function pricedDollars({ cost_usd = 0, unpriced }: Partial<Usage>): number {
  return cost_usd ?? unpriced?.others_usd ?? 0;
}

/** Why a model did not answer. */
export const failureReasons = [
  /** Too many requests for now. */
  "rate_limit",
  /** The account's credit or quota is used up. */
  "quota",
  /** Network error, 5xx, broken stream, or a model that threw something unknown. */
  "outage",
  /** No token came within `llm_config.timeout`. */
  "timeout",
  /** The request is longer than the model's window. */
  "context_overflow",
  /** The provider has no such model, or has retired it. */
  "model_not_found",
  /** The provider withheld the reply, or refused the request for its content. */
  "content_filter",
  /** The model refused to answer. */
  "refusal",
  /** 401 or 403. */
  "auth",
  /** Any other 4xx, or tools for a model that takes none: the request itself is wrong. */
  "bad_request",
  /** It answered something that is no chat reply. */
  "bad_reply",
] as const;

export type FailureReason = (typeof failureReasons)[number];

/**
 * How a reply ended: whole, at the output limit (`length`), withheld by the provider (`content_filter`), or refused by
 * the model itself (`refusal`).
 */
export type FinishReason = "stop" | "length" | "content_filter" | "refusal";

/** What a model thought before it replied. */
export interface Reasoning {
  /** Empty if the provider shows none. */
  readonly text: string;
  /**
   * The provider's own form of it, sent back with the calls of the step: content blocks with signatures (Anthropic,
   * Gemini), or fields of the message. Left out where nothing needs to be sent back.
   */
  readonly blocks?: readonly Readonly<Record<string, unknown>>[];
}

/** One request to a model. */
export interface ModelCallRecord {
  /** `provider:model`. */
  readonly model: string;
  /** How the reply ended, or why there is none. */
  readonly outcome: FinishReason | FailureReason | "cancelled";
  readonly latency_ms: number;
  /** Milliseconds to the first token; null if nothing was streamed. */
  readonly first_token_ms: number | null;
}
