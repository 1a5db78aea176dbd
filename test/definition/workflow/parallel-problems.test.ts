import { describe, expect, it } from "vitest";
import { workflowProblemsOf } from "../../helpers/definition-problems.ts";

const llm = (name: string, writes?: string) => ({ name, type: "llm", config: { writes } });
const bounded = { execution_config: { max_iterations: 3 } };

describe("nodes that write the same key", () => {
  const nodes = [
    llm("plan_it"),
    llm("left", "execution.found"),
    llm("right", "execution.found"),
    llm("join", "execution.found"),
  ];

  it("in parallel are refused, at the later one", () => {
    const ways = "plan_it > left right; left > join; right > join; join > END";
    expect(workflowProblemsOf({ nodes, ways })).toEqual([
      'workflow_graph.nodes[2].config.writes: "right" and "left" may run in parallel and both write execution.found; give each a key of its own, or name a merge for it in state_config.merge',
    ]);
  });

  it("in parallel are taken where the key has a merge", () => {
    const ways = "plan_it > left right; left > join; right > join; join > END";
    const state_config = { merge: { "execution.found": "append" } };
    expect(workflowProblemsOf({ nodes, ways }, { state_config })).toEqual([]);
  });

  it("one after the other, or one or the other, are taken", () => {
    expect(workflowProblemsOf({ nodes })).toEqual([]);
    const either = "plan_it > left | right; left > join; right > join; join > END";
    expect(workflowProblemsOf({ nodes, ways: either })).toEqual([]);
  });

  it("may write keys of other names, or of the other tier", () => {
    const others = [
      llm("plan_it"),
      llm("left", "execution.found"),
      llm("right", "attempt.found"),
      llm("middle", "execution.left"),
      llm("join"),
    ];
    const ways =
      "plan_it > left right middle; left > join; right > join; middle > join; join > END";
    expect(workflowProblemsOf({ nodes: others, ways })).toEqual([]);
  });

  it("are refused where a branch comes round a loop while another goes on", () => {
    const round = [llm("lead"), llm("go", "execution.x"), llm("on"), llm("back", "execution.x")];
    const ways = "lead > go back | END; back > lead; go > on; on > END";
    expect(workflowProblemsOf({ nodes: round, ways, output: "x" }, bounded)).toEqual([
      'workflow_graph.nodes[3].config.writes: "back" and "go" may run in parallel and both write execution.x; give each a key of its own, or name a merge for it in state_config.merge',
    ]);
  });
});

describe("a workflow that ends on several branches", () => {
  const nodes = [llm("first"), llm("left"), llm("right")];

  it("says what its output is", () => {
    const ways = "first > left right; left > END; right > END";
    expect(workflowProblemsOf({ nodes, ways })).toEqual([
      'workflow_graph: "left" and "right" may both come to END, on branches of their own; write workflow_graph.output to say what the output is',
    ]);
    expect(workflowProblemsOf({ nodes, ways, output: "${nodes.left.text}" })).toEqual([]);
  });

  it("may have one that ends at once", () => {
    const ways = "first > left END; left > right; right > END";
    expect(workflowProblemsOf({ nodes, ways })).toEqual([
      'workflow_graph: a branch may come to END while "left" is under way on another; write workflow_graph.output to say what the output is',
    ]);
  });

  it("need not say it where they meet before, or where only one is taken", () => {
    expect(
      workflowProblemsOf({ nodes, ways: "first > left right; left > right; right > END" }),
    ).toEqual([]);
    expect(
      workflowProblemsOf({ nodes, ways: "first > left | right; left > END; right > END" }),
    ).toEqual([]);
  });

  it("need not say it where branches meet at the lead that sent them out", () => {
    const ways = "first > left right | END; left > first; right > first";
    expect(workflowProblemsOf({ nodes, ways }, bounded)).toEqual([]);
  });
});
