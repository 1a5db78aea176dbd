import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { ModelCallError } from "../../src/models/errors.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => text,
});
const agent = defineAgent({ name: "echoer", tools: [echo] });
const call = { calls: [{ name: "echo", args: { text: "a" } }] };

describe("executeAgent", () => {
  it("tells what happens in order, with node and attempt", async () => {
    const { runtime, events, onEvent } = await testRuntime([{ text: "Hm.", ...call }, "a"]);
    await executeAgent(agent, { message: "go" }, { runtime, onEvent });
    expect(events.map((e) => `${e.node}: ${e.type === "status" ? e.status : e.type}`)).toEqual([
      "initialize: CREATED",
      "initialize: INITIALIZING",
      "plan: PLANNING",
      "reason: EXECUTING",
      "reason: thought",
      "reason: tool_call",
      "tools: AWAITING_TOOL",
      "tools: tool_result",
      "tools: step",
      "reason: EXECUTING",
      "reason: thought",
      "reason: step",
      "reflect: REFLECTING",
      "finalize: COMPLETED",
      "finalize: message",
      "finalize: done",
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "done",
      turn_number: 0,
      attempt_number: 0,
      output: { message: "a" },
      usage: { llm_calls: 2, tool_calls: 1 },
    });
  });

  it("refuses a wrong input before anything is written", async () => {
    const { runtime } = await testRuntime([]);
    await expect(
      executeAgent(agent, { mesage: "go" } as never, { runtime, threadId: "t" }),
    ).rejects.toMatchObject({ code: "invalid_input", kind: "usage" });
    const graph = await compileAgent(agent, runtime);
    const config = { configurable: { thread_id: "t" } };
    await expect(graph.invoke({ input: { mesage: "go" } }, config)).rejects.toMatchObject({
      code: "invalid_input",
    });
    expect((await graph.getState(config)).createdAt).toBeUndefined();
  });

  it("names the limit of an input that is too large", async () => {
    const { runtime } = await testRuntime([]);
    await expect(
      executeAgent(agent, { message: "x".repeat(10_000_000) }, { runtime }),
    ).rejects.toThrow("it has 10,000,014 bytes of JSON, the limit is 1,000,000");
  });

  it.each([
    ["", "is empty"],
    ["a\nb", "has the control character U+000A at 1"],
    ["a\u0000", "has the control character U+0000 at 1"],
    ["x".repeat(10_000), "has 10,000 characters"],
  ])("refuses the thread id %j", async (threadId, problem) => {
    const { runtime } = await testRuntime([]);
    await expect(executeAgent(agent, { message: "go" }, { runtime, threadId })).rejects.toThrow(
      `The thread id ${problem}. Use 1 to 255 characters without control characters.`,
    );
  });

  it("says that threads need a checkpointer", async () => {
    const { runtime } = await testRuntime([], { checkpointer: false });
    await expect(
      executeAgent(agent, { message: "go" }, { runtime, threadId: "t" }),
    ).rejects.toMatchObject({ code: "no_checkpointer" });
  });

  it("ends FAILED when no model answers, and goes on from the last completed turn", async () => {
    const outage = () => {
      throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "It is down." });
    };
    const { runtime, model } = await testRuntime(["one", outage, "three"]);
    const run = (message: string) => executeAgent(agent, { message }, { runtime, threadId: "t" });
    await run("first");
    const failed = await run("second");
    expect(failed).toMatchObject({
      status: "FAILED",
      output: null,
      failure: { cause: "model_call" },
    });
    const third = await run("third");
    expect(third.status).toBe("COMPLETED");
    expect(model.read(2)).toEqual(["human: first", "ai: one", "human: third"]);
    expect(third.steps[0]?.turn_number).toBe(1);
  });

  it("goes on with a thread whose first turn failed", async () => {
    const outage = () => {
      throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "It is down." });
    };
    const { runtime, model } = await testRuntime([outage, "two"]);
    const run = (message: string) => executeAgent(agent, { message }, { runtime, threadId: "t" });
    await run("first");
    expect((await run("second")).status).toBe("COMPLETED");
    expect(model.read(1)).toEqual(["human: second"]);
  });

  it("aborts what runs when the turn's time is up, and fails the turn", async () => {
    const { runtime, clock } = await testRuntime([
      (_request, config) =>
        new Promise((_resolve, reject) => {
          config.signal?.addEventListener("abort", () => reject(config.signal?.reason));
          clock.advance(60_000);
        }),
    ]);
    const result = await executeAgent(agent, { message: "go" }, { runtime });
    expect(result).toMatchObject({ status: "FAILED", failure: { cause: "turn_timeout" } });
  });

  it("ends CANCELLED when its signal aborts, and the thread goes on from there", async () => {
    const abort = new AbortController();
    const waits = (_request: unknown, config: { signal?: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => {
        config.signal?.addEventListener("abort", () => reject(config.signal?.reason));
        abort.abort(new Error("stop"));
      });
    const { runtime, model } = await testRuntime([call, waits, "a, after all"]);
    const options = { runtime, threadId: "t" };
    const cancelled = await executeAgent(
      agent,
      { message: "go" },
      { ...options, signal: abort.signal },
    );
    expect(cancelled).toMatchObject({ status: "CANCELLED", output: null });
    expect(cancelled.steps).toHaveLength(1);
    const graph = await compileAgent(agent, runtime);
    const stored = await graph.getState({ configurable: { thread_id: "t" } });
    expect(stored.values).toMatchObject({ status: "CANCELLED" });
    expect(stored.next).toEqual([]);

    const resumed = await executeAgent(agent, null, options);
    expect(resumed).toMatchObject({ status: "COMPLETED", output: { message: "a, after all" } });
    expect(resumed.steps.map((s) => s.next_action)).toEqual(["use_tools", "finish"]);
    expect(model.read(2)).toEqual(["human: go", "ai: ", "tool: a"]);
  });

  it("refuses a new input while a turn is unfinished, and resumes that turn", async () => {
    const crash = () => {
      throw new TypeError("a bug");
    };
    const { runtime } = await testRuntime([call, crash, "a"]);
    const options = { runtime, threadId: "t" };
    await expect(executeAgent(agent, { message: "go" }, options)).rejects.toThrow("a bug");
    await expect(executeAgent(agent, { message: "more" }, options)).rejects.toMatchObject({
      code: "unfinished_turn",
      status: "EXECUTING",
    });
    const resumed = await executeAgent(agent, null, options);
    expect(resumed).toMatchObject({ status: "COMPLETED", output: { message: "a" } });
  });

  it("says that there is nothing to resume", async () => {
    const { runtime } = await testRuntime(["one"]);
    const options = { runtime, threadId: "t" };
    await expect(executeAgent(agent, null, options)).rejects.toThrow(
      'Thread "t" does not exist: there is nothing to resume. Give an input to run a turn.',
    );
    await executeAgent(agent, { message: "go" }, options);
    await expect(executeAgent(agent, null, options)).rejects.toThrow('Thread "t" ended COMPLETED');
  });

  it("stops a thread after its last turn", async () => {
    const { runtime } = await testRuntime(["one", "two"]);
    const single = defineAgent({ name: "single", execution_config: { max_turns: 1 } });
    const run = () => executeAgent(single, { message: "go" }, { runtime, threadId: "t" });
    await run();
    await expect(run()).rejects.toMatchObject({ code: "turn_limit" });
  });

  it("refuses an agent that is not active", async () => {
    const { runtime } = await testRuntime([]);
    const inactive = defineAgent({ name: "off", is_active: false });
    await expect(executeAgent(inactive, { message: "go" }, { runtime })).rejects.toMatchObject({
      code: "inactive_agent",
    });
  });

  it("names an initialiser that returns no object", async () => {
    const { runtime } = await testRuntime([]);
    const wrong = defineAgent({ name: "wrong", initialExecutionState: () => null as never });
    await expect(executeAgent(wrong, { message: "go" }, { runtime })).rejects.toThrow(
      "initialExecutionState must return a plain object, not null.",
    );
  });
});
