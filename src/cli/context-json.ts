import type { ThreadContext } from "../runtime/threads/threads.ts";
import { plainMessage } from "./message-parts.ts";
import { snakeKeys } from "./snake-case.ts";

/** A context as one document of JSON. */
export function contextJson(context: ThreadContext): Record<string, unknown> {
  const { metadata, messages, messageTokens, ...place } = context;
  const { tokens, conversation, summaries, steps: _steps, ...figures } = metadata;
  return {
    ...snakeKeys(place),
    ...snakeKeys(figures),
    tokens: snakeKeys(tokens),
    conversation,
    summaries: summaries.map(snakeKeys),
    messages: messages.map((message, index) => {
      return { ...plainMessage(message), tokens: messageTokens[index] ?? 0 };
    }),
  };
}
