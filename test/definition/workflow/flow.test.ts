import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyzeFlow, type WorkflowFlow } from "../../../src/definition/workflow/flow.ts";

/** `a > b c; c > END`: a fan-out to b and c. `a > b | c` are two edges from a. */
function edgesOf(written: string): { from: string; to: string | string[] }[] {
  return written.split(";").flatMap((part) => {
    const [from = "", ways = ""] = part.split(">").map((text) => text.trim());
    return ways.split("|").map((way) => {
      const [only = "", ...others] = way.trim().split(" ");
      return { from, to: others.length === 0 ? only : [only, ...others] };
    });
  });
}

function flowOf(written: string): WorkflowFlow {
  const edges = edgesOf(written);
  return analyzeFlow({ entry_point: edges[0]?.from ?? "", edges });
}

const waits = (flow: WorkflowFlow, name: string) => [...flow.waitsFor(name)].toSorted();
const loops = (flow: WorkflowFlow) =>
  flow.loops.map(({ edge, getNodes: way }) => ({ edge, way: way() }));

describe("targets", () => {
  it("are all that may come next, once each", () => {
    const flow = flowOf("a > b | c; b > d; c > d; d > a c | c | END");
    expect(flow.successors("d")).toEqual(["a", "c", "END"]);
    expect(flow.successors("END")).toEqual([]);
    expect(flow.successors("nobody")).toEqual([]);
  });

  it("may be a chain that no stack would hold", () => {
    const chain = Array.from({ length: 50_000 }, (_, index) => `n${index}`);
    const edges = chain.map((from, index) => ({ from, to: chain[index + 1] ?? "END" }));
    const flow = analyzeFlow({ entry_point: "n0", edges });
    expect(flow.successors("n49999")).toEqual(["END"]);
    expect(flow.isParallel("n1", "n2")).toBe(false);
  });
});

describe("loops", () => {
  it("are named in order from where they come back to, by the edge that closes them", () => {
    const flow = flowOf("a > b; b > c; c > b | c | a | END");
    expect(loops(flow)).toEqual([
      { edge: 2, way: ["b", "c"] },
      { edge: 3, way: ["c"] },
      { edge: 4, way: ["a", "b", "c"] },
    ]);
  });

  it("make the nodes on them cyclic, and no others", () => {
    const flow = flowOf("a > b; b > c | e; c > d; d > b; e > e | END");
    const cyclic = ["a", "b", "c", "d", "e", "END"].filter(flow.isCyclic);
    expect(cyclic).toEqual(["b", "c", "d", "e"]);
  });
});

describe("waitsFor", () => {
  it("is empty where only one branch can be under way", () => {
    const flow = flowOf("a > b | c; b > d; c > d; d > a | END");
    expect(["a", "b", "c", "d", "END"].map((name) => waits(flow, name))).toEqual([
      [],
      [],
      [],
      [],
      [],
    ]);
  });

  it("has what can still come to a join, and everything for the end", () => {
    const flow = flowOf("a > b c; b > d; c > c2; c2 > d; d > END");
    expect(waits(flow, "d")).toEqual(["a", "b", "c", "c2"]);
    expect(waits(flow, "END")).toEqual(["a", "b", "c", "c2", "d"]);
    expect(waits(flow, "c2")).toEqual([]);
  });

  it("counts loops on the way to a join", () => {
    const flow = flowOf("a > ask c; ask > run | d; run > ask; c > d; d > END");
    expect(waits(flow, "d")).toEqual(["a", "ask", "c", "run"]);
    expect(waits(flow, "ask")).toEqual(["run"]);
  });

  it("lets branches that come round a loop meet where it begins", () => {
    const flow = flowOf("lead > left right | END; left > lead; right > tool; tool > lead");
    expect(waits(flow, "lead")).toEqual(["left", "right", "tool"]);
    expect(waits(flow, "left")).toEqual([]);
  });

  it("leaves the next round of a loop out at a join inside of it", () => {
    const flow = flowOf("a > b; b > c d; c > e; d > e; e > f; f > b | END");
    expect(waits(flow, "e")).toEqual(["a", "c", "d"]);
    expect(waits(flow, "b")).toEqual(["c", "d", "e", "f"]);
  });

  it("lets no branch end the workflow while another goes round", () => {
    const flow = flowOf("a > b c; b > a; c > END");
    expect(waits(flow, "END")).toEqual(["a", "b", "c"]);
  });

  it("takes for the head of a loop with two ways in what most of it comes back to", () => {
    const flow = flowOf(
      "a > look | lead; lead > read look; read > meet; look > meet; meet > lead | END",
    );
    expect(waits(flow, "meet")).toEqual(["a", "look", "read"]);
    expect(waits(flow, "look")).toEqual(["a"]);
    expect(waits(flow, "lead")).toEqual(["look", "meet", "read"]);
    expect(flow.isParallel("look", "read")).toBe(true);
  });

  it("decides between nodes of a loop with two ways in", () => {
    const flow = flowOf("a > b c; b > c; c > b | END");
    expect(waits(flow, "b")).toEqual(["c"]);
    expect(waits(flow, "c")).toEqual(["a"]);
  });
});

