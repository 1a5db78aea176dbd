import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawnEdges, shortCondition } from "../../src/compile/graph-builder.ts";
import { compileAgent, createRuntime, defineAgent, type AgentGraph } from "../../src/index.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const triage = defineAgent({
  name: "triage",
  execution_config: { max_iterations: 4 },
  workflow_graph: {
    entry_point: "classify",
    nodes: [
      {
        name: "classify",
        type: "router",
        description: "Which team (of two) can help?",
        config: {
          rules: [{ when: 'input.message == "money"', choice: "billing" }],
          default: "other",
        },
      },
      { name: "look-up", type: "llm" },
      { name: "recall", type: "llm" },
      { name: "answer", type: "llm", description: "Writes the answer" },
      { name: "subgraph", type: "human", config: { kind: "approval" } },
    ],
    edges: [
      {
        from: "classify",
        to: ["look-up", "recall"],
        condition: 'nodes.classify.choice == "billing"',
      },
      { from: "classify", to: "answer" },
      { from: "look-up", to: "answer" },
      { from: "recall", to: "answer" },
      { from: "answer", to: "subgraph" },
      { from: "subgraph", to: "answer", condition: "!nodes.subgraph.approved" },
      { from: "subgraph", to: "END" },
    ],
  },
});

async function compiled(definition: Parameters<typeof compileAgent>[0]): Promise<AgentGraph> {
  const runtime = await createRuntime({
    checkpointer: false,
    env: {},
    defaultModel: "offline:rules",
  });
  return compileAgent(definition, runtime);
}

/** Edges as `a -> b` where they are always taken, and `a -> b: label` where they are not. */
async function edgesOf(graph: AgentGraph, xray: boolean | number = false): Promise<string[]> {
  const { edges } = await graph.getGraphAsync({ xray });
  return edges.map(({ source, target, data, conditional }) => {
    expect(conditional).toBe(data !== undefined);
    return `${source} -> ${target}${data === undefined ? "" : `: ${data}`}`;
  });
}

const turnAround = (first: string, last: readonly string[]) => [
  "__start__ -> initialize",
  "initialize -> plan",
  `plan -> ${first}`,
  ...last,
  "reflect -> plan: refused",
  "reflect -> finalize: accepted",
  "finalize -> __end__",
];

describe("the drawing of a graph", () => {
  it("shows the standard loop by what decides its ways", async () => {
    expect(await edgesOf(await compiled(defineAgent({ name: "plain" })))).toEqual(
      turnAround("reason", [
        "reason -> tools: uses tools",
        "reason -> reason: goes on",
        "reason -> reflect: answers",
        "tools -> reason",
      ]),
    );
  });

  it("shows where calls wait for approval", async () => {
    const agent = defineAgent({
      name: "careful",
      tools: ["calculator"],
      guardrail_config: { tool_rails: { require_approval: "all" } },
    });
    const edges = await edgesOf(await compiled(agent));
    expect(edges).toContain("reason -> human: needs approval");
    expect(edges).toContain("human -> tools");
  });

  it("shows that an agent inside asks where the agent around has its calls approved", async () => {
    const inner = defineAgent({ name: "inner", tools: ["calculator"] });
    const around = (require_approval: "all" | string[]) =>
      defineAgent({
        name: "outer",
        agents: [inner],
        guardrail_config: { tool_rails: { require_approval } },
        workflow_graph: {
          entry_point: "it",
          nodes: [{ name: "it", type: "agent", config: { agent: "inner" } }],
          edges: [{ from: "it", to: "END" }],
        },
      });
    const asks = "it:reason -> it:human: needs approval";
    expect(await edgesOf(await compiled(around("all")), true)).toContain(asks);
    expect(await edgesOf(await compiled(around([])), true)).not.toContain(asks);
  });

  it("shows a workflow's edges as they were written", async () => {
    expect(await edgesOf(await compiled(triage))).toEqual(
      turnAround("classify", [
        'classify -> look-up: choice == "billing"',
        'classify -> recall: choice == "billing"',
        "classify -> answer: else",
        "look-up -> answer",
        "recall -> answer",
        "answer -> subgraph",
        "subgraph -> answer: !approved",
        "subgraph -> reflect: else",
      ]),
    );
  });

  it("has types and descriptions in its JSON", async () => {
    const graph = await compiled(triage);
    const { nodes } = (await graph.getGraphAsync()).toJSON() as { nodes: { id: string }[] };
    const byId = new Map(nodes.map((node) => [node.id, node]));
    expect([...byId.keys()]).toEqual([
      "__start__",
      "initialize",
      "plan",
      "classify",
      "look-up",
      "recall",
      "answer",
      "subgraph",
      "reflect",
      "finalize",
      "__end__",
    ]);
    expect(byId.get("classify")).toMatchObject({
      type: "runnable",
      data: { name: "classify" },
      metadata: { type: "router", description: "Which team (of two) can help?" },
    });
    expect(byId.get("recall")).toHaveProperty("metadata", { type: "llm" });
    expect(byId.get("plan")).toHaveProperty("metadata.type", "lifecycle");
    expect(byId.get("__start__")).not.toHaveProperty("metadata");
  });

  it("writes Mermaid text in which no label is markup", async () => {
    const graph = await compiled(triage);
    const text = (await graph.getGraphAsync()).drawMermaid();
    expect(text).toContain("classify -. &nbsp;choice #61;#61; #34;billing#34;&nbsp; .-> look-up;");
    expect(text).toContain("description = Which team #40;of two#41; can help#63;");
  });

  it("is the same where LangGraph asks without waiting, and after withConfig", async () => {
    const graph = await compiled(triage);
    const drawn = (await graph.getGraphAsync()).toJSON();
    const derived = graph.withConfig({ tags: ["derived"] });
    expect((await derived.getGraphAsync()).toJSON()).toEqual(drawn);
    const atOnce = graph as unknown as { getGraph(): { toJSON(): unknown } };
    expect(atOnce.getGraph().toJSON()).toEqual(drawn);
  });
});

