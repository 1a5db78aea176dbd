import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { ModelCallError } from "../../src/models/errors.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const agent = defineAgent({ name: "plain", execution_config: { max_attempts: 1 } });
const thread = { configurable: { thread_id: "t" } };

const outage: ScriptedReply = () => {
  throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "It is down." });
};

describe("a thread", () => {
  it("goes on after its first turns failed again and again", async () => {
    const { runtime, model } = await testRuntime([outage, outage, outage, "four", "five"]);
    const run = (message: string) => executeAgent(agent, { message }, { runtime, threadId: "t" });
    for (const message of ["1", "2", "3"]) expect((await run(message)).status).toBe("FAILED");
    expect((await run("4")).status).toBe("COMPLETED");
    expect((await run("5")).steps[0]?.turn_number).toBe(1);
    expect(model.read(4)).toEqual(["human: 4", "ai: four", "human: 5"]);
  });

  it("goes on after inputs that the graph refused on top of a failed turn", async () => {
    const { runtime } = await testRuntime([outage, "two"]);
    const options = { runtime, threadId: "t" };
    await executeAgent(agent, { message: "1" }, options);
    const graph = await compileAgent(agent, runtime);
    // Earlier versions wrote an input before they refused it.
    Reflect.deleteProperty(graph, "stream");
    const again = { messages: [{ role: "user", content: "hello?" }] };
    await expect(graph.invoke(again, thread)).rejects.toMatchObject({ code: "invalid_transition" });
    expect((await executeAgent(agent, { message: "2" }, options)).output).toEqual({
      message: "two",
    });
  });

  it("asks people again where an input was written on top of what they were asked", async () => {
    const asks = defineAgent({
      name: "asks",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt: "Who?" } }],
        edges: [{ from: "ask", to: "END" }],
        output: { message: "${nodes.ask.value}" },
      },
    });
    const { runtime } = await testRuntime([]);
    const options = { runtime, threadId: "t" };
    await executeAgent(asks, { message: "go" }, options);
    const graph = await compileAgent(asks, runtime);
    Reflect.deleteProperty(graph, "stream");
    const again = { messages: [{ role: "user", content: "hello?" }] };
    await expect(graph.invoke(again, thread)).rejects.toMatchObject({ code: "invalid_transition" });
    const { waiting } = await runtime.threads.recover(asks, { threadId: "t" });
    expect(waiting).toMatchObject([{ prompt: "Who?" }]);
    const done = await executeAgent(asks, null, { ...options, answer: "Ada" });
    expect(done.output).toEqual({ message: "Ada" });
  });

  it("counts its first turn as 0 whatever it keeps", async () => {
    const rare = defineAgent({
      name: "rare",
      execution_config: { checkpoint_frequency: "every_turn", max_turns: 1 },
    });
    const { runtime } = await testRuntime(["one"]);
    const options = { runtime, threadId: "t" };
    const first = await executeAgent(rare, { message: "1" }, options);
    expect(first.steps[0]?.turn_number).toBe(0);
    await expect(executeAgent(rare, { message: "2" }, options)).rejects.toMatchObject({
      code: "turn_limit",
    });
  });

  it("has nothing written of a turn over its limit", async () => {
    const saver = new MemorySaver();
    const { runtime } = await testRuntime(["one"], { checkpointer: saver });
    const single = defineAgent({ name: "single", execution_config: { max_turns: 1 } });
    const options = { runtime, threadId: "t" };
    await executeAgent(single, { message: "1" }, options);
    const before = (await saver.getTuple(thread))?.checkpoint.id;
    await expect(executeAgent(single, { message: "2" }, options)).rejects.toThrow("its 1 turns");
    expect((await saver.getTuple(thread))?.checkpoint.id).toBe(before);
  });

  it("is not left unfinished by a handler that breaks its contract", async () => {
    const broken = defineAgent({
      name: "broken",
      initialExecutionState: () => ({ n: 0 }),
      tools: {
        bump: {
          description: "Counts.",
          input_schema: z.object({}),
          persistence: "execution",
          handler: () => undefined as never,
        },
      },
    });
    const { runtime } = await testRuntime([{ calls: [{ name: "bump", args: {} }] }, "fine"]);
    const options = { runtime, threadId: "t" };
    await expect(executeAgent(broken, { message: "1" }, options)).rejects.toMatchObject({
      code: "handler_returned_no_state",
    });
    const graph = await compileAgent(broken, runtime);
    expect((await graph.getState(thread)).values).toMatchObject({
      status: "FAILED",
      turn: { failure: { cause: "handler_returned_no_state" } },
    });
    expect((await executeAgent(broken, { message: "2" }, options)).status).toBe("COMPLETED");
  });

  it("runs one turn at a time", async () => {
    const abort = new AbortController();
    const { runtime } = await testRuntime([
      () => new Promise<never>(() => queueMicrotask(() => abort.abort())),
    ]);
    const options = { runtime, threadId: "t" };
    const running = executeAgent(agent, { message: "1" }, { ...options, signal: abort.signal });
    await expect(executeAgent(agent, { message: "2" }, options)).rejects.toMatchObject({
      code: "thread_busy",
    });
    expect((await running).status).toBe("CANCELLED");
  });

  it("keeps an answer that was accepted and not yet written into the conversation", async () => {
    const { runtime } = await testRuntime(["one"]);
    const graph = await compileAgent(agent, runtime);
    await graph.invoke({ input: { message: "1" } }, { ...thread, interruptBefore: ["finalize"] });
    const options = { runtime, threadId: "t" };
    await expect(executeAgent(agent, { message: "2" }, options)).rejects.toMatchObject({
      code: "unfinished_turn",
    });
    expect((await executeAgent(agent, null, options)).output).toEqual({ message: "one" });
  });

  it("is its own when an agent runs inside another one's tool", async () => {
    const saver = new MemorySaver();
    const inner = await testRuntime(["inner answer"], { checkpointer: saver });
    const outerAgent = defineAgent({
      name: "outer",
      tools: [
        defineTool({
          name: "delegate",
          description: "Asks another agent.",
          input_schema: z.object({}),
          handler: async () =>
            (
              await executeAgent(
                agent,
                { message: "in" },
                { runtime: inner.runtime, threadId: "in" },
              )
            ).output,
        }),
      ],
    });
    const outer = await testRuntime([{ calls: [{ name: "delegate", args: {} }] }, "done"], {
      checkpointer: saver,
    });
    const { onEvent, events } = outer;
    await executeAgent(
      outerAgent,
      { message: "out" },
      { runtime: outer.runtime, threadId: "out", onEvent },
    );
    expect(events.filter((event) => event.type === "done")).toHaveLength(1);
    const graph = await compileAgent(agent, inner.runtime);
    const stored = await graph.getState({ configurable: { thread_id: "in" } });
    expect(stored.values).toMatchObject({
      status: "COMPLETED",
      output: { message: "inner answer" },
    });
  });
});

describe("options of a run", () => {
  it("are refused by name when they are out of bounds", async () => {
    const { runtime } = await testRuntime([]);
    await expect(
      executeAgent(agent, { message: "1" }, { runtime, temperature: 7 }),
    ).rejects.toMatchObject({ code: "invalid_run_option", option: "temperature" });
  });
});
