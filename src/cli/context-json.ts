import type { ThreadContext } from "../runtime/threads/threads.ts";
import { plainMessage } from "./message-parts.ts";
import { snakeKeys } from "./snake-case.ts";

/** A context as one document of JSON. */
export function contextJson(context: ThreadContext): Record<string, unknown> {
  const { metadata, messages, messageTokens, tools, threadId, turn, step, ...place } = context;
  const { tokens, conversation, summaries, steps: _told, notes, ...figures } = metadata;
  const { steps, ...rest } = place;
  return {
    ...snakeKeys({ threadId, turn, step, ...rest }),
    ...figures,
    tokens,
    conversation,
    steps,
    summaries: summaries.map(snakeKeys),
    notes,
    tools,
    messages: messages.map((message, index) => {
      return { ...plainMessage(message), tokens: messageTokens[index] ?? 0 };
    }),
  };
}
