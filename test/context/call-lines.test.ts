import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  callLines,
  lineText,
  compressActions,
  type CompressOptions,
  InvalidRelevanceError,
} from "../../src/context/call-lines.ts";
import { toActionRecord } from "../../src/state/action-record.ts";
import type { Relevance, ToolOutcome, ToolResult } from "../../src/state/step-record.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

/** One step for each call. */
function compress(calls: readonly Partial<ToolResult>[], options?: CompressOptions): string[] {
  const steps = calls.map((call) => stepRecord({ tool_results: [toolResult(call)] }));
  return compressActions(steps.map(toActionRecord), options);
}

describe("compressActions", () => {
  it("gives a call without an insight its basic form", () => {
    expect(compress([{}])).toEqual(['search(query="python tutorial") → success']);
  });

  it("renders arguments readably and shortens long ones", () => {
    const args = { say: 'a "b"\nc', n: 3, on: true, list: [1, { a: null }], long: "x".repeat(100) };
    expect(compress([{ name: "f", args }])).toEqual([
      `f(say="a \\"b\\"\\nc", n=3, on=true, list=[1,{"a":null}], long="${"x".repeat(80)}"… [cut: 20 more characters]) → success`,
    ]);
    expect(compress([{ name: "f", args: {} }])).toEqual(["f() → success"]);
    expect(compress([{ name: "f", args: { list: ["y".repeat(90)] } }])).toEqual([
      `f(list=["${"y".repeat(78)}… [cut: 14 more characters]) → success`,
    ]);
  });

  it("gives the insight itself where there is one", () => {
    expect(compress([{ insights: "The docs moved\n  to /v2.", relevance: "high" }])).toEqual([
      "The docs moved to /v2.",
    ]);
  });

  it.each<[Relevance | undefined, string[]]>([
    [undefined, ["high", "medium", "unrated"]],
    ["high", ["high", "unrated"]],
    ["medium", ["high", "medium", "unrated"]],
    ["low", ["high", "medium", "low", "unrated"]],
  ])("filters insights at relevance %s", (relevance, kept) => {
    const calls = (["high", "medium", "low", ""] as const).map((one) => ({
      insights: one || "unrated",
      relevance: one,
    }));
    expect(compress(calls, relevance && { relevance })).toEqual(kept);
  });

  it("leaves calls of too little relevance out before it looks for insights", () => {
    const calls = [{ relevance: "low" }, { relevance: "" }, { relevance: "high" }] as const;
    expect(compress(calls, { relevance: "high" })).toEqual([
      'search(query="python tutorial") → success (×2)',
    ]);
  });

  it("refuses a relevance that there is none of, and lets calls of such a one pass", () => {
    expect(() => compress([], { relevance: "bogus" as never })).toThrow(
      new InvalidRelevanceError("bogus"),
    );
    const call = { insights: "Use v2.", relevance: "bogus" as never };
    expect(compress([call])).toEqual(["Use v2."]);
  });

  it("takes arguments that are circular or have big integers", () => {
    const circle: Record<string, unknown> = { n: 1 };
    circle["self"] = circle;
    const lines = compress([{ args: circle }, { args: { n: 2n } }, { args: circle }]);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^search\(n=1, self=.+\) → success \(×2\)$/);
    expect(lines[1]).toBe('search(n="2") → success');
  });

  it("keeps calls that did not succeed, with their message", () => {
    const calls = (["failure", "error", "timeout"] as const).map((outcome) => ({
      name: "read",
      args: { path: "a.txt" },
      outcome,
      error: "no such\nfile",
      result: null,
      relevance: "low" as const,
    }));
    expect(compress(calls, { relevance: "high" })).toEqual([
      'read(path="a.txt") → failure: no such file',
      'read(path="a.txt") → error: no such file',
      'read(path="a.txt") → timeout: no such file',
    ]);
  });

  it("adds what was learned from a failure", () => {
    const call = { outcome: "failure", error: "404", result: null, insights: "Use v2." } as const;
    expect(compress([call])).toEqual(['search(query="python tutorial") → failure: 404 [Use v2.]']);
    expect(compress([{ ...call, relevance: "low" }])).toEqual([
      'search(query="python tutorial") → failure: 404',
    ]);
  });

  it("prefers what to do differently, which no relevance filters, to the insight of a failure", () => {
    const call = { outcome: "failure", error: "404", result: null, insights: "It moved." } as const;
    const learned = { ...call, learning: "Use\nv2.", relevance: "low" } as const;
    expect(compress([learned])).toEqual([
      'search(query="python tutorial") → failure: 404 [Use v2.]',
    ]);
  });

  it("escapes control characters", () => {
    const call = { name: "f\u001b[2J", args: { q: "\u0007" }, insights: "" };
    const failed = { outcome: "error", error: "\u001b]0;x", result: null } as const;
    expect(compress([call, { ...call, ...failed }])).toEqual([
      'f\\u001b[2J(q="\\u0007") → success',
      'f\\u001b[2J(q="\\u0007") → error: \\u001b]0;x',
    ]);
  });

  it("counts a call without a recorded result as failed", () => {
    const asked = { id: "c", name: "read", args: {}, reason: "" };
    const step = stepRecord({ tool_predictions: [asked], tool_results: [] });
    expect(compressActions([toActionRecord(step)])).toEqual([
      "read() → error: no result was recorded",
    ]);
  });

  it("folds repeated calls into the first one's line", () => {
    const a = { args: { q: "a", n: 1 } };
    expect(compress([a, { args: { q: "b" } }, { args: { n: 1, q: "a" } }, a])).toEqual([
      'search(q="a", n=1) → success (×3)',
      'search(q="b") → success',
    ]);
  });

  it("does not fold calls that only look alike", () => {
    const long = "x".repeat(80);
    expect(compress([{ args: { q: `${long}a` } }, { args: { q: `${long}b` } }])).toHaveLength(2);
    expect(compress([{ args: {}, insights: "same" }, { insights: "same" }])).toHaveLength(2);
    expect(compress([{}, { outcome: "failure", error: null, result: null }])).toHaveLength(2);
  });

  it("gives a step without calls no line", () => {
    expect(compressActions([toActionRecord(stepRecord())])).toEqual([]);
  });

  it("accounts for every call that is kept, in lines without breaks", () => {
    const call = fc.record({
      name: fc.constantFrom("f", "g"),
      args: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }),
      outcome: fc.constantFrom<ToolOutcome>("success", "failure", "error", "timeout"),
      error: fc.option(fc.string()),
      insights: fc.constantFrom("", "one", "two\nlines"),
      relevance: fc.constantFrom<Relevance | "">("", "high", "medium", "low"),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 12 }), (calls) => {
        const lines = compress(calls);
        const dropped = calls.filter((one) => one.outcome === "success" && one.relevance === "low");
        const counts = lines.map((line) => Number(/ \(×(\d+)\)$/.exec(line)?.[1] ?? 1));
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(calls.length - dropped.length);
        for (const line of lines) expect(line).not.toMatch(/[\r\n]/);
      }),
    );
  });
});

