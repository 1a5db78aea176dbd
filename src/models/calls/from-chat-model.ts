import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { systemClock } from "../../clock.ts";
import type { AgentModel } from "../agent-model.ts";
import { chatModel } from "./chat-model.ts";
import { meteredModel } from "./metered-model.ts";
import { modelProfile, type ModelProfile } from "../model-profile.ts";
import { listPrices, priceOf, type PriceTable } from "../usage/prices.ts";
import { redactor } from "../redact.ts";

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
  const { ref, toolCalling, window } = options;
  const price = priceOf(ref, options.prices ?? listPrices);
  return meteredModel({
    chat: chatModel(chat, {
      ref,
      price,
      ...(toolCalling !== undefined && { toolCalling }),
    }),
    profile: options.profile ?? modelProfile(ref, { window, price }),
    parallelCalls: options.parallelCalls ?? false,
    retry: { maxRetries: 0, backoffMs: 0, random: () => 0 },
    clock: systemClock,
    redact: redactor({}),
  });
}
