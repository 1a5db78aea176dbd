import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  edgePaths,
  edgeText,
  type GraphContent,
  layoutGraph,
  nextNode,
} from "../../web/components/graph-layout.ts";

const names = (count: number) => Array.from({ length: count }, (_, index) => `node ${index}`);
const graphOf = (ids: readonly string[], edges: readonly (readonly [string, string])[]) => ({
  nodes: ids.map((id) => ({ id, label: id })),
  edges: edges.map(([from, to]) => ({ from, to })),
});

describe("layoutGraph", () => {
  it("places nodes apart, whatever their ids, edges and groups are", () => {
    const id = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "_root", "n0", "", "g0");
    const group = fc.constantFrom(null, "x", "y", "__proto__", "unknown");
    const content = fc.record({
      nodes: fc.uniqueArray(fc.record({ id, label: fc.string(), group }), {
        selector: (node) => node.id,
      }),
      edges: fc.array(fc.record({ from: id, to: id, taken: fc.nat(3), label: fc.string() }), {
        maxLength: 12,
      }),
      groups: fc.constant([
        { id: "x", label: "X" },
        { id: "y", label: "Y", parent: "x" },
        { id: "__proto__", label: "Z", parent: "x" },
      ]),
    });
    const collapsed = fc.subarray(["x", "y", "__proto__"]);
    fc.assert(
      fc.property(
        content,
        collapsed,
        fc.constantFrom("down", "right"),
        (graph, hidden, direction) => {
          const placed = layoutGraph(graph, { collapsed: new Set(hidden), direction });
          for (const [index, a] of placed.nodes.entries())
            for (const b of placed.nodes.slice(index + 1)) {
              const isApart =
                a.x + a.width <= b.x ||
                b.x + b.width <= a.x ||
                a.y + a.height <= b.y ||
                b.y + b.height <= a.y;
              expect(isApart, `${a.id} and ${b.id}`).toBe(true);
            }
          for (const { points } of placed.edges)
            for (const { x, y } of points) expect(Number.isFinite(x + y)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("draws nodes of a collapsed group as one, with the worst state and joined edges", () => {
    const graph: GraphContent = {
      nodes: [
        { id: "begin", label: "begin" },
        { id: "one", label: "one", group: "inner", tone: "good" },
        { id: "two", label: "two", group: "inner", tone: "bad" },
      ],
      edges: [
        { from: "begin", to: "one", taken: 2 },
        { from: "begin", to: "two", taken: 1 },
        { from: "one", to: "two", taken: 2 },
      ],
      groups: [{ id: "inner", label: "survey" }],
    };
    const open = layoutGraph(graph);
    expect(open.groups.map(({ label }) => label)).toEqual(["survey"]);
    const closed = layoutGraph(graph, { collapsed: new Set(["inner"]) });
    expect(closed.groups).toEqual([]);
    expect(closed.nodes.map(({ label, detail, tone }) => [label, detail, tone])).toEqual([
      ["begin", undefined, undefined],
      ["survey", "2 nodes", "bad"],
    ]);
    expect(closed.edges.map(({ from, to, taken }) => [from, to, taken])).toEqual([
      ["begin", "group inner", 3],
    ]);
  });

  it("marks loops, and draws each edge with a line and a head", () => {
    const { edges } = layoutGraph(
      graphOf(
        ["a", "b"],
        [
          ["a", "b"],
          ["b", "a"],
          ["b", "b"],
        ],
      ),
    );
    expect(edges.map(({ from, to, isBack }) => [from, to, isBack])).toEqual([
      ["a", "b", false],
      ["b", "a", true],
      ["b", "b", true],
    ]);
    for (const { points } of edges) {
      const { line, head } = edgePaths(points);
      expect(line).toMatch(/^M[-\d.]+ [-\d.]+Q/);
      expect(head).toMatch(/Z$/);
    }
  });

  it.each(["down", "right"] as const)(
    "has loops within its bounds, in a graph that leads %s",
    (direction) => {
      const nodes = ["first", "last"].map((id) => ({ id, label: id }));
      const labels = ["", "again", "a condition that is longer than its room"];
      for (const label of labels) {
        const edges = [
          { from: "first", to: "first", label },
          { from: "first", to: "last" },
          { from: "last", to: "last", label, taken: 12 },
        ];
        const { width, height, edges: placed } = layoutGraph({ nodes, edges }, { direction });
        for (const { points, labelAt, ...edge } of placed.filter(({ from, to }) => from === to)) {
          const half = edgeText(edge).length * 3.1;
          const at = [...points, { x: labelAt!.x - half, y: labelAt!.y }];
          at.push({ x: labelAt!.x + half, y: labelAt!.y });
          expect(Math.min(...at.flatMap(({ x, y }) => [x, y]))).toBeGreaterThanOrEqual(0);
          expect(Math.max(...at.map(({ x }) => x))).toBeLessThanOrEqual(width);
          expect(Math.max(...at.map(({ y }) => y))).toBeLessThanOrEqual(height);
        }
      }
    },
  );

  it("places a graph of 1,000 nodes and 2,000 edges apart, in rows", () => {
    const ids = names(1_000);
    const next = (index: number) => ids[index % ids.length]!;
    const edges = ids.flatMap((id, index) => [
      [id, next(index + 1)] as const,
      [id, next(index * 7)] as const,
    ]);
    for (const direction of ["down", "right"] as const) {
      const placed = layoutGraph(graphOf(ids, edges), { direction });
      const at = new Set(placed.nodes.map(({ x, y }) => `${x} ${y}`));
      expect([at.size, placed.edges.length]).toEqual([1_000, new Set(edges.map(String)).size]);
      const right = Math.max(...placed.nodes.map(({ x, width }) => x + width));
      expect(right).toBeLessThanOrEqual(placed.width);
    }
  });

  it("places a graph without nodes, and leaves out edges to unknown nodes", () => {
    expect(layoutGraph({ nodes: [], edges: [] })).toMatchObject({ width: 0, height: 0 });
    expect(layoutGraph(graphOf(["a"], [["a", "b"]])).edges).toEqual([]);
  });
});

describe("nextNode", () => {
  it("follows edges that were taken first, goes back, and to neighbours", () => {
    const [top, left, right] = names(3) as [string, string, string];
    const graph = layoutGraph({
      nodes: [top, left, right].map((id) => ({ id, label: id })),
      edges: [
        { from: top, to: left },
        { from: top, to: right, taken: 1 },
        { from: right, to: top, taken: 5 },
      ],
    });
    expect(nextNode(graph, top, "ArrowDown")).toBe(right);
    expect(nextNode(graph, right, "ArrowUp")).toBe(top);
    const beside = [nextNode(graph, right, "ArrowLeft"), nextNode(graph, right, "ArrowRight")];
    expect(beside).toContain(left);
    expect(beside).toContain(null);
    expect(nextNode(graph, left, "ArrowDown")).toBe(null);
  });
});
