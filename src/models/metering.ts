import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { Usage } from "../state/usage.ts";
import type { ModelRequest } from "./agent-model.ts";
import { costOf, type Price } from "./prices.ts";
import { tokenCounter, type TokenCounter } from "./tokens.ts";

/** What chat formats add around each message, in tokens; the same for the reply that is primed. */
const tokensAroundMessage = 4;

/** Usage of one answered call, from the provider's own figures, or counted here where it gave none. */
export function meter(
  message: AIMessage,
  request: ModelRequest,
  billing: { readonly ref: string; readonly price: Price },
): Usage | Promise<Usage> {
  const given = message.usage_metadata;
  // Some servers send zeros, or nothing, for figures that they do not keep.
  const tokensIn = given?.input_tokens ?? 0;
  const tokensOut = given?.output_tokens ?? 0;
  if (tokensIn > 0) return usage(tokensIn, tokensOut, billing.price);
  return countLocally(message, request, billing);
}

async function countLocally(
  message: AIMessage,
  request: ModelRequest,
  billing: { readonly ref: string; readonly price: Price },
): Promise<Usage> {
  const count = await tokenCounter(billing.ref);
  const bound = request.answer ?? request.tools;
  let tokensIn = bound === undefined ? 0 : boundTokens(bound, count);
  for (const one of request.messages) tokensIn += messageTokens(one, count);
  return usage(tokensIn, messageTokens(message, count), billing.price);
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

/** By message and by what is bound, so that a growing history is counted once. Encodings differ too little to keep them apart. */
const countedMessages = new WeakMap<BaseMessage, number>();
const countedBound = new WeakMap<object, number>();

function messageTokens(message: BaseMessage, count: TokenCounter): number {
  const known = countedMessages.get(message);
  if (known !== undefined) return known;
  const calls = (message as Partial<AIMessage>).tool_calls ?? [];
  const tokens =
    tokensAroundMessage +
    count(message.text) +
    calls.reduce((sum, call) => sum + count(call.name + JSON.stringify(call.args)), 0);
  countedMessages.set(message, tokens);
  return tokens;
}

function boundTokens(bound: object, count: TokenCounter): number {
  const known = countedBound.get(bound);
  if (known !== undefined) return known;
  const tokens = count(JSON.stringify(bound));
  countedBound.set(bound, tokens);
  return tokens;
}
