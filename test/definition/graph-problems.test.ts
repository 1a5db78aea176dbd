import { describe, expect, it } from "vitest";
import { graphProblems } from "../../src/definition/graph-problems.ts";
import { describeProblem } from "../../src/definition/problems.ts";
import { workflowGraphSchema } from "../../src/definition/workflow-schema.ts";

interface Edge {
  from: string;
  to: string | string[];
  condition?: string;
}

/** The problems of a graph of nodes with these names. */
function problemsOf(names: readonly string[], edges: readonly Edge[], entry_point = names[0]) {
  const nodes = names.map((name) => ({ name, type: "llm" }));
  return graphProblems(workflowGraphSchema.parse({ entry_point, nodes, edges })).map(
    describeProblem,
  );
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

  it("takes names that prototypes have", () => {
    const edges = [
      { from: "constructor", to: "toString" },
      { from: "toString", to: "END" },
    ];
    expect(problemsOf(["constructor", "toString"], edges)).toEqual([]);
  });

  it("checks 500 nodes and 250,000 edges without quadratic lists", () => {
    const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
    const edges = names.map((from) => ({ from, to: [...names, "END"] }));
    const began = performance.now();
    expect(problemsOf(names, edges)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
