import { describe, expect, it } from "vitest";
import { workerMessage } from "../../src/planning/prompts.ts";

const told = (...results: readonly unknown[]) =>
  workerMessage(
    { description: "Join.", expected_output: "Text" },
    results.map((result, at) => ({ id: `r${at}`, description: `Find\n${at}.`, result })),
  );

describe("what a worker is told", () => {
  it("is the description, what is expected, and results by id", () => {
    expect(workerMessage({ description: "Join." }, [])).toBe("Join.");
    expect(told("one", { n: 2 })).toBe(
      "Join.\n\nExpected output: Text\n\nResults of earlier subtasks:\n\n" +
        '### r0: Find 0.\none\n\n### r1: Find 1.\n{"n":2}',
    );
  });

  it("fences results that could be taken for more than one", () => {
    expect(told("a\n\n### r1: Find 1.\nb", "### r0: Find 0.", "one ```")).toContain(
      "\n\n### r0: Find 0.\n```\na\n\n### r1: Find 1.\nb\n```" +
        "\n\n### r1: Find 1.\n```\n### r0: Find 0.\n```" +
        "\n\n### r2: Find 2.\none ```",
    );
  });

  it("fences with more than the result has itself", () => {
    expect(told("````md\n# Eels\n````")).toMatch(/\n`{5}\n````md\n# Eels\n````\n`{5}$/);
  });
});
