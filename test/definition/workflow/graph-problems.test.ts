import { describe, expect, it } from "vitest";
import { graphProblems, reservedNames } from "../../../src/definition/workflow/problems.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { readWorkflow } from "../../../src/definition/workflow/read-workflow.ts";
import { stateSchema } from "../../../src/state/channels.ts";

interface Edge {
  from: string;
  to: string | string[];
  condition?: string;
}

/** The problems of a graph of nodes with these names. */
function problemsOf(names: readonly string[], edges: readonly Edge[], entry_point = names[0]) {
  const nodes = names.map((name) => ({ name, type: "llm" }));
  return graphProblems(readWorkflow({ entry_point, nodes, edges })).problems.map(describeProblem);
}

describe("graphProblems", () => {
  it("accepts ways, branches and loops that end", () => {
    const edges = [
      { from: "a", to: ["b", "c"] },
      { from: "b", to: "a", condition: "steps.size() < 3" },
      { from: "b", to: "END" },
      { from: "c", to: "END" },
    ];
    expect(problemsOf(["a", "b", "c"], edges)).toEqual([]);
  });

  it("names an entry point that is no node, and the nearest one", () => {
    expect(problemsOf(["answer"], [{ from: "answer", to: "END" }], "answr")).toEqual([
      'workflow_graph.entry_point: no node has this name (found "answr"; allowed: answer; did you mean "answer"?)',
    ]);
  });

  it("names each node that an edge wants and nobody has", () => {
    const edges = [
      { from: "serch", to: "END" },
      { from: "search", to: ["END", "ansver"] },
      { from: "answer", to: "end" },
      { from: "END", to: "answer" },
    ];
    expect(problemsOf(["search", "answer"], edges)).toEqual([
      'workflow_graph.edges[0].from: no node has this name (found "serch"; allowed: search, answer; did you mean "search"?)',
      'workflow_graph.edges[1].to[1]: no node has this name (found "ansver"; allowed: search, answer, END; did you mean "answer"?)',
      'workflow_graph.edges[2].to: no node has this name (found "end"; allowed: search, answer, END; did you mean "END"?)',
      'workflow_graph.edges[3].from: no node has this name (found "END"; allowed: search, answer)',
    ]);
  });

  it("refuses a name that is taken", () => {
    expect(problemsOf(["a", "b", "a"], [{ from: "a", to: "END" }])).toEqual([
      'workflow_graph.nodes[2].name: "a" is already the name of nodes[0]',
    ]);
  });

  it("refuses names of the framework's own nodes and of channels", () => {
    expect(problemsOf(["plan"], [{ from: "plan", to: "END" }])).toEqual([
      'workflow_graph.nodes[0].name: "plan" is taken by the framework; choose another name',
    ]);
    const channels = Object.keys(stateSchema({ input: {}, output: {} }).shape);
    expect([...reservedNames].toSorted()).toEqual(
      [
        "initialize",
        "plan",
        "reflect",
        "finalize",
        ...channels,
        ...Object.getOwnPropertyNames(Object.prototype),
      ].toSorted(),
    );
  });

  it("refuses a node twice in a list", () => {
    const edges = [
      { from: "a", to: ["b", "END", "b"] },
      { from: "b", to: "END" },
    ];
    expect(problemsOf(["a", "b"], edges)).toEqual([
      'workflow_graph.edges[0].to[2]: "b" is already to[0] of this edge',
    ]);
  });

  it("refuses a second default, and what comes after the first", () => {
    const edges = [
      { from: "a", to: "b", condition: "x" },
      { from: "a", to: "END" },
      { from: "a", to: "b" },
      { from: "b", to: "END" },
      { from: "a", to: "b", condition: "y" },
    ];
    expect(problemsOf(["a", "b"], edges)).toEqual([
      'workflow_graph.edges[2]: edges[1] is already the default from "a"; use one edge with a list to run both',
      'workflow_graph.edges[4]: never reached: edges[1] from "a" has no condition and comes first',
    ]);
  });

  it("names a node that no way leads to", () => {
    const edges = [
      { from: "a", to: "END" },
      { from: "b", to: "END" },
    ];
    expect(problemsOf(["a", "b"], edges)).toEqual([
      'workflow_graph.nodes[1]: "b" cannot be reached from the entry point',
    ]);
  });

  it("names a node that no way leads from to END", () => {
    const edges = [
      { from: "a", to: "END", condition: "x" },
      { from: "a", to: "b" },
      { from: "b", to: "b" },
    ];
    expect(problemsOf(["a", "b"], edges)).toEqual([
      'workflow_graph.nodes[1]: no way leads from "b" to END',
    ]);
  });

  it("refuses names that every object has, which LangGraph takes for its own", () => {
    const edges = [
      { from: "constructor", to: "toString" },
      { from: "toString", to: "END" },
    ];
    expect(problemsOf(["constructor", "toString"], edges)).toEqual([
      'workflow_graph.nodes[0].name: "constructor" is taken by the framework; choose another name',
      'workflow_graph.nodes[1].name: "toString" is taken by the framework; choose another name',
    ]);
  });

  it("takes 1,000 nodes and no more", () => {
    const chain = (length: number) => {
      const names = Array.from({ length }, (_, index) => `n${index}`);
      const edges = names.map((from, index) => ({ from, to: names[index + 1] ?? "END" }));
      return problemsOf(names, edges);
    };
    expect(chain(1_000)).toEqual([]);
    expect(chain(1_001)).toEqual([
      "workflow_graph.nodes: expected at most 1000 nodes; make agents of parts of it (found 1001)",
    ]);
  });

  it("checks what can be read beside what cannot", () => {
    const graph = readWorkflow({
      entry_point: "a",
      nodes: [
        { name: "a", type: "lllm" },
        { name: "a", type: "tool" },
        { name: "steps", type: "tool" },
      ],
      edges: [{ from: "a", to: "b" }, { from: "a", to: 3 }, 4],
    });
    const { problems, isSound } = graphProblems(graph);
    expect(problems.map(describeProblem)).toEqual([
      'workflow_graph.nodes[1].name: "a" is already the name of nodes[0]',
      'workflow_graph.edges[0].to: no node has this name (found "b"; allowed: a, steps, END)',
      'workflow_graph.nodes[2].name: "steps" is taken by the framework; choose another name',
    ]);
    expect(isSound).toBe(false);
  });

  it("says nothing of unknown names where a node has none", () => {
    const nodes = [{ name: "a", type: "llm" }, { type: "llm" }];
    const graph = readWorkflow({ entry_point: "a", nodes, edges: [{ from: "a", to: "b" }] });
    expect(graphProblems(graph)).toEqual({ problems: [], isSound: false });
  });

  it("follows the ways where a node's settings are wrong", () => {
    const nodes = [
      { name: "a", type: "lllm" },
      { name: "b", type: "llm" },
    ];
    const graph = readWorkflow({ entry_point: "a", nodes, edges: [{ from: "a", to: "END" }] });
    expect(graphProblems(graph).problems.map(describeProblem)).toEqual([
      'workflow_graph.nodes[1]: "b" cannot be reached from the entry point',
    ]);
  });

  it("checks 500 nodes and 250,000 edges without quadratic lists", () => {
    const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
    const edges = names.map((from) => ({ from, to: [...names, "END"] }));
    // 250,000 times 250,000 steps would not end within the test's time limit.
    expect(problemsOf(names, edges)).toEqual([]);
  });
});