describe("the drawing of agents inside of agents", () => {
  const worker = defineAgent({ name: "worker" });
  const team = defineAgent({
    name: "team",
    agents: [worker],
    workflow_graph: {
      entry_point: "work",
      nodes: [{ name: "work", type: "agent", config: { agent: "worker" } }],
      edges: [{ from: "work", to: "END" }],
    },
  });
  const company = defineAgent({
    name: "company",
    agents: [team],
    workflow_graph: {
      entry_point: "team",
      nodes: [{ name: "team", type: "agent", config: { agent: "team" } }],
      edges: [{ from: "team", to: "END" }],
    },
  });

  it("shows them as nodes", async () => {
    expect(await edgesOf(await compiled(company))).toEqual(turnAround("team", ["team -> reflect"]));
  });

  it("shows what is inside of them, drawn the same way, when asked", async () => {
    const edges = await edgesOf(await compiled(team), true);
    expect(edges).toContain("plan -> work:initialize");
    expect(edges).toContain("work:reason -> work:tools: uses tools");
    expect(edges).toContain("work:finalize -> reflect");
    expect(edges.filter((edge) => edge.includes("work:__"))).toEqual([]);
  });

  it("goes as deep as asked", async () => {
    const graph = await compiled(company);
    expect(await edgesOf(graph, 1)).toContain("team:plan -> team:work");
    const all = await edgesOf(graph, true);
    expect(all).toContain("team:plan -> team:work:initialize");
    expect(all).toContain("team:work:finalize -> team:reflect");
  });

  it("is drawn into a graph of LangGraph's own", async () => {
    const around = new StateGraph(MessagesAnnotation)
      .addNode("agent", (await compiled(worker)) as never)
      .addEdge(START, "agent")
      .compile();
    const { edges } = await around.getGraphAsync({ xray: true });
    expect(edges).toContainEqual({
      source: "agent:reason",
      target: "agent:tools",
      data: "uses tools",
      conditional: true,
    });
  });
});

describe("the label of an edge", () => {
  it.each([
    ['nodes.check.choice == "a"', 'choice == "a"'],
    ['nodes["check"].approved', "approved"],
    ["nodes['check'].approved", "approved"],
    ["nodes.other.choice == 1", "nodes.other.choice == 1"],
    ["input.nodes.check.choice", "input.nodes.check.choice"],
    ["nodes.checked.choice", "nodes.checked.choice"],
    ['last.text == "nodes.check.choice"', 'last.text == "nodes.check.choice"'],
    ["nodes.check\n  .choice  ==\n 1", "nodes.check .choice == 1"],
    ["size(nodes.check.items) > 0", "size(items) > 0"],
    [`input.message == "${"x".repeat(80)}"`, `input.message == "${"x".repeat(41)}…`],
  ])("of %j is %j", (condition, label) => {
    expect(shortCondition(condition, "check")).toBe(label);
  });

  it("is one line of at most 60 characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (condition) => {
        const label = shortCondition(condition, "check");
        expect(label.length).toBeLessThanOrEqual(60);
        expect(label).not.toMatch(/[\r\n\t]/);
      }),
    );
  });

  it("says all ways that lead to one node", () => {
    const edges = [
      { to: ["a"], condition: "x" },
      { to: ["a", "b"], condition: "y" },
      { to: ["b"], condition: null },
    ];
    expect(drawnEdges({ name: "n", edges })).toEqual([
      { to: "a", when: "x or y" },
      { to: "b", when: "y or else" },
    ]);
  });

  it("is left out where all ways lead to a node", () => {
    const edges = [
      { to: ["a", "b"], condition: "x" },
      { to: ["b"], condition: null },
    ];
    expect(drawnEdges({ name: "n", edges })).toEqual([{ to: "a", when: "x" }, { to: "b" }]);
  });

  it("is left out where the only edge has no condition", () => {
    expect(drawnEdges({ name: "n", edges: [{ to: ["a", "END"], condition: null }] })).toEqual([
      { to: "a" },
      { to: "reflect" },
    ]);
  });
});
