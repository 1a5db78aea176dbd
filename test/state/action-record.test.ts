import { describe, expect, it } from "vitest";
import { toActionRecord, toActionRecords } from "../../src/state/action-record.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

function shown(over: Parameters<typeof toolResult>[0]): string | undefined {
  return toActionRecord(stepRecord({ tool_results: [toolResult(over)] })).tool_calls[0]?.result;
}

describe("toActionRecord", () => {
  it("has the fields of the compact record and no others", () => {
    const step = stepRecord({
      step_index: 4,
      mode: "deep",
      planning: "search first",
      reflection: "it helped",
      approach: "top down",
      synthesis: "found the source",
      progress: "advancing",
      hypothesis: { belief: "it is a leak", test: "watch the heap" },
      tool_results: [toolResult({ insights: "i", learning: "l", relevance: "high" })],
    });
    expect(toActionRecord(step)).toEqual({
      iteration: 4,
      timestamp: "2026-01-02T03:04:05.678Z",
      mode: "deep",
      thinking: "look it up",
      planning: "search first",
      reflection: "it helped",
      approach: "top down",
      tool_calls: [
        {
          name: "search",
          args: { query: "python tutorial" },
          result: "3 hits",
          outcome: "success",
          execution_time_ms: 12,
          insights: "i",
          learning: "l",
          relevance: "high",
        },
      ],
      synthesis: "found the source",
      progress: "advancing",
      hypothesis: { belief: "it is a leak", test: "watch the heap" },
    });
  });

  it("renders a result that is no text as JSON", () => {
    expect(shown({ result: { hits: [1, "two"] } })).toBe('{"hits":[1,"two"]}');
    expect(shown({ result: null })).toBe("null");
  });

  it("keeps 1,000 characters and says how many it cut", () => {
    expect(shown({ result: "x".repeat(1000) })).toBe("x".repeat(1000));
    expect(shown({ result: "x".repeat(1001) })).toBe(
      `${"x".repeat(1000)}… [cut: 1 more characters]`,
    );
    expect(shown({ result: ["x".repeat(2000)] })).toBe(
      `["${"x".repeat(998)}… [cut: 1,004 more characters]`,
    );
  });

  it("does not cut within a surrogate pair", () => {
    const kept = "x".repeat(999);
    expect(shown({ result: `${kept}😀` })).toBe(`${kept}… [cut: 2 more characters]`);
  });

  it("stops counting in a result that is far too large", () => {
    const result = { rows: Array.from({ length: 500_000 }, (_, id) => ({ id })) };
    expect(shown({ result })).toMatch(/… \[cut: more than 63,\d{3} more characters\]$/);
  });

  it("shows the error of a call that did not succeed, then what it gave", () => {
    const failed = { outcome: "failure", error: "exit code 1", result: null } as const;
    expect(shown(failed)).toBe("exit code 1");
    expect(shown({ ...failed, result: { stderr: "no such file" } })).toBe(
      'exit code 1\n{"stderr":"no such file"}',
    );
    expect(shown({ ...failed, error: null })).toBe("");
    expect(shown({ ...failed, error: "e".repeat(1200) })).toBe(
      `${"e".repeat(1000)}… [cut: 200 more characters]`,
    );
  });
});

describe("toActionRecords", () => {
  it("shows with each result what later steps noted on it", () => {
    const search = stepRecord({ tool_results: [toolResult({ id: "a" })] });
    const note = { id: "a", insights: "12 hits", learning: "", relevance: "high" } as const;
    const records = toActionRecords([search, stepRecord({ step_index: 1, observations: [note] })]);
    expect(records[0]?.tool_calls[0]).toMatchObject({ insights: "12 hits", relevance: "high" });
    expect(records[1]).not.toHaveProperty("observations");
  });
});
