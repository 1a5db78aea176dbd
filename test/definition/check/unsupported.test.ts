import { describe, expect, it } from "vitest";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { unsupportedProblems } from "../../../src/definition/check/check-definition.ts";

const problemsOf = (written: unknown) => unsupportedProblems(written).map(describeProblem);

describe("unsupportedProblems", () => {
  it.each([
    [
      { memory_config: { long_term: { enabled: true } } },
      "memory_config.long_term.enabled: not run by this version; set it to false",
    ],
    [
      { memory_config: { procedural: { enabled: true } } },
      "memory_config.procedural.enabled: not run by this version; set it to false",
    ],
  ])("refuses %j by name", (written, problem) => {
    expect(problemsOf(written)).toEqual([problem]);
  });

  it("accepts what is run, and what asks for nothing, written out", () => {
    expect(
      problemsOf({
        memory_config: {
          short_term: { max_tokens: 100, strategy: "summarize" },
          long_term: { enabled: false, top_k: 3 },
          procedural: { enabled: false },
        },
        guardrail_config: { input_rails: [], output_rails: [], tool_rails: { allowed_tools: [] } },
        execution_config: { checkpoint_frequency: "manual" },
        tools: ["a"],
        workflow_graph: { nodes: [{ type: "agent" }, { type: "planner" }] },
      }),
    ).toEqual([]);
  });

  it.each([null, 3, [], { tools: 3, memory_config: [], execution_config: null }])(
    "leaves what is no definition (%j) to the schema",
    (written) => {
      expect(problemsOf(written)).toEqual([]);
    },
  );
});
