import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ContextOverflowError } from "../../src/context/reasoning-context.ts";
import type { Asked } from "./curve.ts";
import { pieces, tokensOf, tokensOfAll } from "./counting.ts";
import { contextAt, type Budget } from "./readers.ts";
import { percent, printTable } from "../helpers/table.ts";
import type { Call, Thread } from "./threads.ts";
import { dataPieces } from "./trajectories.ts";

const sections = [
  "user text",
  "answers",
  "thoughts",
  "calls",
  "results whole",
  "previews",
  "results in lines",
  "other text",
  "overflowed",
] as const;
type Section = (typeof sections)[number];
type Tokens = Record<Section, number>;

/**
 * Prints what the tokens of contexts are spent on, over all calls of the threads, as shares of the raw history's.
 * "Other text" is what is neither said nor a tool's message: lines, shortened messages, summaries, marks.
 */
export function printBreakdown(
  title: string,
  threads: readonly Thread[],
  options: {
    readonly asked: Asked;
    readonly budgets: readonly (Budget | undefined)[];
    readonly counts?: (call: Call) => boolean;
  },
): void {
  const { asked, budgets, counts = () => true } = options;
  const at = threads.flatMap((thread) =>
    thread.calls.filter(counts).map((call) => ({ thread, call })),
  );
  const raw = at.reduce((sum, { call }) => sum + call.before.tokens, 0);
  const rows = [rowOf("raw history", at.map(rawSections))];
  for (const budget of budgets) {
    const made = at.map(({ thread, call }) => ours(thread, call, { asked, budget }));
    rows.push(rowOf(budget?.name ?? "no budget", made));
  }
  console.log(`\nWhere the tokens go, ${title}: shares of the raw history's ${raw} tokens\n`);
  printTable(["", "all", ...sections], rows);

  function rowOf(name: string, made: readonly Tokens[]): string[] {
    const sums = sections.map((section) => made.reduce((sum, one) => sum + one[section], 0) / raw);
    return [name, ...[sums.reduce((a, b) => a + b, 0), ...sums].map(percent)];
  }
}

function rawSections({ thread, call }: { thread: Thread; call: Call }): Tokens {
  const tokens = none();
  for (const message of thread.raw.slice(0, call.before.messages)) {
    const [text = "", ...calls] = dataPieces(message);
    if (message.role === "user") tokens["user text"] += tokensOf(text);
    else if (message.role === "tool") tokens["results whole"] += tokensOf(text);
    else tokens[message.tool_calls === undefined ? "answers" : "thoughts"] += tokensOf(text);
    tokens.calls += tokensOfAll(calls);
  }
  return tokens;
}

function ours(
  thread: Thread,
  call: Call,
  options: { asked: Asked; budget: Budget | undefined },
): Tokens {
  const { asked, budget } = options;
  const limit = budget && { budget: budget.tokens(call) };
  try {
    const { messages, metadata } = contextAt(thread, call, { ...asked, ...limit });
    const fidelity = new Map(
      metadata.steps.map((step) => [`${step.turn}.${step.step}`, step.fidelity]),
    );
    const byCall = new Map(
      thread.steps.flatMap((step) =>
        step.tool_predictions.map(
          ({ id }) => [id, fidelity.get(`${step.turn_number}.${step.step_index}`)] as const,
        ),
      ),
    );
    const said = new Set(thread.conversation.map((message) => message.text));
    return sectionsOf(messages, said, (id) => byCall.get(id));
  } catch (error) {
    if (!(error instanceof ContextOverflowError)) throw error;
    return { ...none(), overflowed: call.before.tokens };
  }
}

function sectionsOf(
  messages: readonly BaseMessage[],
  said: ReadonlySet<string>,
  fidelityOf: (callId: string) => string | undefined,
): Tokens {
  const tokens = none();
  for (const message of messages) {
    const [text = "", ...calls] = pieces(message);
    tokens.calls += tokensOfAll(calls);
    tokens[sectionOf(message, calls.length > 0, said, fidelityOf)] += tokensOf(text);
  }
  return tokens;
}

function sectionOf(
  message: BaseMessage,
  hasCalls: boolean,
  said: ReadonlySet<string>,
  fidelityOf: (callId: string) => string | undefined,
): Section {
  if (ToolMessage.isInstance(message)) {
    const fidelity = fidelityOf(message.tool_call_id);
    if (fidelity === "whole") return "results whole";
    return fidelity === "line" ? "results in lines" : "previews";
  }
  if (hasCalls) return "thoughts";
  if (!said.has(message.text)) return "other text";
  if (HumanMessage.isInstance(message)) return "user text";
  return AIMessage.isInstance(message) ? "answers" : "other text";
}

function none(): Tokens {
  return Object.fromEntries(sections.map((section) => [section, 0])) as Tokens;
}
