import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFlow } from "../../../src/compile/nodes/flow.ts";
import { planWorkflow } from "../../../src/compile/workflow-plan.ts";
import { agentSpecSchema } from "../../../src/definition/schema/agent.ts";
import type { WorkflowGraph } from "../../../src/definition/schema/workflow.ts";
import type { Branch } from "../../../src/state/branch.ts";

/** `a>b`, `a>b,c` (in parallel), several edges from one node in the order in which they are tried. */
function planOf(...edges: string[]) {
  const pairs = edges.map((edge) => edge.split(">") as [string, string]);
  const names = new Set(pairs.flatMap(([from, to]) => [from, ...to.split(",")]));
  names.delete("END");
  const graph = {
    entry_point: pairs[0]?.[0],
    nodes: [...names].map((name) => ({
      name,
      type: "router",
      config: { default: "x", rules: [{ when: "true", choice: "x" }] },
    })),
    edges: pairs.map(([from, to]) => ({
      from,
      to: to.includes(",") ? to.split(",") : to,
      condition: "true",
    })),
  };
  const spec = agentSpecSchema.parse({ name: "flow", workflow_graph: graph });
  return planWorkflow(spec, spec.workflow_graph as WorkflowGraph);
}

let made = 0;
function at(name: string): Branch {
  made += 1;
  return {
    id: String(made),
    at: name,
    from: "",
    since: "",
    last: null,
    steps: [],
    open: [],
    visits: {},
    wrote: [],
    superstep: 0,
  };
}

describe("flow", () => {
  it("lets a node run at once when no other branch can come to it", () => {
    const flow = createFlow(planOf("a>b", "a>c", "b>d", "c>d", "d>END"));
    expect(flow.mustWait("d", [at("d")])).toBe(false);
    expect(flow.triggered("b", ["d"], [at("b")])).toEqual(["d"]);
  });

  it("holds a join until the longest branch has come, and triggers it once", () => {
    const flow = createFlow(planOf("a>b,c", "b>j", "c>d", "d>j", "j>END"));
    const afterB = [at("j"), at("d")];
    expect(flow.triggered("b", ["j"], [at("b"), at("c")])).toEqual([]);
    expect(flow.mustWait("j", afterB)).toBe(true);
    expect(flow.triggered("d", ["j"], afterB)).toEqual(["j"]);
  });

  it("lets a join go on when the branch it waits for turns away", () => {
    const flow = createFlow(planOf("a>b,c", "b>j", "c>j", "c>e", "j>END", "e>END"));
    expect(flow.triggered("c", ["e"], [at("j"), at("c")])).toEqual(["e", "j"]);
  });

  it("waits for a branch that goes round a loop of its own", () => {
    const flow = createFlow(planOf("a>b,c", "b>j", "c>d", "d>c", "c>j", "j>END"));
    expect(flow.mustWait("j", [at("j"), at("d")])).toBe(true);
  });

  it("does not wait for a branch that could come only by the loop around both", () => {
    const flow = createFlow(
      planOf("a>b,c", "b>b2", "b>b3", "b2>b3", "b3>j", "c>j", "j>a", "j>END"),
    );
    expect(flow.mustWait("b3", [at("b3"), at("c")])).toBe(false);
  });

  it("numbers the nodes that make records in one superstep, whatever order they run in", () => {
    const spec = agentSpecSchema.parse({
      name: "flow",
      workflow_graph: {
        entry_point: "a",
        nodes: ["a", "z", "m"].map((name) => ({ name, type: "llm" })),
        edges: [
          { from: "a", to: ["z", "m"] },
          { from: "z", to: "END" },
          { from: "m", to: "END" },
        ],
      },
    });
    const flow = createFlow(planWorkflow(spec, spec.workflow_graph as WorkflowGraph));
    const branches = [at("z"), at("m")];
    expect(["m", "z"].map((name) => flow.recordPlace(name, branches))).toEqual([0, 1]);
  });

  it("comes to an end whatever way each node takes, and loses no branch that could go on", () => {
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const target = fc.constantFrom(...names.slice(1), "END");
    const edges = fc
      .tuple(
        ...names.map((from, index) =>
          fc
            .tuple(
              // Forward to what is next, so that there always is a way to the end.
              fc.subarray([...names.slice(index + 1), "END"], {
                minLength: 1,
                maxLength: Math.min(3, names.length - index),
              }),
              fc.array(target, { maxLength: 2 }),
            )
            .map(([forward, others]) => [
              ...others.map((to) => `${from}>${to}`),
              `${from}>${forward.join(",")}`,
            ]),
        ),
      )
      .map((all) => all.flat());
    fc.assert(
      fc.property(edges, fc.infiniteStream(fc.nat(100)), (written, choices) => {
        const plan = planOf(...written);
        const flow = createFlow(plan);
        const choose = () => choices.next().value as number;
        let branches: Branch[] = [at("a")];
        let triggered = new Set(["a"]);
        for (let superstep = 0; branches.some((one) => one.at !== "END"); superstep += 1) {
          expect(triggered.size).toBeGreaterThan(0);
          const there = new Set(branches.map((one) => one.at));
          const ready = [...there].filter((name) => !flow.mustWait(name, branches));
          expect(ready.filter((name) => !triggered.has(name))).toEqual([]);
          const next = new Set<string>();
          let after = branches;
          for (const name of ready) {
            if (name === "END") continue;
            const ways = plan.nodes.find((one) => one.name === name)?.edges ?? [];
            // Loops are left in the end.
            const way = superstep > 60 ? ways.at(-1) : ways[choose() % ways.length];
            const targets = way?.to ?? [];
            for (const one of flow.triggered(name, targets, branches)) next.add(one);
            after = [
              ...after.filter((one) => one.at !== name || !branches.includes(one)),
              ...targets.map(at),
            ];
          }
          branches = after;
          triggered = next;
          expect(superstep).toBeLessThan(100);
        }
        expect(flow.mustWait("END", branches)).toBe(false);
        expect(triggered.has("END")).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
