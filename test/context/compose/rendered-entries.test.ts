import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { buildReasoningContext } from "../../../src/context/build-reasoning-context.ts";
import { level } from "../../../src/context/compose/fit.ts";
import { RenderedBody } from "../../../src/context/compose/context-fold.ts";
import type { RenderedEntries } from "../../../src/context/compose/rendered-entries.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

it("gives no heading to a turn of which nothing is left to say", () => {
  const words = "word ".repeat(60);
  const turns = [0, 1, 2, 3, 4, 5, 6, 7];
  const steps = turns.map((turn_number) => {
    const rows = Array.from({ length: 20 }, (_, at) => ({ id: `R-${turn_number}${at}`, size: at }));
    const result = toolResult({ id: `call-${turn_number}`, result: rows });
    const { id, name, args } = result;
    return stepRecord({
      turn_number,
      tool_predictions: [{ id, name, args, reason: "" }],
      tool_results: [result],
    });
  });
  const conversation = turns.flatMap((turn) => [
    new HumanMessage(`Question ${turn}: ${words}`),
    ...(turn < 7 ? [new AIMessage(`Answer ${turn}: ${words}`)] : []),
  ]);
  const digests = [500, 600, 700, 800, 900, 1000].flatMap((budget) => {
    const { messages } = buildReasoningContext({
      model: "openai:gpt-4o",
      conversation,
      steps,
      goal: "planning",
      budget,
    });
    return messages.map(({ text }) => text).filter((text) => /^Turn \d+$/m.test(text));
  });
  expect(digests).not.toEqual([]);
  expect(digests.filter((text) => /^Turn \d+(\nTurn|$(?!\n))/m.test(text))).toEqual([]);
});

/** What tells of a step in one line. */
function lineMessage(line: string) {
  const told: Pick<RenderedEntries, "entry" | "lines"> = {
    entry: () => ({ kind: "step", turn: 0, step: stepRecord({}) }),
    lines: () => [line],
  };
  const fit = { levels: [level.line], tokens: 0, from: 0, lastStep: 0 };
  return new RenderedBody(told as RenderedEntries).update(fit, 0).messages[0];
}

it("makes a message that tells of steps once, until longer ones than are remembered came between", () => {
  const first = lineMessage("first");
  lineMessage("a".repeat(1_500_000));
  expect(lineMessage("first")).toBe(first);
  lineMessage("b".repeat(1_500_000));
  const again = lineMessage("first");
  expect(again).not.toBe(first);
  expect(again?.text).toBe(first?.text);
});

it("shows as many items of a large last result as its share of the budget holds", () => {
  const rows = Array.from({ length: 3000 }, (_, at) => `row-${at}`);
  const result = toolResult({ id: "call", result: rows });
  const { id, name, args } = result;
  const { messages } = buildReasoningContext({
    model: "openai:gpt-4o",
    conversation: [new HumanMessage("Which rows?")],
    steps: [
      stepRecord({
        turn_number: 0,
        tool_predictions: [{ id, name, args, reason: "" }],
        tool_results: [result],
      }),
    ],
    goal: "planning",
    budget: 2000,
  });
  const shown = messages.map(({ text }) => text).join("\n");
  expect(shown.match(/row-\d+/g)?.length).toBeGreaterThan(50);
});
