import type { AIMessage } from "@langchain/core/messages";
import { noUsage, type Usage } from "../../state/usage.ts";
import type { ModelRequest } from "../agent-model.ts";
import { boundTokens, messageTokens } from "./message-tokens.ts";
import { warnOnce } from "../model-profile.ts";
import { costOf, type Price, type TokenCounts } from "./prices.ts";
import { tokenCounter } from "./tokens.ts";

/**
 * Returns the usage of one answered call, from the provider's own figures, or counted here where it gave none. Warns once
 * in a process for each model without a known price.
 *
 * @param chat the model that answered; a price of null is not known
 */
export function meterReply(
  message: AIMessage,
  request: ModelRequest,
  { ref, price }: { readonly ref: string; readonly price: Price | null },
): Usage {
  const tokens = reportedTokens(message, ref) ?? countTokens(message, request, ref);
  const usage: Usage = {
    ...noUsage,
    tokens_in: tokens.input,
    cached_tokens: tokens.cached,
    tokens_out: tokens.output,
    reasoning_tokens: tokens.reasoning,
    llm_calls: 1,
  };
  if (price !== null) return { ...usage, cost_usd: costOf(price, tokens) };
  warnOnce(
    `The price of "${ref}" is not known: its cost_usd is null. Set modelOptions.prices["${ref}"], or STRATAGRAPH_PRICES to a file of prices.`,
    "STRATAGRAPH_UNKNOWN_PRICE",
  );
  return { ...usage, cost_usd: null, unpriced: { calls: 1, others_usd: 0 } };
}

/**
 * The provider's figures, or null without them. In LangChain's form `input_tokens` has the cached tokens too, also for
 * Anthropic, whose own figure is without them.
 */
function reportedTokens({ usage_metadata: given }: AIMessage, ref: string): TokenCounts | null {
  // Some servers send zeros, or nothing, for figures that they do not keep.
  const input = whole(given?.input_tokens);
  if (input === 0) return null;
  const visible = whole(given?.output_tokens);
  // Gemini's thoughts are billed as output, but LangChain counts them in the total alone.
  const thoughts = ref.startsWith("google:") ? whole(given?.total_tokens) - input - visible : 0;
  const output = visible + Math.max(0, thoughts);
  const cached = Math.min(input, whole(given?.input_token_details?.cache_read));
  return {
    input,
    cached,
    cacheWrites: Math.min(input - cached, whole(given?.input_token_details?.cache_creation)),
    output,
    reasoning: Math.min(
      output,
      Math.max(0, thoughts) + whole(given?.output_token_details?.reasoning),
    ),
  };
}

/** A count as a server sent it; what is no positive number counts as 0. */
function whole(count: unknown): number {
  return typeof count === "number" && Number.isFinite(count) ? Math.max(0, Math.round(count)) : 0;
}

function countTokens(message: AIMessage, request: ModelRequest, ref: string): TokenCounts {
  const count = tokenCounter(ref);
  const bound = request.answer ?? request.tools;
  const input = request.messages.reduce(
    (sum, one) => sum + messageTokens(one, count),
    bound === undefined ? 0 : boundTokens(bound, count),
  );
  const output = messageTokens(message, count);
  return { input, cached: 0, cacheWrites: 0, output, reasoning: 0 };
}
