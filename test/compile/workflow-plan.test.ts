import { describe, expect, it } from "vitest";
import { planWorkflow } from "../../src/compile/workflow-plan.ts";
import { defineAgent, defineWorker } from "../../src/index.ts";
import type { AgentSpecInput } from "../../src/definition/schema/agent.ts";

function planOf(
  graph: NonNullable<AgentSpecInput["workflow_graph"]>,
  more: Partial<AgentSpecInput> = {},
) {
  const options: object = {
    name: "planned",
    tools: ["calculator"],
    execution_config: { max_iterations: 4 },
    ...more,
    workflow_graph: graph,
  };
  const { spec } = defineAgent(options as Parameters<typeof defineAgent>[0]);
  return planWorkflow(spec, spec.workflow_graph as never);
}

describe("planWorkflow", () => {
  const plan = planOf({
    entry_point: "ask",
    nodes: [
      { name: "ask", type: "llm", description: "Asks for sums", config: { mode: "deep" } },
      { name: "run", type: "tool" },
      {
        name: "left",
        type: "tool",
        config: { tool: "calculator", args: { expression: "1" }, writes: "execution.left" },
      },
      { name: "right", type: "human", config: { kind: "input" } },
      { name: "meet", type: "llm" },
    ],
    edges: [
      { from: "ask", to: "run", condition: "size(last.tool_calls) > 0" },
      { from: "ask", to: ["left", "right"] },
      { from: "run", to: "ask" },
      { from: "left", to: "meet" },
      { from: "right", to: "meet" },
      { from: "meet", to: "END" },
    ],
  });

  it("is plain JSON, frozen all the way down", () => {
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
    for (const node of plan.nodes) {
      expect(Object.isFrozen(node)).toBe(true);
      expect(Object.isFrozen(node.edges)).toBe(true);
    }
    expect(() => Object.assign(plan.nodes[0] as object, { name: "other" })).toThrow(TypeError);
  });

  it("fills in every default", () => {
    expect(plan.nodes[0]).toEqual({
      name: "ask",
      type: "llm",
      description: "Asks for sums",
      edges: [
        { to: ["run"], condition: "size(last.tool_calls) > 0" },
        { to: ["left", "right"], condition: null },
      ],
      waitsFor: [],
      isCyclic: true,
      writes: null,
      prompt: null,
      model: null,
      tools: "all",
      outputSchema: null,
      answerSchema: null,
      mode: "deep",
    });
    expect(plan.nodes[1]).toMatchObject({ type: "tool", tool: null, args: {}, concurrency: 16 });
    expect(plan.nodes[2]).toMatchObject({ writes: { tier: "execution", key: "left" } });
    expect(plan.nodes[3]).toMatchObject({
      prompt: "right?",
      timeoutSeconds: null,
      onTimeout: "fail",
    });
    expect(plan.nodes[4]).toMatchObject({ tools: "none", mode: "fast" });
    expect(plan).toMatchObject({ entry: "ask", output: null, maxVisits: 4 });
  });

  it("says what a node where branches meet waits for, loops on the way included", () => {
    const meet = plan.nodes.find(({ name }) => name === "meet");
    expect(meet?.waitsFor.toSorted()).toEqual(["ask", "left", "right", "run"]);
  });

  it("asks for the agent's output where a node's answer is that", () => {
    const output_schema = { type: "object", properties: { n: { type: "number" } } };
    const nodes = [
      { name: "first", type: "llm" as const },
      { name: "last", type: "llm" as const },
    ];
    const edges = [
      { from: "first", to: "last" },
      { from: "last", to: "END" },
    ];
    const { nodes: planned } = planOf({ entry_point: "first", nodes, edges }, { output_schema });
    expect(planned.map((node) => node.type === "llm" && node.answerSchema)).toEqual([
      null,
      output_schema,
    ]);
  });
});

describe("a planner node", () => {
  const workers = [defineWorker({ name: "counter", description: "Counts.", run: () => 1 })];
  const output_schema = { type: "object", properties: { n: { type: "number" } } };
  const planned = (config: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    planOf(
      {
        entry_point: "work",
        nodes: [{ name: "work", type: "planner", config }],
        edges: [{ from: "work", to: "END" }],
        ...more,
      },
      { workers, output_schema } as never,
    ).nodes[0];

  it("has every default filled in", () => {
    expect(planned({})).toEqual({
      name: "work",
      type: "planner",
      description: "",
      edges: [{ to: ["END"], condition: null }],
      waitsFor: [],
      isCyclic: false,
      writes: null,
      task: null,
      plan: null,
      criteria: null,
      workers: null,
      maxSubtasks: 100,
      maxParallel: 8,
      maxDepth: 2,
      timeoutSeconds: 300,
      retries: 2,
      maxResultBytes: 1_048_576,
      needsApproval: false,
      onFailure: "replan",
      model: null,
      answerSchema: output_schema,
    });
  });

  it("has what is written", () => {
    const plan = { subtasks: [{ id: "a", description: "${input.message}", dependencies: [] }] };
    expect(
      planned({
        workers: ["counter"],
        task: "${input.message}",
        plan,
        success_criteria: "Short.",
        max_subtasks: 5,
        max_parallel: 1,
        max_depth: 0,
        timeout_seconds: 0.5,
        retries: 0,
        max_result_bytes: 10,
        on_failure: "fail",
        model: "openai:gpt-4o",
        writes: "execution.result",
      }),
    ).toMatchObject({
      writes: { tier: "execution", key: "result" },
      task: "${input.message}",
      plan,
      criteria: "Short.",
      workers: ["counter"],
      maxSubtasks: 5,
      maxParallel: 1,
      maxDepth: 0,
      timeoutSeconds: 0.5,
      retries: 0,
      maxResultBytes: 10,
      onFailure: "fail",
      model: "openai:gpt-4o",
    });
  });

  it("answers in free text where its output is not the turn's", () => {
    expect(planned({}, { output: { n: "${nodes.work.depth}" } })).toMatchObject({
      answerSchema: null,
    });
  });
});
