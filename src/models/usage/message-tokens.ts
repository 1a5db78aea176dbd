import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAttachmentReference, isTextAttachment } from "../../state/attachment.ts";
import type { ModelTool } from "../agent-model.ts";
import type { TokenCounter } from "./tokens.ts";

/** What chat formats add around each message, in tokens; the same for the reply that is primed. */
const tokensAroundMessage = 4;

/** For each part of a message that is no text (an image, a sound, a file): about an image of 1,024 × 1,024 pixels. */
const tokensOfOtherPart = 765;

/** Bytes of a PDF or of compressed audio that take about a token. */
const bytesOfToken = 100;

type Remembered = WeakMap<object, number>;

/** By encoding and identity: a growing history is counted once, and a message that went has no figure kept. */
const countedMessages = new WeakMap<TokenCounter, Remembered>();
const countedBound = new WeakMap<TokenCounter, Remembered>();

/**
 * Tokens of a message with what chat formats add around it: its text, the names and arguments of its calls, and a flat 765
 * for each part that is no text; of a large PDF or sound, one for each 100 bytes. Remembered by the message and the counter; a message is not changed once it was counted.
 */
export function messageTokens(message: BaseMessage, count: TokenCounter): number {
  return once(countedMessages, message, count, () => {
    const calls = (message as Partial<AIMessage>).tool_calls ?? [];
    return calls.reduce(
      (sum, call) => sum + count(call.name + JSON.stringify(call.args)),
      tokensAroundMessage + count(message.text) + tokensOfOtherParts(message, count),
    );
  });
}

/** {@link messageTokens} of all of them. */
export function messagesTokens(messages: readonly BaseMessage[], count: TokenCounter): number {
  return messages.reduce((sum, message) => sum + messageTokens(message, count), 0);
}

/** Estimated tokens of the tool descriptions: providers word them in their own ways. Cached by the list. */
export function toolsTokens(tools: readonly ModelTool[] | undefined, count: TokenCounter): number {
  return tools === undefined || tools.length === 0 ? 0 : boundTokens(tools, count);
}

/** {@link toolsTokens} of whatever is bound to a call. */
export function boundTokens(bound: object, count: TokenCounter): number {
  return once(countedBound, bound, count, () => count(JSON.stringify(bound)));
}

/** Parts that are calls are counted as such; other parts than text have no length to count. */
function tokensOfOtherParts({ content }: BaseMessage, count: TokenCounter): number {
  if (!Array.isArray(content)) return 0;
  const others: readonly unknown[] = content.filter(({ type }) => !counted.has(type));
  return others.reduce<number>((sum, part) => {
    if (isTextAttachment(part)) return sum + count(part.text);
    const bytes = isAttachmentReference(part) && part.type !== "image" ? part.metadata.bytes : 0;
    return sum + Math.max(tokensOfOtherPart, Math.ceil(bytes / bytesOfToken));
  }, 0);
}

const counted = new Set<string>(["text", "tool_use", "tool_call", "functionCall"]);

function once(
  remembered: WeakMap<TokenCounter, Remembered>,
  key: object,
  count: TokenCounter,
  tokens: () => number,
): number {
  let figures = remembered.get(count);
  if (figures === undefined) remembered.set(count, (figures = new WeakMap()));
  const known = figures.get(key);
  if (known !== undefined) return known;
  const figure = tokens();
  figures.set(key, figure);
  return figure;
}
