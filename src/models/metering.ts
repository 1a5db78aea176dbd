import type { AIMessage } from "@langchain/core/messages";
import type { Usage } from "../state/usage.ts";
import type { ModelRequest } from "./agent-model.ts";
import { boundTokens, messageTokens } from "./message-tokens.ts";
import { costOf, type Price } from "./prices.ts";
import { tokenCounter } from "./tokens.ts";

/** Usage of one answered call, from the provider's own figures, or counted here where it gave none. */
export function meter(
  message: AIMessage,
  request: ModelRequest,
  { ref, price }: { readonly ref: string; readonly price: Price },
): Usage {
  const given = message.usage_metadata;
  // Some servers send zeros, or nothing, for figures that they do not keep.
  const tokensIn = given?.input_tokens ?? 0;
  if (tokensIn > 0) return usage(tokensIn, given?.output_tokens ?? 0, price);
  const count = tokenCounter(ref);
  const bound = request.answer ?? request.tools;
  const read = request.messages.reduce(
    (sum, one) => sum + messageTokens(one, count),
    bound === undefined ? 0 : boundTokens(bound, count),
  );
  return usage(read, messageTokens(message, count), price);
}

function usage(tokensIn: number, tokensOut: number, price: Price): Usage {
  return {
    tokens_in: tokensIn,
    tokens_out: tokensOut,
    llm_calls: 1,
    tool_calls: 0,
    cost_usd: costOf(price, tokensIn, tokensOut),
  };
}
