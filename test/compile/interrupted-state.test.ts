import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineRail, defineTool, executeAgent } from "../../src/index.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime, type TestRun } from "../helpers/run-agent.ts";

const store = defineTool({
  name: "store",
  description: "Stores an answer.",
  input_schema: z.object({ key: z.string() }),
  persistence: "execution",
  handler: ({ execution, attempt }, { key }) => ({
    newState: {
      execution: { ...(execution as object), [key]: "answer" },
      attempt: { ...(attempt as object), last: key },
    },
    toolResult: `stored ${key}`,
  }),
});

/** Hangs the first time, and then calls `onHang`, when every other call of the step has ended. */
function hanging(onHang: () => void) {
  let calls = 0;
  return defineTool({
    name: "hang",
    description: "Hangs the first time.",
    input_schema: z.object({}),
    persistence: "attempt",
    execution: { timeout_ms: 120_000 },
    handler: (state) => {
      calls += 1;
      if (calls > 1) return { newState: state, toolResult: "ended" };
      setImmediate(onHang);
      return new Promise<never>(() => {});
    },
  });
}

const both = {
  calls: [
    { name: "store", args: { key: "a" } },
    { name: "hang", args: {} },
  ],
};

const standard = {};
const workflow = {
  workflow_graph: {
    entry_point: "ask",
    nodes: [
      { name: "ask", type: "llm" as const, config: { prompt: "Ask", tools: "all" as const } },
      { name: "run", type: "tool" as const },
    ],
    edges: [
      { from: "ask", to: "run", condition: "size(last.tool_calls) > 0" },
      { from: "ask", to: "END" },
      { from: "run", to: "ask" },
    ],
  },
  execution_config: { max_iterations: 3 },
};

describe.each([
  ["the standard loop", standard],
  ["a workflow", workflow],
])("a step that is cut off in %s", (_, shape) => {
  const define = (onHang: () => void) =>
    defineAgent({
      name: "cut-off",
      ...shape,
      initialExecutionState: (): Record<string, unknown> => ({ given: 1 }),
      tools: [store, hanging(onHang)],
    });

  it("keeps what ended calls wrote when the turn's time is up", async () => {
    const timed: TestRun = await testRuntime([both]);
    const agent = define(() => timed.clock.advance(60_000));
    const result = await executeAgent(agent, { message: "go" }, { runtime: timed.runtime });
    expect([result.status, result.failure?.cause]).toEqual(["FAILED", "turn_timeout"]);
    expect(result.steps[0]?.tool_results.map((r) => [r.name, r.outcome, r.result])).toEqual([
      ["store", "success", "stored a"],
      ["hang", "timeout", null],
    ]);
    expect(result.state).toEqual({ execution: { given: 1, a: "answer" }, attempt: { last: "a" } });
  });

  it("keeps what ended calls wrote when the turn is cancelled, and does not write it twice when it goes on", async () => {
    const stop = new AbortController();
    const { runtime } = await testRuntime([both, "done"]);
    const agent = define(() => stop.abort(new Error("enough")));
    const options = { runtime, threadId: "t" };
    const cancelled = await executeAgent(
      agent,
      { message: "go" },
      { ...options, signal: stop.signal },
    );
    expect([cancelled.status, cancelled.state]).toEqual([
      "CANCELLED",
      { execution: { given: 1, a: "answer" }, attempt: { last: "a" } },
    ]);
    const resumed = await executeAgent(agent, null, options);
    expect([resumed.status, resumed.state]).toEqual(["COMPLETED", cancelled.state]);
    expect(resumed.steps[0]?.tool_results.map(({ outcome }) => outcome)).toEqual([
      "success",
      "success",
    ]);
  });
});

describe("a step that is cut off", () => {
  it("keeps nothing of a call whose result a guardrail was still reading", async () => {
    const timed: TestRun = await testRuntime([{ calls: [{ name: "store", args: { key: "a" } }] }]);
    const slow = defineRail({
      name: "slow",
      on: ["tool_result"],
      check: () => {
        setImmediate(() => timed.clock.advance(60_000));
        return new Promise<never>(() => {});
      },
    });
    const agent = defineAgent({
      name: "guarded",
      tools: [store],
      guardrail_config: { input_rails: [{ type: "custom", name: "slow" }] },
      rails: [slow],
    });
    const result = await executeAgent(agent, { message: "go" }, { runtime: timed.runtime });
    expect(result.steps[0]?.tool_results.map(({ outcome }) => outcome)).toEqual(["timeout"]);
    expect(result.state.execution).toEqual({});
  });

  it("leaves what a node beside it wrote to the same tier", async () => {
    const timed: TestRun = await testRuntime(repliesByPrompt({ Ask: both }));
    const agent = defineAgent({
      name: "beside",
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "llm", config: { prompt: "Ask", tools: "all" } },
          { name: "run", type: "tool" },
          { name: "other", type: "tool", config: { tool: "store", args: { key: "b" } } },
          { name: "join", type: "llm", config: { prompt: "Join" } },
        ],
        edges: [
          { from: "ask", to: ["run", "other"] },
          { from: "run", to: "join" },
          { from: "other", to: "join" },
          { from: "join", to: "END" },
        ],
      },
      tools: [store, hanging(() => timed.clock.advance(60_000))],
    });
    const result = await executeAgent(agent, { message: "go" }, { runtime: timed.runtime });
    expect([result.status, result.state.execution]).toEqual([
      "FAILED",
      { a: "answer", b: "answer" },
    ]);
  });
});
