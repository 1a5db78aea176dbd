import type { BaseMessage } from "@langchain/core/messages";
import type { Goal, ReasoningContext } from "./context-metadata.ts";

export function withoutFigures(
  messages: readonly BaseMessage[],
  of: { readonly goal: Goal; readonly model: string },
): ReasoningContext {
  const tokens = {
    total: 0,
    system: 0,
    tools: 0,
    memory: 0,
    conversation: 0,
    steps: 0,
    raw: 0,
    saved: 0,
  };
  return {
    messages,
    metadata: {
      ...of,
      window: 0,
      budget: 0,
      reserved: 0,
      tokens,
      steps: [],
      conversation: { whole: 0, summarised: 0, dropped: 0 },
      summaries: [],
      notes: [],
    },
  };
}
