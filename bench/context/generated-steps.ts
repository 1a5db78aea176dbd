import { HumanMessage, AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../../src/state/step-record.ts";
import { noUsage } from "../../src/state/usage.ts";
import { randomNumbers } from "../helpers/random-numbers.ts";

export interface GeneratedThread {
  readonly conversation: readonly BaseMessage[];
  readonly steps: readonly StepRecord[];
}

/** Steps of one turn; then it is answered, and the next one begins. */
const stepsOfTurn = 10;

/**
 * A thread of so many steps, new objects at every call and the same texts: results of 100 characters up to 40,000, most
 * of them small, one of twenty a failure. The last turn is under way.
 */
export function generatedThread(count: number): GeneratedThread {
  const random = randomNumbers(7);
  const conversation: BaseMessage[] = [];
  const steps: StepRecord[] = [];
  for (let number = 0; number < count; number += 1) {
    const index = number % stepsOfTurn;
    const turn = (number - index) / stepsOfTurn;
    if (index === 0) {
      if (turn > 0) conversation.push(new AIMessage(prose(random, 60)));
      conversation.push(new HumanMessage(prose(random, 40)));
    }
    steps.push(stepOf(number, { turn, index }, random));
  }
  return { conversation, steps };
}

const words =
  "flight hotel invoice customer region the of with and report total status open order delay refund city ticket plan".split(
    " ",
  );

function prose(random: () => number, count: number): string {
  const text = Array.from({ length: count }, () => words[Math.floor(random() * words.length)]);
  return `${text.join(" ")}.`;
}

/** About 130 characters as JSON. */
function item(random: () => number, number: number) {
  return {
    id: `ITEM-${Math.floor(random() * 1e9).toString(36)}`,
    number,
    title: prose(random, 6),
    price: Math.round(random() * 100_000) / 100,
    url: `https://example.com/items/${Math.floor(random() * 1e6)}`,
  };
}

function resultOf(random: () => number): unknown {
  const kind = random();
  if (kind < 0.2) return prose(random, 20 + Math.floor(random() * 400));
  if (kind < 0.6) return item(random, 0);
  const items = kind < 0.93 ? 3 + Math.floor(random() * 30) : 50 + Math.floor(random() * 250);
  return { total: items, items: Array.from({ length: items }, (_, at) => item(random, at)) };
}

function stepOf(
  number: number,
  at: { readonly turn: number; readonly index: number },
  random: () => number,
): StepRecord {
  const call = {
    id: `call-${number}`,
    name: ["search", "get_order", "read_file", "list_items"][number % 4] as string,
    args: { query: prose(random, 4), page: number % 7 },
  };
  const failed = number % 20 === 13;
  return {
    turn_number: at.turn,
    attempt_number: 0,
    step_index: at.index,
    node: "reason",
    timestamp: new Date(Date.UTC(2024, 0, 1) + 1000 * number).toISOString(),
    mode: "fast",
    thought: prose(random, 25),
    planning: "",
    reflection: "",
    approach: "",
    next_action: "use_tools",
    tool_predictions: [{ ...call, reason: "" }],
    tool_results: [
      {
        ...call,
        result: failed ? null : resultOf(random),
        error: failed ? `not found: ${prose(random, 8)}` : null,
        outcome: failed ? "failure" : "success",
        execution_time_ms: 12,
        insights: "",
        learning: "",
        relevance: "",
      },
    ],
    concurrent_execution: false,
    synthesis: "",
    progress: "",
    hypothesis: null,
    problem: "",
    usage: noUsage,
    model: "bench:o200k",
    fallback: null,
  };
}
