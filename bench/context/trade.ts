import {
  needsSynthesis,
  type ShortTermPolicy,
  type WholeResults,
} from "../../src/context/reasoning-context.ts";
import { percent, printTable } from "../helpers/table.ts";
import { tokensOf } from "./counting.ts";
import type { Asked } from "./curve.ts";
import { pairOf, promptOf, rawPrompt, type Prompt } from "./prefix.ts";
import { contextAt, fixed } from "./readers.ts";
import { generatedThread } from "./generated-steps.ts";
import { threadOf, type Reply, type Thread } from "./threads.ts";
import type { DataMessage } from "./trajectories.ts";

/** Prices of a cached token, as shares of another one's. */
const prices = [0.1, 0.25, 0.5, 1] as const;

/** Price of a token that is written, over one that is read. */
const outputPrice = 4;

interface Setting {
  readonly name: string;
  readonly whole: WholeResults;
  readonly budget?: number;
  readonly shortTerm: ShortTermPolicy;
}

const hybrid = (maxTokens: number) => ({ strategy: "hybrid", maxTokens }) as const;

/** What a definition has by default, and what differs from it. */
const settings: readonly Setting[] = [
  { name: "turn", whole: "turn", shortTerm: hybrid(8000) },
  { name: "last_step", whole: "last_step", shortTerm: hybrid(8000) },
  { name: "none", whole: "none", shortTerm: hybrid(8000) },
  ...[4000, 2000, 1000].map((tokens) => ({
    name: `turn, short_term ${tokens.toLocaleString("en")}`,
    whole: "turn" as const,
    shortTerm: hybrid(tokens),
  })),
  ...(["turn", "last_step"] as const).flatMap((whole) =>
    [32_000, 16_000, 8000, 4000, 2000].map((budget) => ({
      name: `${whole}, ${fixed(budget).name}`,
      whole,
      budget,
      shortTerm: hybrid(8000),
    })),
  ),
];

interface Sent {
  tokens: number;
  cached: number;
  /** Calls that write an answer again. */
  second: number;
  secondTokens: number;
}

/**
 * Prints what settings cost at every reply of the threads, the system prompt included, where a provider charges a part of
 * the price for the prompt's beginning that the call before had: tokens, the part that was sent before, answers that
 * `needsSynthesis` writes again, and the cost of input and of those second calls over that of the raw history.
 */
export function printTrade(title: string, threads: readonly Thread[], asked: Asked): void {
  const raw = total(threads, (thread, reply) => ({ main: rawPrompt(thread, reply) }));
  const rows = settings.map((setting) => {
    const { name, ...how } = setting;
    const of = total(threads, (thread, reply) => {
      const { messages, metadata } = contextAt(thread, reply, { ...asked, ...how });
      const main = promptOf(messages);
      if (reply.answer === null) return { main };
      const written = contextAt(thread, reply, { ...asked, ...how, goal: "synthesis" });
      const turn = reply.turn ?? 0;
      const made = { turn, planning: metadata, synthesis: written.metadata };
      return needsSynthesis(made) ? { main, second: promptOf(written.messages) } : { main };
    });
    return [
      name,
      percent(of.tokens / raw.tokens),
      percent(of.cached / of.tokens),
      String(of.second),
      ...prices.map((price) => `${(costOf(of, price) / costOf(raw, price)).toFixed(2)} x`),
    ];
  });
  const replies = threads.reduce((all, thread) => all + thread.replies.length, 0);
  console.log(`\nWhat settings cost, ${title}: ${replies} replies, over the raw history\n`);
  const head = ["", "tokens", "of them cached", "second calls", ...prices.map((p) => `at ${p}`)];
  printTable(head, rows);
}

/** A thread whose results have up to 40,000 characters: a turn of ten steps, and the answer. */
export function largeResults(steps: number): Thread {
  const { conversation, steps: records } = generatedThread(steps);
  const messages: DataMessage[] = [{ role: "system", content: "" }];
  for (const [turn, message] of conversation.entries()) {
    if (message.type === "human") {
      messages.push({ role: "user", content: message.text });
      for (const step of records.filter((one) => 2 * one.turn_number === turn)) {
        const calls = step.tool_predictions.map(({ name, args }) => ({
          function: { name, arguments: JSON.stringify(args) },
        }));
        messages.push({ role: "assistant", content: step.thought, tool_calls: calls });
        for (const { result, error } of step.tool_results) {
          const content = error === null ? result : `Error: ${error}`;
          const text = typeof content === "string" ? content : JSON.stringify(content);
          messages.push({ role: "tool", content: text });
        }
      }
    } else messages.push({ role: "assistant", content: message.text });
  }
  return threadOf([{ id: "generated", messages, needed: [] }]);
}

function costOf({ tokens, cached, secondTokens }: Sent, price: number): number {
  return tokens - (1 - price) * cached + secondTokens;
}

function total(
  threads: readonly Thread[],
  promptsOf: (thread: Thread, reply: Reply) => { readonly main: Prompt; readonly second?: Prompt },
): Sent {
  const sent = { tokens: 0, cached: 0, second: 0, secondTokens: 0 };
  for (const thread of threads) {
    let before: Prompt | null = null;
    for (const reply of thread.replies) {
      const { main, second } = promptsOf(thread, reply);
      const { system } = reply.before;
      sent.tokens += system + sum(main.tokens);
      if (before !== null) sent.cached += system + pairOf(before, main).kept;
      before = main;
      if (second === undefined) continue;
      sent.second += 1;
      // Only the system prompt begins both prompts of a step.
      sent.secondTokens += sum(second.tokens) + outputPrice * tokensOf(reply.answer ?? "");
    }
  }
  return sent;
}

function sum(tokens: readonly number[]): number {
  return tokens.reduce((all, one) => all + one, 0);
}
