import type { RunnableConfig } from "@langchain/core/runnables";
import type { AIMessage } from "@langchain/core/messages";
import type { Clock } from "../clock.ts";
import type { Usage } from "../state/usage.ts";
import type { AgentModel, ModelReply, ModelRequest } from "./agent-model.ts";
import type { ChatModel } from "./chat-model.ts";
import { classifyFailure, fallbackReasons } from "./failure.ts";
import { meter } from "./metering.ts";
import type { ModelProfile } from "./model-profile.ts";
import { modelCallError, type FailedModel } from "./describe-failure.ts";
import { retryDelay, waitFor, type RetryPolicy } from "./retry.ts";

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
      await waitFor(delay, clock, config.signal);
    }
  }
}
