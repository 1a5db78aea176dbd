import { backoff, sleep } from "../async.ts";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Clock, systemClock } from "../clock.ts";
import type { Usage } from "../state/usage.ts";
import type { AgentModel, ModelReply, ModelRequest } from "./agent-model.ts";
import { chatModel, type ChatModel } from "./chat-model.ts";
import { type FailedModel, modelCallError } from "./errors.ts";
import { classifyFailure, type Failure, fallbackReasons } from "./failure.ts";
import { boundTokens, messageTokens } from "./message-tokens.ts";
import { modelProfile, type ModelProfile } from "./model-profile.ts";
import { costOf, listPrices, type Price, priceOf, type PriceTable } from "./prices.ts";
import { redactor } from "./redact.ts";
import { tokenCounter } from "./tokens.ts";

export interface MeteredModelOptions {
  readonly chat: ChatModel;
  readonly fallback?: ChatModel | undefined;
  /** Of `chat`. */
  readonly profile: ModelProfile;
  /** Of `chat`. */
  readonly parallelCalls: boolean;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

type Asked =
  | { readonly message: AIMessage; readonly tries: number }
  | { readonly failed: FailedModel };

/** An {@link AgentModel} of one or two chat models: retries, then the fallback, and the usage of all of it. */
export function meteredModel(options: MeteredModelOptions): AgentModel {
  const { chat, fallback, redact } = options;

  return {
    ref: chat.ref,
    // The caller words its request for one form of tool call; with a fallback both have to understand it.
    toolCalling: chat.toolCalling && (fallback?.toolCalling ?? true),
    parallelCalls: options.parallelCalls,
    profile: options.profile,

    async call(request, config) {
      config.signal?.throwIfAborted();
      const first = await ask(chat, request, config, options);
      if ("message" in first) {
        return reply(chat.ref, first, meter(first.message, request, chat), null, 0);
      }
      const { failed } = first;
      if (fallback === undefined || !fallbackReasons.has(failed.failure.reason)) {
        throw modelCallError(failed, null, redact);
      }
      const second = await ask(fallback, request, config, options);
      if ("failed" in second) throw modelCallError(failed, second.failed, redact);
      const usage = meter(second.message, request, fallback);
      const instead = { from: chat.ref, reason: failed.failure.reason };
      return reply(fallback.ref, second, usage, instead, failed.tries);
    },
  };
}

/** @param before requests made to another model before; like retries they count as calls, and their tokens are not known */
function reply(
  model: string,
  answered: { readonly message: AIMessage; readonly tries: number },
  usage: Usage,
  fallback: ModelReply["fallback"],
  before: number,
): ModelReply {
  const calls = before + answered.tries;
  return {
    message: answered.message,
    usage: calls === 1 ? usage : { ...usage, llm_calls: calls },
    model,
    fallback,
  };
}

async function ask(
  chat: ChatModel,
  request: ModelRequest,
  config: RunnableConfig,
  { retry, clock }: MeteredModelOptions,
): Promise<Asked> {
  for (let tries = 1; ; tries += 1) {
    try {
      return { message: await chat.ask(request, config), tries };
    } catch (thrown) {
      config.signal?.throwIfAborted();
      const failure = classifyFailure(thrown);
      const delay = retryDelay(failure, tries, retry);
      if (delay === null) return { failed: { ref: chat.ref, failure, tries } };
      await sleep(delay, { clock: clock, signal: config.signal });
    }
  }
}

/** Usage of one answered call, from the provider's own figures, or counted here where it gave none. */
function meter(
  message: AIMessage,
  request: ModelRequest,
  { ref, price }: { readonly ref: string; readonly price: Price },
): Usage {
  const given = message.usage_metadata;
  // Some servers send zeros, or nothing, for figures that they do not keep.
  const tokensIn = given?.input_tokens ?? 0;
  if (tokensIn > 0) return pricedUsage(tokensIn, given?.output_tokens ?? 0, price);
  const count = tokenCounter(ref);
  const bound = request.answer ?? request.tools;
  const read = request.messages.reduce(
    (sum, one) => sum + messageTokens(one, count),
    bound === undefined ? 0 : boundTokens(bound, count),
  );
  return pricedUsage(read, messageTokens(message, count), price);
}

function pricedUsage(tokensIn: number, tokensOut: number, price: Price): Usage {
  return {
    tokens_in: tokensIn,
    tokens_out: tokensOut,
    llm_calls: 1,
    tool_calls: 0,
    cost_usd: costOf(price, tokensIn, tokensOut),
  };
}

export interface RetryPolicy {
  /** Tries after the first one, at least 0. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry; doubled for each further one, at most 8,000, the upper half of it at random. */
  readonly backoffMs: number;
  /** A number in [0, 1). */
  readonly random: () => number;
}

const longestBackoffMs = 8_000;
/** A server that asks for more than this is not waited for. */
const longestAskedMs = 60_000;

/**
 * Milliseconds to wait before the next try, or null when there is none. A wait that the server asked for is kept exactly.
 * @param tried tries made so far, at least 1
 */
export function retryDelay(failure: Failure, tried: number, policy: RetryPolicy): number | null {
  if (!failure.transient || tried > policy.maxRetries) return null;
  if (failure.retryAfterMs !== null) {
    return failure.retryAfterMs <= longestAskedMs ? failure.retryAfterMs : null;
  }
  const { backoffMs: baseMs, random } = policy;
  return Math.round(backoff(tried, { baseMs, maxMs: longestBackoffMs, random }));
}

export interface FromChatModelOptions {
  /** `provider:model` under which it is recorded. */
  readonly ref: string;
  readonly toolCalling?: boolean;
  /** Whether it is known to make several tool calls in one reply. Default false. */
  readonly parallelCalls?: boolean;
  /** Default: what is known of a model by its `ref`. */
  readonly profile?: ModelProfile;
  /** Tokens of its window, instead of what is known by its `ref`. */
  readonly window?: number;
  /** Default: the list prices. */
  readonly prices?: PriceTable;
}

/** Any LangChain chat model as it is, metered; with its own retries and without a fallback. */
export function fromChatModel(chat: BaseChatModel, options: FromChatModelOptions): AgentModel {
  const { ref, toolCalling } = options;
  return meteredModel({
    chat: chatModel(chat, {
      ref,
      price: priceOf(ref, options.prices ?? listPrices),
      ...(toolCalling !== undefined && { toolCalling }),
    }),
    profile: options.profile ?? modelProfile(ref, { window: options.window }),
    parallelCalls: options.parallelCalls ?? false,
    retry: { maxRetries: 0, backoffMs: 0, random: () => 0 },
    clock: systemClock,
    redact: redactor({}),
  });
}
