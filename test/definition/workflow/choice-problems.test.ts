import { describe, expect, it } from "vitest";
import { workflowProblemsOf } from "../../helpers/definition-problems.ts";

const byRule = {
  name: "route",
  type: "router",
  config: { rules: [{ when: "attempt_number > 0", choice: "again" }], default: "first" },
};
const byModel = {
  name: "ask-model",
  type: "router",
  config: { choices: [{ name: "question", description: "It asks." }] },
};

const problemsOf = (condition: string) =>
  workflowProblemsOf({
    nodes: [byRule, byModel],
    edges: [
      { from: "route", to: "END", condition },
      { from: "route", to: "ask-model" },
      { from: "ask-model", to: "END" },
    ],
  });

describe("a condition on a router's choice", () => {
  it.each([
    'nodes.route.choice == "again"',
    'nodes["route"].choice != "first"',
    'nodes["ask-model"].choice in ["question"]',
    'nodes.route.reason == "whatever"',
    'last.text == "nodes.route.choice == \\"x\\""',
    "nodes.route.choice == last.text",
  ])("may be %s", (condition) => {
    expect(problemsOf(condition)).toEqual([]);
  });

  it("compares with choices that are made", () => {
    expect(problemsOf('nodes.route.choice == "agian"')).toEqual([
      `workflow_graph.edges[0].condition: condition 'nodes.route.choice == "agian"' at character 23: "route" never makes this choice (found "agian"; allowed: again, first; did you mean "again"?)`,
    ]);
    expect(problemsOf('steps.exists(s, "x" == nodes.route.choice) || 1 > 2')).toEqual([
      `workflow_graph.edges[0].condition: condition 'steps.exists(s, "x" == nodes.route.choice) || 1 > 2' at character 17: "route" never makes this choice (found "x"; allowed: again, first)`,
    ]);
    expect(problemsOf('!(nodes["ask-model"].choice in ["question", "order"])')).toEqual([
      `workflow_graph.edges[0].condition: condition '!(nodes["ask-model"].choice in ["question", "order"])' at character 45: "ask-model" never makes this choice (found "order"; allowed: question)`,
    ]);
  });
});
