import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { earlierTurns, isSurelyWithin, turnSizes } from "../../../src/context/summarise/turns.ts";
import { history } from "../short-term/histories.ts";

/** A token a word. */
const words = (text: string) => text.split(/\s+/).filter(Boolean).length;

describe("the sizes of turns", () => {
  it("have each message and each step, as it was or as a line; an answer is counted once", () => {
    const turns = earlierTurns(history(2, (turn) => "hit ".repeat(100 * (turn + 1))));
    // "request 0", "answer 0" and, of a step, its thought and report, with 4 tokens around each.
    const messages = 2 + 4 + 2 + 4;
    const thought = 3 + 4;
    const report = (hits: number) =>
      4 + "What the tools gave:\n- search(...):".split(/\s/).length + hits;
    expect(turnSizes(turns, { form: "whole", count: words })).toEqual([
      messages + thought + report(100),
      messages + thought + report(200),
    ]);
    // `- search(query="q0") → success`
    expect(turnSizes(turns, { form: "lines", count: words })).toEqual([
      messages + 4 + 4,
      messages + 4 + 4,
    ]);
  });

  it("are counted once for each counter", () => {
    const turns = earlierTurns(history(3));
    let calls = 0;
    const count = (text: string) => {
      calls += 1;
      return text.length;
    };
    const first = turnSizes(turns, { form: "whole", count });
    const before = calls;
    expect(turnSizes(turns, { form: "whole", count })).toEqual(first);
    expect(calls).toBe(before);
    expect(turnSizes(turns, { form: "whole", count: words })).not.toEqual(first);
  });
});

describe("what is surely within a limit", () => {
  it("is what has no more bytes", () => {
    const turns = earlierTurns(history(1));
    const bytes = (form: "whole" | "lines") =>
      turnSizes(turns, { form, count: (text) => Buffer.byteLength(text) })[0] as number;
    for (const form of ["whole", "lines"] as const) {
      expect(isSurelyWithin(turns, { form, maxTokens: bytes(form) })).toBe(true);
      expect(isSurelyWithin(turns, { form, maxTokens: bytes(form) - 1 })).toBe(false);
    }
    expect(bytes("lines")).toBeLessThan(bytes("whole"));
    expect(isSurelyWithin([], { form: "whole", maxTokens: 1 })).toBe(true);
  });

  it("is nothing that holds more than text", () => {
    const picture = new HumanMessage({ content: [{ type: "image_url", image_url: "x:y" }] });
    const turns = [{ asked: [picture], steps: [], answered: [] }];
    expect(isSurelyWithin(turns, { form: "whole", maxTokens: 1e9 })).toBe(false);
  });
});
