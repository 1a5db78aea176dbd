import { describe, expect, it } from "vitest";
import { workflowProblemsOf } from "../../helpers/definition-problems.ts";

const llm = (name: string, tools?: unknown) => ({ name, type: "llm", config: { tools } });
const route = {
  name: "route",
  type: "router",
  config: { rules: [{ when: "last.tool_calls.size() > 0", choice: "run" }], default: "end" },
};
const run = { name: "run", type: "tool" };
const parts = { tools: ["search"], execution_config: { max_iterations: 5 } };

describe("calls that a model asks for", () => {
  it("come to a tool node that runs them, directly or past other nodes", () => {
    const loop = "think > run | END; run > think";
    expect(workflowProblemsOf({ nodes: [llm("think"), run], ways: loop }, parts)).toEqual([]);
    expect(workflowProblemsOf({ nodes: [llm("think", "all"), run], ways: loop }, parts)).toEqual(
      [],
    );
    const nodes = [llm("think", ["search"]), route, run];
    const ways = "think > route; route > run | END; run > think";
    expect(workflowProblemsOf({ nodes, ways }, parts)).toEqual([]);
  });

  it("are refused where no tool node comes before the next llm node", () => {
    const nodes = [llm("think", "all"), llm("write", "none")];
    expect(workflowProblemsOf({ nodes }, parts)).toEqual([
      'workflow_graph.nodes[0].config.tools: no way leads from "think" to a tool node that runs the calls it asks for, before the next llm node; add one without config.tool',
    ]);
    const far = [llm("think", ["search"]), llm("write"), run];
    expect(workflowProblemsOf({ nodes: far }, parts)).toEqual([
      'workflow_graph.nodes[0].config.tools: no way leads from "think" to a tool node that runs the calls it asks for, before the next llm node; add one without config.tool',
    ]);
  });

  it("are not served by a tool node that runs a tool of its own", () => {
    const named = { name: "look", type: "tool", config: { tool: "search" } };
    expect(workflowProblemsOf({ nodes: [llm("think", "all"), named] }, parts)).toHaveLength(1);
    expect(workflowProblemsOf({ nodes: [llm("think"), named] }, parts)).toEqual([]);
  });

  it("are none where there are no tools", () => {
    expect(workflowProblemsOf({ nodes: [llm("think", "all")] })).toEqual([]);
    expect(workflowProblemsOf({ nodes: [llm("think", [])] }, parts)).toEqual([]);
  });
});

describe("a tool node that runs calls", () => {
  it("has an llm node before it that offers tools", () => {
    const problem =
      "runs calls of llm nodes, but none that offers tools leads to it; offer tools there, or name one in config.tool";
    expect(workflowProblemsOf({ nodes: [llm("think", "none"), run] }, parts)).toEqual([
      `workflow_graph.nodes[1]: "run" ${problem}`,
    ]);
    expect(workflowProblemsOf({ nodes: [llm("think"), route, run] }, parts)).toEqual([
      `workflow_graph.nodes[2]: "run" ${problem}`,
    ]);
    expect(workflowProblemsOf({ nodes: [run] }, parts)).toEqual([
      `workflow_graph.nodes[0]: "run" ${problem}`,
    ]);
  });

  it("needs tools in the definition", () => {
    expect(workflowProblemsOf({ nodes: [llm("think"), run] })).toEqual([
      'workflow_graph.nodes[1]: "run" runs calls of llm nodes, but the definition names no tools',
    ]);
  });

  it("is not judged beside a node that cannot be read", () => {
    const nodes = [{ name: "think", type: "lm" }, run];
    expect(workflowProblemsOf({ nodes }, parts)).toEqual([
      'workflow_graph.nodes[0].type: not one of the allowed values (found "lm"; allowed: llm, tool, router, human, wait, agent, planner; did you mean "llm"?)',
    ]);
  });
});
