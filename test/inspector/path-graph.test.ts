import { describe, expect, it } from "vitest";
import type { PathEntry } from "../../web/views/thread/thread-records.ts";
import { type AgentGraph, pathGraph } from "../../web/views/thread/path-graph.ts";
import { entryOf } from "../helpers/inspector-path.ts";

const graph = (edges: readonly (readonly [string, string])[]): AgentGraph => ({
  nodes: [...new Set(edges.flat())].map((id) => ({ id, metadata: { type: "llm" } })),
  edges: edges.map(([source, target]) => ({ source, target })),
});
const takenIn = (of: AgentGraph | null, path: readonly PathEntry[]) =>
  pathGraph(of, path, () => false)
    .edges.filter(({ taken = 0 }) => taken > 0)
    .map(({ from, to, taken }) => `${from} > ${to} ×${String(taken)}`);

describe("pathGraph", () => {
  it("counts loops, turns and the end", () => {
    const loop = graph([
      ["__start__", "reason"],
      ["reason", "tools"],
      ["tools", "reason"],
      ["reason", "finalize"],
      ["finalize", "__end__"],
    ]);
    const turn = (number: number) =>
      ["reason", "tools", "reason", "tools", "reason", "finalize"].map((node) =>
        entryOf(node, [0, 10], { turn: number }),
      );
    const path = [...turn(0), ...turn(1)];
    expect(takenIn(loop, path)).toEqual([
      "__start__ > reason ×2",
      "reason > tools ×4",
      "tools > reason ×4",
      "reason > finalize ×2",
      "finalize > __end__ ×2",
    ]);
    const { nodes } = pathGraph(loop, path, ({ node }) => node === "tools");
    expect(nodes.map(({ id, count, tone }) => [id, count, tone])).toEqual([
      ["__start__", undefined, undefined],
      ["reason", 6, "good"],
      ["tools", 4, "bad"],
      ["finalize", 2, "good"],
      ["__end__", undefined, undefined],
    ]);
    expect(takenIn(loop, path.slice(0, 2))).toEqual(["__start__ > reason ×1", "reason > tools ×1"]);
  });

  it("counts every edge of branches that join, shorter ones too", () => {
    const fork = graph([
      ["__start__", "begin"],
      ["begin", "left"],
      ["begin", "right"],
      ["left", "long"],
      ["long", "join"],
      ["right", "join"],
    ]);
    const side = { superstep: 5_000 };
    const path = [
      entryOf("begin", [0, 10], { superstep: 4_999 }),
      entryOf("left", [10, 20], side),
      entryOf("right", [10, 20], { ...side, lane: 1 }),
      entryOf("long", [20, 30], { superstep: 5_001 }),
      entryOf("join", [30, 40], { superstep: 5_002 }),
    ];
    expect(takenIn(fork, path)).toEqual([
      "__start__ > begin ×1",
      "begin > left ×1",
      "begin > right ×1",
      "left > long ×1",
      "long > join ×1",
      "right > join ×1",
    ]);
  });

  it("puts nested agents into groups below the node that runs them, subtasks into one", () => {
    const subtask = (id: string) => ({
      namespace: `team:1|execute:2|${id}:3`,
      within: ["team", "execute", id],
    });
    const inside = { namespace: "team:1", within: ["team"] };
    const { groups, nodes, edges } = pathGraph(
      graph([["__start__", "team"]]),
      [
        entryOf("sum", [0, 10], subtask("a")),
        entryOf("sum", [0, 10], subtask("b")),
        entryOf("execute", [0, 20], inside),
        entryOf("team", [0, 30]),
      ],
      () => false,
    );
    expect(groups).toEqual([
      { id: "team", label: "team", parent: null },
      { id: "team/execute", label: "execute", parent: "team" },
    ]);
    expect(nodes.map(({ id, group, count }) => [id, group, count])).toEqual([
      ["__start__", null, undefined],
      ["team", "team", 1],
      ["team/execute/sum", "team/execute", 2],
      ["team/execute", "team/execute", 1],
    ]);
    expect(edges.map(({ from, to, taken }) => [from, to, taken])).toContainEqual([
      "team/execute",
      "team/execute/sum",
      2,
    ]);
  });

  it("is what ran if the agent is not known", () => {
    const path = ["a", "b", "a"].map((node) => entryOf(node, [0, 10]));
    expect(takenIn(null, path)).toEqual(["a > b ×1", "b > a ×1"]);
  });
});
