import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ContextOverflowError } from "../../src/context/reasoning-context.ts";
import { pieces, tokensOfAll } from "./counting.ts";
import type { Asked } from "./curve.ts";
import { median } from "../helpers/median.ts";
import { contextAt, type Budget } from "./readers.ts";
import { percent, printTable } from "../helpers/table.ts";
import type { Call, Thread } from "./threads.ts";
import { dataPieces } from "./trajectories.ts";

export interface Prompt {
  /** Each message as it is sent. */
  readonly sent: readonly string[];
  readonly tokens: readonly number[];
}

export interface Pair {
  /** Tokens of the prompt before, of this one, and of the messages that begin both. */
  readonly earlier: number;
  readonly tokens: number;
  readonly kept: number;
  /** Messages of the prompt before, and how many of them this one begins with. */
  readonly messages: number;
  readonly keptMessages: number;
}

/**
 * Prints how much of one call's prompt begins the next call's, byte for byte. Where only the last step of the prompt
 * before is told otherwise (its results become previews), that is a change at the tail; anything further to the front is
 * a compaction. The price counts a token that was sent before as a tenth of one, as providers' caches do about.
 */
export function printPrefix(
  title: string,
  threads: readonly Thread[],
  options: {
    readonly asked: Asked;
    readonly budgets: readonly (Budget | undefined)[];
  },
): void {
  const { asked, budgets } = options;
  const rawPairs = threads.flatMap((thread) => pairsOf(thread, rawPrompt));
  const rows = [row("raw history", rawPairs, rawPairs)];
  for (const budget of budgets) {
    const pairs = threads.flatMap((thread) =>
      pairsOf(thread, (_thread, call) => {
        const limit = budget && { budget: budget.tokens(call) };
        try {
          return promptOf(contextAt(thread, call, { ...asked, ...limit }).messages);
        } catch (error) {
          if (error instanceof ContextOverflowError) return null;
          throw error;
        }
      }),
    );
    rows.push(row(budget?.name ?? "default budget", pairs, rawPairs));
  }
  console.log(
    `\nFrom call to call, ${title}: ${threads.length} threads, ${rawPairs.length} pairs of calls\n`,
  );
  printTable(
    [
      "",
      "pairs",
      "tokens kept",
      "median",
      "messages kept",
      "of the new prompt",
      "whole front kept",
      "tail changes",
      "compactions",
      "a thread",
      "price over raw",
    ],
    rows,
  );

  function row(name: string, pairs: readonly Pair[], raw: readonly Pair[]): string[] {
    const sum = (of: (pair: Pair) => number) => pairs.reduce((total, pair) => total + of(pair), 0);
    const lost = pairs.filter((pair) => pair.keptMessages < pair.messages);
    const compactions = lost.filter((pair) => pair.messages - pair.keptMessages > lastStep).length;
    return [
      name,
      String(pairs.length),
      percent(sum((pair) => pair.kept) / sum((pair) => pair.earlier)),
      percent(median(pairs.map((pair) => pair.kept / Math.max(1, pair.earlier)))),
      percent(sum((pair) => pair.keptMessages) / sum((pair) => pair.messages)),
      percent(sum((pair) => pair.kept) / sum((pair) => pair.tokens)),
      String(pairs.length - lost.length),
      String(lost.length - compactions),
      String(compactions),
      (compactions / threads.length).toFixed(2),
      pairs.length === raw.length ? `${(price(pairs) / price(raw)).toFixed(2)} x` : "–",
    ];
  }
}

/** A call's message and its result. */
const lastStep = 2;

function price(pairs: readonly Pair[]): number {
  return pairs.reduce((sum, { tokens, kept }) => sum + tokens - 0.9 * kept, 0);
}

function pairsOf(
  thread: Thread,
  prompt: (thread: Thread, call: Call) => Prompt | null,
): readonly Pair[] {
  const prompts = thread.calls.map((call) => prompt(thread, call));
  return prompts.flatMap((now, at) => {
    const before = prompts[at - 1];
    return now === null || before === undefined || before === null ? [] : [pairOf(before, now)];
  });
}

export function pairOf(before: Prompt, now: Prompt): Pair {
  let kept = 0;
  let keptMessages = 0;
  while (
    keptMessages < before.sent.length &&
    before.sent[keptMessages] === now.sent[keptMessages]
  ) {
    kept += before.tokens[keptMessages] ?? 0;
    keptMessages += 1;
  }
  const sum = (tokens: readonly number[]) => tokens.reduce((a, b) => a + b, 0);
  return {
    earlier: sum(before.tokens),
    tokens: sum(now.tokens),
    kept,
    messages: before.sent.length,
    keptMessages,
  };
}

export function rawPrompt(thread: Thread, call: Pick<Call, "before">): Prompt {
  const messages = thread.raw.slice(0, call.before.messages).map((message) => ({
    sent: JSON.stringify(message),
    tokens: tokensOfAll(dataPieces(message)),
  }));
  return { sent: messages.map(({ sent }) => sent), tokens: messages.map(({ tokens }) => tokens) };
}

export function promptOf(messages: readonly BaseMessage[]): Prompt {
  return {
    sent: messages.map((message) =>
      JSON.stringify([
        message.type,
        message.content,
        AIMessage.isInstance(message) ? message.tool_calls : undefined,
        ToolMessage.isInstance(message) ? [message.tool_call_id, message.status] : undefined,
      ]),
    ),
    tokens: messages.map((message) => tokensOfAll(pieces(message))),
  };
}
