import { END, MemorySaver, START, StateGraph, Annotation } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => text,
});
const call = (text: string) => ({ calls: [{ name: "echo", args: { text } }] });

describe("limits", () => {
  it("answer from what is known when the recursion limit of a graph around comes near", async () => {
    const script = [
      ...Array.from({ length: 9 }, (_, n) => call(String(n))),
      "Known so far.",
      "Known so far.",
    ];
    const { runtime } = await testRuntime(script, { checkpointer: false });
    const long = defineAgent({
      name: "long",
      tools: [echo],
      execution_config: { max_iterations: 50 },
    });
    const inner = await compileAgent(long, runtime);
    const State = Annotation.Root({ answer: Annotation<unknown>() });
    const outer = new StateGraph(State)
      .addNode("agent", async (_state, config) => {
        const result = await inner.invoke({ input: { message: "go" } }, { ...config });
        return { answer: result.output };
      })
      .addEdge(START, "agent")
      .addEdge("agent", END)
      .compile();
    expect((await outer.invoke({})).answer).toEqual({ message: "Known so far." });
  });

  it("keep what had ended of a step that the turn's time cut off", async () => {
    const timed = await testRuntime([
      {
        calls: [
          { name: "echo", args: { text: "sent" } },
          { name: "hang", args: {} },
        ],
      },
    ]);
    const agent = defineAgent({
      name: "cut-off",
      tools: [
        echo,
        defineTool({
          name: "hang",
          description: "Never returns.",
          input_schema: z.object({}),
          execution: { timeout_ms: 120_000 },
          handler: () => {
            setImmediate(() => timed.clock.advance(60_000));
            return new Promise(() => {});
          },
        }),
      ],
    });
    const { steps, usage } = await executeAgent(
      agent,
      { message: "go" },
      { runtime: timed.runtime, onEvent: timed.onEvent },
    );
    expect(steps[0]?.tool_results.map((r) => [r.name, r.outcome, r.result])).toEqual([
      ["echo", "success", "sent"],
      ["hang", "timeout", null],
    ]);
    expect(usage).toMatchObject({ llm_calls: 1, tool_calls: 2 });
    expect(timed.events.filter((event) => event.type === "step")).toHaveLength(1);
  });

  it("refuse a message that is too large before anything is stored", async () => {
    const saver = new MemorySaver();
    const { runtime } = await testRuntime([], { checkpointer: saver });
    const graph = await compileAgent(defineAgent({ name: "small" }), runtime);
    const messages = [{ role: "user", content: "x".repeat(2_000_000) }];
    const config = { configurable: { thread_id: "t" } };
    await expect(graph.invoke({ messages }, config)).rejects.toThrow(
      "a message has 2,000,000 bytes, the limit is 1,000,000",
    );
    expect(await saver.getTuple(config)).toBeUndefined();
  });

  it("hold for a last call that gives no answer either", async () => {
    const { runtime } = await testRuntime([call("a"), { calls: [] }]);
    const once = defineAgent({
      name: "once",
      tools: [echo],
      execution_config: { max_iterations: 1, max_attempts: 1 },
    });
    const result = await executeAgent(once, { message: "go" }, { runtime });
    expect(result).toMatchObject({ status: "FAILED", incomplete: false });
    expect(result.attempts[0]?.errors).toEqual(["no steps were left, and no final answer came"]);
  });
});

describe("checkpoint_frequency", () => {
  it("holds for a compiled graph too", async () => {
    const saver = new MemorySaver();
    const { runtime } = await testRuntime(["one"], { checkpointer: saver });
    const rare = defineAgent({
      name: "rare",
      execution_config: { checkpoint_frequency: "every_turn" },
    });
    const graph = await compileAgent(rare, runtime);
    const config = { configurable: { thread_id: "t" } };
    await graph.invoke({ input: { message: "go" } }, config);
    const kept = [];
    for await (const one of saver.list(config)) kept.push(one);
    expect(kept).toHaveLength(1);
  });
});

describe("validate", () => {
  const validating = (validate: () => never) =>
    defineAgent({ name: "validating", execution_config: { max_attempts: 1 }, validate });

  it.each([false, true, 7, {}])("may not return %j", async (said) => {
    const { runtime } = await testRuntime(["x"]);
    const agent = validating(() => said as never);
    await expect(executeAgent(agent, { message: "go" }, { runtime })).rejects.toMatchObject({
      code: "validate_return",
    });
  });

  it("ends the run loudly for a bug in it", async () => {
    const { runtime } = await testRuntime(["x"]);
    const agent = validating(() => (undefined as never as { a: { b: never } }).a.b);
    await expect(executeAgent(agent, { message: "go" }, { runtime })).rejects.toThrow(TypeError);
  });
});