describe("areParallel", () => {
  it("holds between the branches of a fan-out, until they meet", () => {
    const flow = flowOf("a > b c; b > b2; b2 > d; c > d; d > e; e > END");
    expect(flow.isParallel("b", "c")).toBe(true);
    expect(flow.isParallel("c", "b2")).toBe(true);
    expect(flow.isParallel("b", "b2")).toBe(false);
    expect(flow.isParallel("b", "b")).toBe(false);
    expect(flow.isParallel("a", "b")).toBe(false);
    expect(flow.isParallel("b", "e")).toBe(false);
    expect(flow.isParallel("c", "END")).toBe(false);
    expect(flow.isParallel("b", "nobody")).toBe(false);
  });

  it("does not hold for alternatives", () => {
    const flow = flowOf("a > b | c; b > END; c > END");
    expect(flow.isParallel("b", "c")).toBe(false);
    expect(flow.isParallel("b", "END")).toBe(false);
  });

  it("does not hold where one waits for the other", () => {
    const flow = flowOf("a > b c; b > c; c > END");
    expect(flow.isParallel("b", "c")).toBe(false);
    expect(flow.isParallel("b", "END")).toBe(false);
  });

  it("holds with the end where branches come to it one by one", () => {
    const flow = flowOf("a > b c; b > END; c > d; d > END");
    expect(flow.isParallel("d", "END")).toBe(true);
  });

  it("holds between a branch that left a loop and the next round", () => {
    const flow = flowOf("a > b; b > c d; c > b; d > e; e > END");
    expect(flow.isParallel("d", "e")).toBe(true);
    expect(flow.isParallel("b", "e")).toBe(true);
  });
});

const names = ["a", "b", "c", "d", "e", "f"];

interface Graph {
  entry_point: string;
  edges: { from: string; to: string | string[] }[];
}

/** From every node a way on in the chain a to END, and further ones; `back` lets them lead anywhere. */
const graphs = (back: boolean): fc.Arbitrary<Graph> =>
  fc
    .tuple(
      ...names.map((from, index) => {
        const later = [...names.slice(index + 1), "END"];
        const to = (from_: readonly string[]) =>
          fc.uniqueArray(fc.constantFrom(...from_), { minLength: 1, maxLength: 3 });
        const edge = (from_: readonly string[]) => to(from_).map((list) => ({ from, to: list }));
        return fc
          .tuple(
            fc.array(edge(back ? [...names, "END"] : later), { maxLength: 2 }),
            edge(later.slice(0, 2)),
          )
          .map(([extra, on]) => [...extra, on]);
      }),
    )
    .map((edges) => ({ entry_point: "a", edges: edges.flat() }));

/** What can happen, tried out: branches are at a set of nodes; any that has not to wait may go on over any edge. */
function explore(graph: Graph, flow: WorkflowFlow) {
  const parallel = new Set<string>();
  const stuck: string[] = [];
  const seen = new Set(["a"]);
  const open = [["a"]];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const free = at.filter((name) => !at.some((other) => flow.waitsFor(name).has(other)));
    for (const [one, other] of free.flatMap((x) => free.map((y) => [x, y] as const)))
      if (one !== other) parallel.add(`${one} ${other}`);
    if (at.includes("END")) for (const other of at) parallel.add(`${other} END`);
    const moving = free.filter((name) => name !== "END");
    if (moving.length === 0 && (at.length > 1 || at[0] !== "END")) stuck.push(at.join(" "));
    for (const name of moving) {
      for (const { to } of graph.edges.filter(({ from }) => from === name)) {
        const left = at.filter((other) => other !== name);
        const next = [...new Set([...left, ...[to].flat()])].toSorted();
        if (seen.has(next.join(" "))) continue;
        seen.add(next.join(" "));
        open.push(next);
      }
    }
  }
  return { parallel, stuck };
}

