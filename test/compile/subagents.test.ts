import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, createRuntime } from "../../src/app.ts";
import type { AgentGraph } from "../../src/compile/agent-graph.ts";
import { createAgentRegistry } from "../../src/compile/agent-registry.ts";
import { compileSubagents } from "../../src/compile/subagents.ts";
import type { AgentDefinition } from "../../src/definition/agent-definition.ts";
import { defineAgent } from "../../src/definition/define-agent.ts";
import { defineWorker } from "../../src/definition/worker.ts";
import { loadAgent } from "../../src/definition/load/load-agent.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** An agent whose workflow runs these agents one after the other, in nodes named for their place. */
function runs(name: string, named: readonly string[], agents: readonly AgentDefinition[] = []) {
  const nodes = named.map((agent, index) => {
    return { name: `n${index}`, type: "agent" as const, config: { agent } };
  });
  return defineAgent({
    name,
    agents,
    workflow_graph: {
      entry_point: "n0",
      nodes,
      edges: nodes.map((node, index) => ({ from: node.name, to: nodes[index + 1]?.name ?? "END" })),
    },
  });
}

async function compile(agent: AgentDefinition, agents: readonly AgentDefinition[] = []) {
  const runtime = await createRuntime({
    models: new ScriptedModel([]),
    checkpointer: false,
    agents,
  });
  return compileAgent(agent, runtime);
}

const leaf = defineAgent({ name: "leaf" });

describe("an agent node's agent", () => {
  it("is one of the definition's own, before one of the runtime's", async () => {
    const inactive = defineAgent({ name: "leaf", is_active: false });
    await expect(compile(runs("a", ["leaf"], [leaf]), [inactive])).resolves.toBeTypeOf("object");
    await expect(compile(runs("a", ["leaf"]), [leaf])).resolves.toBeTypeOf("object");
  });

  it("is refused when there is none of the name", async () => {
    await expect(
      compile(runs("a", ["leav"], [leaf]), [defineAgent({ name: "other" })]),
    ).rejects.toMatchObject({
      code: "unknown_agent",
      kind: "usage",
      agent: "leav",
      node: "n0",
      within: "a",
      known: ["leaf", "other"],
      suggestion: "leaf",
      message:
        'Node "n0" of agent "a" names agent "leav", which does not exist. Did you mean "leaf"? Agents: leaf, other.',
    });
    await expect(compile(runs("a", ["leaf"]))).rejects.toThrow(
      'Node "n0" of agent "a" names agent "leaf", which does not exist. There are no agents: pass them to defineAgent or createRuntime in agents.',
    );
  });

  it("is refused when it is not active", async () => {
    const off = defineAgent({ name: "off", is_active: false });
    await expect(compile(runs("outer", ["a"], [runs("a", ["off"], [off])]))).rejects.toMatchObject({
      code: "inactive_subagent",
      node: "n0",
      within: "a",
      message:
        'Node "n0" of agent "a" names agent "off", which is not active. Set its is_active to true to run it.',
    });
  });

  it("is refused when it contains the agent by names of the runtime", async () => {
    const [a, b, c] = [runs("a", ["leaf", "b"]), runs("b", ["c"]), runs("c", ["b"])];
    await expect(compile(a, [leaf, a, b, c])).rejects.toMatchObject({
      code: "agent_recursion",
      kind: "usage",
      chain: ["b", "c", "b"],
      message:
        "Agents cannot contain themselves: b → c → b. Leave out one of the nodes or workers in between.",
    });
    const self = runs("self", ["self"]);
    await expect(compile(self, [self])).rejects.toMatchObject({ chain: ["self", "self"] });
  });

  it("is refused more than 16 deep, by whichever way it is met", async () => {
    const chain: AgentDefinition[] = [];
    for (let depth = 0; depth < 16; depth += 1) {
      chain.push(depth === 0 ? leaf : runs(`d${depth}`, [depth === 1 ? "leaf" : `d${depth - 1}`]));
    }
    await expect(compile(chain[15] as AgentDefinition, chain)).resolves.toBeTypeOf("object");
    await expect(compile(runs("top", ["d15"]), chain)).rejects.toMatchObject({
      code: "agent_depth",
      chain: ["top", ...Array.from({ length: 15 }, (_, index) => `d${15 - index}`), "leaf"],
    });
    await expect(compile(runs("top", ["d9", "d15"]), chain)).rejects.toMatchObject({
      code: "agent_depth",
    });
  });

  it("is refused when its input cannot fit", async () => {
    const topical = defineAgent({ name: "topical", input_schema: z.object({ topic: z.string() }) });
    await expect(compile(runs("a", ["topical"]), [topical])).rejects.toMatchObject({
      code: "invalid_definition",
      problems: [
        {
          path: ["workflow_graph", "nodes", 0, "config"],
          message:
            'agent "topical" requires "topic", which the turn\'s own input never has; write an input',
        },
      ],
    });
  });

  it("is named by path in files that loadAgent reads", async () => {
    const graph = (agent: string) =>
      JSON.stringify({
        entry_point: "n",
        nodes: [{ name: "n", type: "agent", config: { agent } }],
        edges: [{ from: "n", to: "END" }],
      });
    const folder = tempFolder({
      "a.yaml": `name: a\nworkflow_graph: ${graph("sub/b.yaml")}\n`,
      "sub/b.yaml": "name: b\n",
    });
    const agent = await loadAgent(join(folder, "a.yaml"));
    await expect(compile(agent)).resolves.toBeTypeOf("object");
    await expect(compile({ ...agent, agents: new Map() })).rejects.toThrow(
      'Node "n" of agent "a" names agent "sub/b.yaml", which does not exist. A path is resolved relative to the file that names it: load that file with loadAgent.',
    );
  });

  it("is compiled once, however many ways lead to it", async () => {
    let wide: AgentDefinition = leaf;
    for (let depth = 1; depth < 16; depth += 1) {
      const { name } = wide.spec;
      wide = runs(`w${depth}`, [name, name, name], [wide]);
    }
    const model = new ScriptedModel([]);
    let resolved = 0;
    const models = { resolve: () => ((resolved += 1), model.resolve()) };
    await compileAgent(wide, await createRuntime({ models, checkpointer: false }));
    expect(resolved).toBe(16);
  });
});