describe("callLines", () => {
  const texts = (call: Partial<ToolResult>): readonly string[] => {
    const step = stepRecord({
      tool_predictions: [{ id: "c", name: "search", args: {}, reason: "" }],
      tool_results: [toolResult({ id: "c", args: {}, result: { id: "A-1234" }, ...call })],
    });
    return callLines(step).map((line) => lineText(line, () => true));
  };

  it("adds insights to the call, and values that another call may need", () => {
    expect(texts({ insights: "one\nhit" })).toEqual(["- search() → success: one hit; id: A-1234"]);
    expect(texts({})).toEqual(["- search() → success; id: A-1234"]);
    expect(texts({ insights: "one hit", relevance: "low" })).toEqual(["- search() → success"]);
  });

  it("renders a failed call as compressActions does", () => {
    fc.assert(
      fc.property(
        fc.record({
          outcome: fc.constantFrom<ToolOutcome>("failure", "error", "timeout"),
          error: fc.string({ unit: anyCharacter, maxLength: 20 }),
          insights: fc.string({ maxLength: 20 }),
          learning: fc.string({ maxLength: 20 }),
          relevance: fc.constantFrom<Relevance | "">("", "high", "medium", "low"),
        }),
        (call) => {
          const failed = { id: "c", args: {}, result: null, ...call };
          expect(texts(failed)).toEqual(compress([failed]).map((line) => `- ${line}`));
        },
      ),
    );
  });
});