const reaches = (graph: Graph, from: string, to: string, past = ""): boolean => {
  const seen = new Set([past]);
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const next of graph.edges.filter((edge) => edge.from === at).flatMap((edge) => edge.to))
      if (!seen.has(next)) {
        seen.add(next);
        open.push(next);
      }
  return seen.has(to);
};

describe("whatever the graph, loops with several ways in included", () => {
  it("no branches hold each other", () => {
    fc.assert(
      fc.property(graphs(true), (graph) => {
        expect(explore(graph, analyzeFlow(graph)).stuck).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("areParallel knows what trying every order and every choice finds", () => {
    fc.assert(
      fc.property(graphs(true), (graph) => {
        const flow = analyzeFlow(graph);
        for (const pair of explore(graph, flow).parallel) {
          const [one = "", other = ""] = pair.split(" ");
          expect([pair, flow.isParallel(one, other)]).toEqual([pair, one !== other]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("isCyclic and loops say which nodes lead to themselves", () => {
    fc.assert(
      fc.property(graphs(true), (graph) => {
        const flow = analyzeFlow(graph);
        const reached = names.filter((name) => name === "a" || reaches(graph, "a", name));
        const cyclic = reached.filter((name) => reaches(graph, name, name));
        expect(reached.filter(flow.isCyclic)).toEqual(cyclic);
        const closing = flow.loops.map(
          ({ getNodes: way }) => `${way().at(-1) ?? ""} ${way()[0] ?? ""}`,
        );
        const edges = reached.flatMap((from) =>
          flow
            .successors(from)
            .filter((to) => !closing.includes(`${from} ${to}`))
            .map((to) => ({ from, to })),
        );
        const open = { entry_point: "a", edges };
        expect(reached.filter((name) => reaches(open, name, name))).toEqual([]);
        expect(flow.loops.length > 0).toBe(cyclic.length > 0);
      }),
    );
  });
});

describe("where every loop has one way in", () => {
  it("areParallel says no more than trying every order and every choice finds", () => {
    let tried = 0;
    fc.assert(
      fc.property(graphs(true), (graph) => {
        const flow = analyzeFlow(graph);
        const ways = flow.loops.map(({ getNodes: way }) => way());
        fc.pre(
          ways.every(
            ([head = "", ...on]) => !on.some((n) => head !== "a" && reaches(graph, "a", n, head)),
          ),
        );
        tried += 1;
        const { parallel } = explore(graph, flow);
        const said = names
          .flatMap((one) => [...names, "END"].map((other) => [one, other] as const))
          .filter(([one, other]) => flow.isParallel(one, other))
          .map((pair) => pair.join(" "));
        expect([...parallel]).toEqual(expect.arrayContaining(said));
      }),
      { numRuns: 500 },
    );
    expect(tried).toBeGreaterThan(100);
  });
});

describe("without loops", () => {
  it("every node runs once at most, whatever is chosen and whoever is first", () => {
    fc.assert(
      fc.property(graphs(false), fc.infiniteStream(fc.nat()), (graph, choices) => {
        const flow = analyzeFlow(graph);
        const choose = <T>(list: readonly T[]) => list[Number(choices.next().value) % list.length];
        const ran: string[] = [];
        let at = ["a"];
        while (at.some((name) => name !== "END")) {
          const free = at.filter(
            (name) => name !== "END" && !at.some((other) => flow.waitsFor(name).has(other)),
          );
          const name = choose(free) ?? "nobody";
          ran.push(name);
          const edge = choose(graph.edges.filter(({ from }) => from === name));
          const left = at.filter((other) => other !== name);
          at = [...new Set([...left, ...[edge?.to ?? []].flat()])];
        }
        expect(ran).toEqual([...new Set(ran)]);
      }),
      { numRuns: 500 },
    );
  });
});