/** An agent whose workflow is one planner; without `workers` it has all that comes with it. */
function leads(
  name: string,
  workers: readonly string[] | null,
  more: { readonly agents?: readonly AgentDefinition[]; readonly code?: readonly string[] } = {},
) {
  return defineAgent({
    name,
    agents: more.agents ?? [],
    workers: (more.code ?? []).map((code) =>
      defineWorker({ name: code, description: `Does ${code}.`, run: () => code }),
    ),
    workflow_graph: {
      entry_point: "work",
      nodes: [
        {
          name: "work",
          type: "planner",
          config: workers === null ? {} : { workers: [...workers] },
        },
      ],
      edges: [{ from: "work", to: "END" }],
    },
  });
}

/** The agents of a definition by key, each with how often it was compiled and what it was compiled with. */
async function subagentsOf(agent: AgentDefinition, registry: readonly AgentDefinition[] = []) {
  const compiled: string[] = [];
  const subagents = await compileSubagents(agent, createAgentRegistry(registry), (one, own) => {
    compiled.push([one.spec.name, ...own.keys()].join(" "));
    return Promise.resolve({} as AgentGraph);
  });
  const names = [...subagents].map(([key, { definition }]) => [key, definition.spec.name]);
  return { names, definitions: [...subagents.values()].map((one) => one.definition), compiled };
}

