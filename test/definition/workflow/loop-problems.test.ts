import { describe, expect, it } from "vitest";
import { loopProblems } from "../../../src/definition/workflow/problems.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { workflowProblemsOf } from "../../helpers/definition-problems.ts";

const nodes = ["ask", "check", "answer"].map((name) => ({ name, type: "llm" }));
const ways = "ask > check; check > ask | check | answer; answer > END";

describe("loops", () => {
  it("need a bound that the definition writes, said for each where it closes", () => {
    expect(workflowProblemsOf({ nodes, ways })).toEqual([
      "workflow_graph.edges[1]: the loop ask → check → ask has no bound; write execution_config.max_iterations",
      "workflow_graph.edges[2]: the loop check → check has no bound; write execution_config.max_iterations",
    ]);
    expect(
      workflowProblemsOf({ nodes, ways }, { execution_config: { mode: "fast" } }),
    ).toHaveLength(2);
  });

  it("are taken with one", () => {
    expect(
      workflowProblemsOf({ nodes, ways }, { execution_config: { max_iterations: 10 } }),
    ).toEqual([]);
  });

  it("with a bound that is none are refused for that only", () => {
    expect(
      workflowProblemsOf({ nodes, ways }, { execution_config: { max_iterations: 0 } }),
    ).toEqual(["execution_config.max_iterations: expected at least 1 (found 0)"]);
  });

  it("are no matter where there are none", () => {
    expect(workflowProblemsOf({ nodes })).toEqual([]);
  });

  it("of many nodes are named at both ends, and of many loops the first", () => {
    const getNodes = () => Array.from({ length: 12 }, (_, index) => `n${index}`);
    const loops = Array.from({ length: 52 }, (_, edge) => ({ edge, getNodes }));
    const problems = loopProblems({ loops }, undefined).map(describeProblem);
    expect(problems[0]).toBe(
      "workflow_graph.edges[0]: the loop n0 → n1 → n2 → n3 → … 5 more … → n9 → n10 → n11 → n0 has no bound; write execution_config.max_iterations",
    );
    expect(problems[50]).toBe(
      "workflow_graph.edges: 2 more loops have no bound; write execution_config.max_iterations",
    );
    expect(problems).toHaveLength(51);
  });
});
