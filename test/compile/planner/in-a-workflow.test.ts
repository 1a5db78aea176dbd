import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, executeAgent } from "../../../src/index.ts";
import { asGaps, codeWorker, plannerReplies } from "../../helpers/run-plan.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { planOf } from "../../helpers/subtasks.ts";

/** `sort` sends what is large to the planner `p`, whose result `write` tells, or `mend` where criteria are not met. */
const desk = defineAgent({
  name: "desk",
  workers: [codeWorker(({ description }) => `did: ${description}`)],
  execution_config: { max_attempts: 1 },
  workflow_graph: {
    entry_point: "sort",
    nodes: [
      {
        name: "sort",
        type: "router",
        config: {
          rules: [{ when: 'input.message == "large"', choice: "plan" }],
          default: "answer",
        },
      },
      {
        name: "p",
        type: "planner",
        config: {
          task: "Handle: ${input.message}",
          plan: planOf({ a: "" }),
          max_depth: 0,
          writes: "execution.planned",
        },
      },
      { name: "write", type: "llm", config: { prompt: "Write ${nodes.p.output.message}" } },
      { name: "mend", type: "llm", config: { prompt: "Mend ${nodes.p.gaps[0]}" } },
      { name: "direct", type: "llm", config: { prompt: "Answer" } },
    ],
    edges: [
      { from: "sort", to: "p", condition: 'nodes.sort.choice == "plan"' },
      { from: "sort", to: "direct" },
      { from: "p", to: "write", condition: "nodes.p.criteria_met" },
      { from: "p", to: "mend" },
      { from: "write", to: "END" },
      { from: "mend", to: "END" },
      { from: "direct", to: "END" },
    ],
  },
});

async function run(script: readonly ScriptedReply[], message = "large") {
  const test = await testRuntime(script);
  const result = await executeAgent(desk, { message }, { runtime: test.runtime, threadId: "t" });
  const graph = await compileAgent(desk, test.runtime);
  const { values } = await graph.getState({ configurable: { thread_id: "t" } });
  return { ...test, result, nodes: values.nodes as Record<string, unknown> };
}

describe("a planner node", () => {
  it("gives status, result, verdict, plan and subtasks to edges and templates", async () => {
    const { result, nodes } = await run(plannerReplies({ "Write Joined.": "Written." }));
    expect(result).toMatchObject({ status: "COMPLETED", output: { message: "Written." } });
    expect(result.state.execution).toEqual({ planned: { message: "Joined." } });
    expect(nodes["p"]).toEqual({
      status: "COMPLETED",
      output: { message: "Joined." },
      failure: null,
      criteria_met: true,
      gaps: [],
      depth: 0,
      plan: planOf({ a: "" }),
      subtasks: { a: expect.objectContaining({ status: "done", result: "did: Do a." }) },
    });
  });

  it("leads elsewhere when its criteria are not met", async () => {
    const { result } = await run(
      plannerReplies({ "Judge the result": asGaps("the end"), "Mend the end": "Mended." }),
    );
    expect(result.output).toEqual({ message: "Mended." });
  });

  it("reads its task from its template", async () => {
    const { model } = await run(plannerReplies({ "Write ": "Written." }));
    expect(model.read(0)[0]).toBe("human: Handle: large");
  });

  it("is not run where nothing leads to it", async () => {
    const { result, nodes } = await run(plannerReplies({ Answer: "Small." }), "small");
    expect(result.output).toEqual({ message: "Small." });
    expect(nodes["p"]).toBeUndefined();
  });

  it("plans afresh in every turn of the thread", async () => {
    const test = await testRuntime(plannerReplies({ "Write ": "Written." }));
    const options = { runtime: test.runtime, threadId: "t" };
    await executeAgent(desk, { message: "large" }, options);
    const { usage } = await executeAgent(desk, { message: "large" }, options);
    expect(usage.llm_calls).toBe(3);
    expect(await test.runtime.threads.plans("t")).toHaveLength(1);
  });
});

describe("the failure of a planner node", () => {
  const failing = (edges: readonly object[]) =>
    defineAgent({
      name: "failing",
      workers: [
        codeWorker(() => {
          throw new Error("broken");
        }),
      ],
      workflow_graph: {
        entry_point: "p",
        nodes: [
          { name: "p", type: "planner", config: { plan: planOf({ a: "" }), on_failure: "fail" } },
          { name: "say", type: "llm", config: { prompt: "Say ${nodes.p.failure.cause}" } },
        ],
        edges: [...edges, { from: "say", to: "END" }] as never,
      },
    });

  it("is left to an edge that asks for it", async () => {
    const agent = failing([
      { from: "p", to: "say", condition: "nodes.p.failure != null" },
      { from: "p", to: "END" },
    ]);
    const { runtime } = await testRuntime(plannerReplies({ "Say subtask_failed": "Sorry." }));
    const { output } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(output).toEqual({ message: "Sorry." });
  });

  it("ends the turn with its cause where no edge does, and nothing is done again", async () => {
    const agent = failing([{ from: "p", to: "say" }]);
    const { runtime, events, onEvent } = await testRuntime([]);
    const result = await executeAgent(agent, { message: "go" }, { runtime, onEvent });
    expect([result.status, result.failure]).toEqual([
      "FAILED",
      {
        cause: "subtask_failed",
        message: 'Planner "p" failed: Subtask "a" of worker "w" failed (worker_error): broken',
      },
    ]);
    expect(events.filter(({ type }) => type === "subtask_start")).toHaveLength(1);
  });
});