describe("a planner node's worker", () => {
  it("is one of the definition's own, then one of the runtime's, by node and name", async () => {
    const other = defineAgent({ name: "other" });
    const stranger = defineAgent({ name: "leaf", description: "Another one." });
    const agent = leads("a", ["other", "leaf"], { agents: [leaf] });
    const { names, definitions } = await subagentsOf(agent, [stranger, other]);
    expect(names).toEqual([
      ["work/other", "other"],
      ["work/leaf", "leaf"],
    ]);
    expect(definitions).toEqual([other, leaf]);
    expect(definitions[1]).toBe(leaf);
  });

  it("may be code, which is nothing to compile and comes before an agent of the runtime", async () => {
    const counter = defineAgent({ name: "counter" });
    const agent = leads("a", ["counter", "leaf"], { agents: [leaf], code: ["counter"] });
    expect((await subagentsOf(agent, [counter])).names).toEqual([["work/leaf", "leaf"]]);
  });

  it("is any of the definition's own where none are listed, none of the runtime's", async () => {
    const second = defineAgent({ name: "second" });
    const agent = leads("a", null, { agents: [leaf, second], code: ["counter"] });
    expect((await subagentsOf(agent, [defineAgent({ name: "third" })])).names).toEqual([
      ["work/leaf", "leaf"],
      ["work/second", "second"],
    ]);
    expect((await subagentsOf(leads("b", null, { code: ["counter"] }), [leaf])).names).toEqual([]);
  });

  it("is compiled once with its own workers, beside agent nodes too", async () => {
    const inner = leads("inner", ["leaf"], { agents: [leaf] });
    const graph = {
      entry_point: "ask",
      nodes: [
        { name: "ask", type: "agent" as const, config: { agent: "leaf" } },
        { name: "work", type: "planner" as const, config: { workers: ["inner", "leaf"] } },
        { name: "again", type: "planner" as const },
      ],
      edges: [
        { from: "ask", to: "work" },
        { from: "work", to: "again" },
        { from: "again", to: "END" },
      ],
    };
    const outer = defineAgent({ name: "outer", agents: [inner, leaf], workflow_graph: graph });
    const { names, compiled } = await subagentsOf(outer);
    expect(names.map(([key]) => key)).toEqual([
      "ask",
      "work/inner",
      "work/leaf",
      "again/inner",
      "again/leaf",
    ]);
    expect(compiled.toSorted()).toEqual(["inner work/leaf", "leaf"]);
  });

  it("is refused when there is none of the name", async () => {
    const agent = leads("a", ["leav"], { agents: [leaf], code: ["counter"] });
    await expect(subagentsOf(agent, [defineAgent({ name: "other" })])).rejects.toMatchObject({
      code: "unknown_agent",
      role: "worker",
      agent: "leav",
      node: "work",
      within: "a",
      known: ["leaf", "other", "counter"],
      suggestion: "leaf",
      message:
        'Planner node "work" of agent "a" names worker "leav", which does not exist. Did you mean "leaf"? Agents and code workers: leaf, other, counter.',
    });
    await expect(subagentsOf(leads("a", ["leaf"]))).rejects.toThrow(
      'Planner node "work" of agent "a" names worker "leaf", which does not exist. There are no agents and no code workers: pass them to defineAgent in agents or workers, or to createRuntime in agents.',
    );
  });

  it("is no code where an agent node names it", async () => {
    const { spec, ...rest } = leads("a", ["counter"], { code: ["counter"] });
    const nodes = [
      {
        name: "n",
        type: "agent" as const,
        config: { agent: "counter", conversation: "own" as const },
      },
    ];
    const edges = [{ from: "n", to: "END" }];
    const agent = {
      ...rest,
      spec: { ...spec, workflow_graph: { entry_point: "n", nodes, edges } },
    };
    await expect(subagentsOf(agent)).rejects.toThrow(
      'Node "n" of agent "a" names agent "counter", which does not exist. There are no agents: pass them to defineAgent or createRuntime in agents.',
    );
  });

  it("is refused when it is not active", async () => {
    const off = defineAgent({ name: "off", is_active: false });
    await expect(subagentsOf(leads("a", null, { agents: [off] }))).rejects.toMatchObject({
      code: "inactive_subagent",
      node: "work",
      within: "a",
    });
  });

  it("is refused when it has the planner for a worker itself", async () => {
    const [a, b] = [leads("a", ["leaf", "b"]), leads("b", ["a"])];
    await expect(subagentsOf(a, [leaf, a, b])).rejects.toMatchObject({
      code: "agent_recursion",
      chain: ["a", "b", "a"],
    });
    await expect(subagentsOf(a, [leaf, a, runs("b", ["a"])])).rejects.toMatchObject({
      chain: ["a", "b", "a"],
    });
  });

  it("is refused more than 16 deep, agent nodes on the way counted", async () => {
    const chain: AgentDefinition[] = [leaf];
    for (let depth = 1; depth < 16; depth += 1) {
      const below = depth === 1 ? "leaf" : `d${depth - 1}`;
      chain.push(depth % 2 === 0 ? runs(`d${depth}`, [below]) : leads(`d${depth}`, [below]));
    }
    const top = chain[15] as AgentDefinition;
    expect((await subagentsOf(top, chain)).compiled).toHaveLength(15);
    await expect(subagentsOf(leads("top", ["d15"]), chain)).rejects.toMatchObject({
      code: "agent_depth",
      chain: ["top", ...Array.from({ length: 15 }, (_, index) => `d${15 - index}`), "leaf"],
    });
  });

  it("is refused when it cannot take what a planner gives", async () => {
    const topical = defineAgent({ name: "topical", input_schema: z.object({ topic: z.string() }) });
    await expect(
      subagentsOf(leads("a", ["leaf", "topical"]), [leaf, topical]),
    ).rejects.toMatchObject({
      code: "invalid_definition",
      problems: [
        {
          path: ["workflow_graph", "nodes", 0, "config", "workers", 1],
          message:
            'agent "topical" requires "topic"; a planner gives its workers only message, and results where the schema has it',
        },
      ],
    });
  });
});

describe("createRuntime", () => {
  it("refuses two agents of one name", async () => {
    await expect(
      createRuntime({ checkpointer: false, agents: [leaf, leaf] }),
    ).rejects.toMatchObject({
      code: "agent_clash",
      agent: "leaf",
      message: 'Two agents are named "leaf". Rename one of them, or leave one out.',
    });
  });
});
