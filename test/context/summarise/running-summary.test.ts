import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { earlierTurns } from "../../../src/context/summarise/turns.ts";
import { coverage, validSummary } from "../../../src/context/summarise/running-summary.ts";
import type { RunningSummary } from "../../../src/state/channels.ts";
import { history } from "../short-term/histories.ts";

const summary = (covers: RunningSummary["covers"]): RunningSummary => ({
  text: "They asked twice.",
  covers,
  model: "test:model",
  at: "2026-01-01T00:00:00.000Z",
});

describe("earlier turns", () => {
  it("have what was asked, done and answered, without the turn under way", () => {
    const state = history(2);
    expect(
      earlierTurns(state).map(({ asked, steps, answered }) => [
        asked.map(({ text }) => text),
        steps.map(({ thought }) => thought),
        answered.map(({ text }) => text),
      ]),
    ).toEqual([
      [["request 0"], ["look it up", "answer 0"], ["answer 0"]],
      [["request 1"], ["look it up", "answer 1"], ["answer 1"]],
    ]);
    expect(earlierTurns({ messages: [], steps: [], turn_number: undefined })).toEqual([]);
  });

  it("are counted from the end, so that messages from before the thread belong to the first", () => {
    const { messages } = history(3);
    const [first, second] = earlierTurns({ messages, steps: [], turn_number: 1 });
    expect(first?.asked.map(({ text }) => text)).toEqual(["request 0", "request 1", "request 2"]);
    expect(second).toBeUndefined();
  });
});

describe("a summary", () => {
  const state = history(3);
  const covers = { turns: 2, steps: 4, messages: 4 };

  it("says what it covers", () => {
    expect(coverage(state, 2)).toEqual(covers);
  });

  it("is valid while what it covers is there", () => {
    const valid = summary(covers);
    expect(validSummary(valid, state)).toBe(valid);
    expect(validSummary(valid, history(7))).toBe(valid);
  });

  it.each([
    ["the turn under way", { turns: 4, steps: 4, messages: 4 }],
    ["nothing", { turns: 0, steps: 0, messages: 0 }],
    ["more steps than there are", { turns: 2, steps: 5, messages: 4 }],
    ["fewer messages than there are", { turns: 2, steps: 4, messages: 3 }],
  ])("is none where it covers %s", (_what, wrong) => {
    expect(validSummary(summary(wrong), state)).toBeNull();
  });

  it("is none where the state was edited", () => {
    const { messages, steps } = state;
    expect(validSummary(summary(covers), { ...state, steps: steps.slice(1) })).toBeNull();
    expect(validSummary(summary(covers), { ...state, messages: messages.slice(2) })).toBeNull();
    expect(validSummary(summary(covers), { ...state, turn_number: 1 })).toBeNull();
    const inserted = [...messages.slice(0, 1), new HumanMessage("too"), ...messages.slice(1)];
    expect(validSummary(summary(covers), { ...state, messages: inserted })).toBeNull();
    expect(validSummary(null, state)).toBeNull();
    expect(validSummary(undefined, state)).toBeNull();
  });
});
