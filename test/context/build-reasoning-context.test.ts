import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildReasoningContext,
  type BuildReasoningContextOptions,
} from "../../src/context/build-reasoning-context.ts";
import { cleanText } from "../../src/context/clean-text.ts";
import {
  ContextOverflowError,
  type ReasoningContext,
} from "../../src/context/reasoning-context.ts";
import type { StepForm } from "../../src/context/step-messages.ts";
import { messageTokens } from "../../src/models/usage/message-tokens.ts";
import { tokenCounter } from "../../src/models/usage/tokens.ts";
import { inOneLine } from "../../src/state/step-record.ts";
import { grown, histories, openFailures, type History } from "./compose/arbitrary-history.ts";

const model = "openai:gpt-4o";
const count = tokenCounter(model);
const tokensOf = (messages: readonly BaseMessage[]) =>
  messages.reduce((sum, message) => sum + messageTokens(message, count), 0);

const budgets = fc.integer({ min: 60, max: 3000 });
const settings = fc.record(
  {
    goal: fc.constantFrom("planning" as const, "synthesis" as const),
    form: fc.constantFrom<StepForm>("native", "text", "report"),
    budget: budgets,
    whole: fc.constantFrom("turn" as const, "last_step" as const),
    systemPrompt: fc.constantFrom("", "You help people with orders."),
    memories: fc.constantFrom([], ["likes tea"]),
    shortTerm: fc.record({
      strategy: fc.constantFrom("fifo" as const, "summarize" as const, "hybrid" as const),
      maxTokens: fc.integer({ min: 100, max: 1500 }),
    }),
  },
  { requiredKeys: ["goal", "form", "budget", "whole"] },
);
type Settings = Omit<BuildReasoningContextOptions, "model" | "conversation" | "steps">;

/** Null where what always stays is larger than the budget. */
function built(history: History, options: Settings): ReasoningContext | null {
  try {
    return buildReasoningContext({ model, ...history, ...options });
  } catch (thrown) {
    if (thrown instanceof ContextOverflowError) return null;
    throw thrown;
  }
}

const texts = (messages: readonly BaseMessage[]): readonly string[] =>
  messages.map((message) => {
    const calls = (message as Partial<AIMessage>).tool_calls ?? [];
    return JSON.stringify([
      message.type,
      message.text,
      calls.map(({ id, name, args }) => [id, name, args]),
    ]);
  });

const everything = (messages: readonly BaseMessage[]): string =>
  messages.map(({ text }) => text).join("\n");

function holds(check: (context: ReasoningContext, history: History, options: Settings) => void) {
  fc.assert(
    fc.property(histories, settings, (history, options) => {
      const context = built(history, options);
      if (context !== null) check(context, history, options);
    }),
    { numRuns: 150 },
  );
}

describe("buildReasoningContext, for any history", () => {
  it("never has more tokens than its budget", () => {
    holds(({ messages, metadata }, _, { budget }) => {
      expect(tokensOf(messages)).toBeLessThanOrEqual(budget as number);
      expect(metadata.tokens.total).toBe(tokensOf(messages));
    });
  });

  it("never has a call without its result, nor a result without its call, nor an id twice", () => {
    holds(({ messages }) => {
      let waiting: readonly (string | undefined)[] = [];
      const seen = new Set<string | undefined>();
      for (const message of messages) {
        const answered = message.type === "tool" ? [(message as ToolMessage).tool_call_id] : [];
        expect(answered).toEqual(waiting.slice(0, message.type === "tool" ? 1 : Infinity));
        waiting = waiting.slice(1);
        if (message.type === "tool") continue;
        waiting = ((message as Partial<AIMessage>).tool_calls ?? []).map(({ id }) => id);
        for (const id of waiting) expect(seen.has(id)).toBe(false);
        for (const id of waiting) seen.add(id);
      }
      expect(waiting).toEqual([]);
    });
  });

  it("always has the current request, the last step and every error that is open in the turn", () => {
    holds(({ messages }, { conversation, steps }) => {
      const said = everything(messages);
      const request = conversation.at(-1) as BaseMessage;
      expect(messages.some(({ text }) => text === request.text)).toBe(true);
      const turns = conversation.filter(({ type }) => type === "human").length;
      for (const { error } of openFailures(steps, turns - 1)) {
        expect(inOneLine(said)).toContain(inOneLine(cleanText(error ?? "")));
      }
      const last = steps.at(-1);
      if (last === undefined || last.turn_number < turns - 1) return;
      const calls = messages.flatMap((one) => (one as Partial<AIMessage>).tool_calls ?? []);
      for (const { name } of last.tool_results) {
        expect(said.includes(name) || calls.some((one) => one.name === name)).toBe(true);
      }
    });
  });

  it("gives the same bytes for the same input, in whatever order contexts are made", () => {
    fc.assert(
      fc.property(histories, settings, settings, (history, one, other) => {
        const first = built(history, one);
        built(history, other);
        const copy: History = {
          conversation: history.conversation,
          steps: structuredClone(history.steps),
        };
        const second = built(copy, one);
        expect(second && texts(second.messages)).toEqual(first && texts(first.messages));
      }),
      { numRuns: 100 },
    );
  });

  it("grows at its end alone while nothing must be shortened", () => {
    fc.assert(
      fc.property(histories, (history) => {
        const options = { goal: "planning", whole: "turn", previewChars: 1e9 } as const;
        let front: readonly string[] = [];
        for (const one of grown(history)) {
          const messages = texts(built(one, options)?.messages ?? []);
          expect(messages.slice(0, front.length)).toEqual(front);
          front = messages;
        }
      }),
      { numRuns: 100 },
    );
  });

  it("keeps the front as it was but for rare moves, however tight the budget", () => {
    fc.assert(
      fc.property(histories, fc.integer({ min: 600, max: 3000 }), (history, budget) => {
        const fronts = grown(history).map((one) =>
          built(one, { goal: "planning", whole: "turn", previewChars: 1e9, budget }),
        );
        const known = fronts.filter((one) => one !== null).map(({ messages }) => messages);
        const kept = known.filter((messages, at) => {
          const front = texts(known[at - 1] ?? []);
          return texts(messages).slice(0, front.length).join("\n") === front.join("\n");
        });
        // A move leaves a quarter of the room free, so that there is one for so many tokens that came.
        const raw = built(history, { goal: "synthesis", utilization: "full" });
        const came = raw?.metadata.tokens.total ?? 0;
        expect(known.length - kept.length).toBeLessThanOrEqual(1 + (8 * came) / budget);
      }),
      { numRuns: 60 },
    );
  });

  it("shows whole results for synthesis wherever they fit", () => {
    fc.assert(
      fc.property(histories, (history) => {
        const context = built(history, { goal: "synthesis", utilization: "full" });
        for (const { fidelity } of context?.metadata.steps ?? []) expect(fidelity).toBe("whole");
      }),
      { numRuns: 60 },
    );
  });
});
