import { ContextOverflowError } from "../../src/context/reasoning-context.ts";
import { readings, tokensOfAll, type Piece } from "./counting.ts";
import {
  buildReasoningContext,
  type BuildReasoningContextOptions as ContextOptions,
} from "../../src/context/build-reasoning-context.ts";
import type { Call, Thread } from "./threads.ts";
import { dataPieces, dataReadings, type DataMessage } from "./trajectories.ts";

/** What a model gets to read at a call, in pieces of text; null where it cannot be given at all. */
export interface Reader {
  readonly name: string;
  read(thread: Thread, call: Call): readonly Piece[] | null;
}

/** A budget in tokens, fixed or as a share of the history's. */
export interface Budget {
  readonly name: string;
  tokens(call: Call): number;
}

export const fixed = (tokens: number): Budget => ({
  name: `${tokens.toLocaleString("en")} tokens`,
  tokens: () => tokens,
});

export const relative = (share: number): Budget => ({
  name: `${+(100 * share).toFixed(1)} % of the history`,
  tokens: ({ before }) => Math.round(share * before.tokens),
});

/** What was decided at a call, made from the records and messages before it. */
export function contextAt(
  thread: Thread,
  call: Pick<Call, "before" | "turn">,
  options: Omit<ContextOptions, "conversation" | "steps">,
) {
  return buildReasoningContext({
    ...options,
    ...(call.turn !== undefined && { turnNumber: call.turn }),
    conversation: thread.conversation.slice(0, call.before.conversation),
    steps: thread.steps.slice(0, call.before.steps),
  });
}

export function ours(
  options: Omit<ContextOptions, "conversation" | "steps" | "budget">,
  budget?: Budget,
): Reader {
  return {
    name: budget?.name ?? "no budget",
    read: (thread, call) => {
      const limit = budget && { budget: budget.tokens(call) };
      try {
        const { messages } = contextAt(thread, call, { ...options, ...limit });
        return messages.flatMap(readings);
      } catch (error) {
        if (error instanceof ContextOverflowError) return null;
        throw error;
      }
    },
  };
}

/** The history as the data has it, with results shortened by `cut`. */
function withResults(name: string, cut: (result: string) => string): Reader {
  const known = new WeakMap<DataMessage, readonly Piece[]>();
  const told = (message: DataMessage) => {
    if (message.role !== "tool") return dataReadings(message);
    const text = cut(message.content ?? "");
    const shortened = known.get(message) ?? [{ text, isSaid: false }];
    known.set(message, shortened);
    return shortened;
  };
  return {
    name,
    read: (thread, call) => thread.raw.slice(0, call.before.messages).flatMap(told),
  };
}

/** The newest messages that fit together, whole. */
export function newest(budget: Budget): Reader {
  return {
    name: `newest ${budget.name}`,
    read: (thread, call) => {
      const limit = budget.tokens(call);
      let tokens = 0;
      let from = call.before.messages;
      while (from > 0) {
        tokens += tokensOfAll(dataPieces(thread.raw[from - 1] as DataMessage));
        if (tokens > limit) break;
        from -= 1;
      }
      return thread.raw.slice(from, call.before.messages).flatMap(dataReadings);
    },
  };
}

export const baselines: readonly Reader[] = [
  withResults("raw history", (result) => result),
  withResults("raw history, JSON without spaces", (result) => {
    try {
      return JSON.stringify(JSON.parse(result));
    } catch {
      return result;
    }
  }),
  withResults("results cut to 200 characters", (result) => result.slice(0, 200)),
  withResults("results cut to 500 characters", (result) => result.slice(0, 500)),
  withResults("results cut to 250 + 250", (result) =>
    result.length <= 500 ? result : `${result.slice(0, 250)}${result.slice(-250)}`,
  ),
  newest(fixed(4000)),
];
