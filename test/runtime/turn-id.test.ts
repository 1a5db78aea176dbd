import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { withTurnId } from "../../src/compile/run/run-config.ts";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { ModelCallError } from "../../src/models/errors.ts";
import { noUsage } from "../../src/state/usage.ts";
import { testRuntime } from "../helpers/run-agent.ts";

let echoed = 0;
const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => {
    echoed += 1;
    return text;
  },
});
const agent = defineAgent({ name: "echoer", tools: [echo] });
const call = { calls: [{ name: "echo", args: { text: "a" } }] };
const go = { message: "go" };

describe("executeAgent with a turnId", () => {
  it("returns the result of the turn that has it, and runs nothing again", async () => {
    const { runtime, model } = await testRuntime([call, "a", "b"]);
    const options = { runtime, threadId: "t", turnId: "one" };
    const first = await executeAgent(agent, go, options);
    const again = await executeAgent(agent, go, options);
    expect(again).toEqual({ ...first, invocation_usage: noUsage });
    expect(model.requests).toHaveLength(2);
    const next = await executeAgent(agent, go, { ...options, turnId: "two" });
    expect([next.output, next.steps[0]?.turn_number]).toEqual([{ message: "b" }, 1]);
  });

  it("names the journal's run of the turn, and none of a nested agent", async () => {
    const { runtime } = await testRuntime(["inner", "outer"]);
    const outer = defineAgent({
      name: "outer",
      agents: [defineAgent({ name: "inner" })],
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "agent", config: { agent: "inner" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    await executeAgent(outer, go, { runtime, threadId: "t", turnId: "one" });
    const graph = await compileAgent(outer, runtime);
    const { values } = await graph.getState({ configurable: { thread_id: "t" } });
    expect((values as { turn: { run: string } }).turn.run).toBe("one");
    const runs = new Set<string>();
    const saver = runtime.checkpointer as MemorySaver;
    for await (const { checkpoint } of saver.list({ configurable: { thread_id: "t" } })) {
      const { turn } = checkpoint.channel_values as { turn?: { run: string; agent: string } };
      if (turn?.agent === "inner") runs.add(turn.run);
    }
    expect(runs.has("one")).toBe(false);
  });

  it("returns a failed turn, and does not try it again", async () => {
    const { runtime, model } = await testRuntime([
      () => {
        throw new ModelCallError({
          ref: "test:scripted",
          reason: "outage",
          message: "It is down.",
        });
      },
      "a",
    ]);
    const options = { runtime, threadId: "t", turnId: "one" };
    const first = await executeAgent(agent, go, options);
    expect(first.status).toBe("FAILED");
    const again = await executeAgent(agent, go, options);
    expect([again.status, again.failure]).toEqual(["FAILED", first.failure]);
    const { length } = model.requests;
    expect((await executeAgent(agent, go, { ...options, turnId: "two" })).status).toBe("COMPLETED");
    expect(model.requests.length).toBe(length + 1);
  });

  it("returns the requests of a turn that waits", async () => {
    const asking = defineAgent({
      name: "asking",
      tools: [echo],
      guardrail_config: { tool_rails: { require_approval: ["echo"] } },
    });
    const { runtime, model } = await testRuntime([call, "a"]);
    const options = { runtime, threadId: "t", turnId: "one" };
    const first = await executeAgent(asking, go, options);
    const again = await executeAgent(asking, go, options);
    expect(again.status).toBe("AWAITING_HUMAN");
    expect(again.interrupts).toEqual(first.interrupts);
    expect(model.requests).toHaveLength(1);
    const done = await executeAgent(asking, null, { runtime, threadId: "t", answer: true });
    expect(done.output).toEqual({ message: "a" });
    expect(await executeAgent(asking, go, options)).toMatchObject({ output: { message: "a" } });
  });

  it("returns the calls of client tools that wait, then the cancellation", async () => {
    const look = defineTool({
      name: "look",
      description: "Looks on the client.",
      input_schema: z.object({}),
      transport: { type: "client" },
    });
    const remote = defineAgent({ name: "remote", tools: [look] });
    const { runtime, model } = await testRuntime([{ calls: [{ name: "look", args: {} }] }]);
    const options = { runtime, threadId: "t", turnId: "one" };
    const first = await executeAgent(remote, go, options);
    const again = await executeAgent(remote, go, options);
    expect([again.status, again.toolCalls]).toEqual(["AWAITING_TOOL", first.toolCalls]);
    await runtime.threads.cancel("t", { reason: "enough" });
    const last = await executeAgent(remote, go, options);
    expect(last).toMatchObject({ status: "CANCELLED", cancel_reason: "enough", toolCalls: [] });
    expect(model.requests).toHaveLength(1);
  });

  it("is refused for the turn of another user, whether it waits or has ended", async () => {
    const { runtime } = await testRuntime(["a"]);
    const options = { runtime, threadId: "t", turnId: "one" };
    await executeAgent(agent, go, { ...options, user: "ada" });
    await expect(executeAgent(agent, go, { ...options, user: "eve" })).rejects.toMatchObject({
      code: "other_user",
    });
    const { output } = await executeAgent(agent, go, { ...options, user: "ada" });
    expect(output).toEqual({ message: "a" });
  });

  it("resumes a turn that was interrupted", async () => {
    const { runtime, model } = await testRuntime([call, "a"]);
    const graph = await compileAgent(agent, runtime);
    const thread = { configurable: { thread_id: "t" } };
    const before = echoed;
    await graph.invoke({ input: go }, { ...withTurnId(thread, "one"), interruptBefore: ["tools"] });
    expect([model.requests.length, echoed - before]).toEqual([1, 0]);
    await expect(
      executeAgent(agent, go, { runtime, threadId: "t", turnId: "two" }),
    ).rejects.toMatchObject({ code: "unfinished_turn" });
    const result = await executeAgent(agent, go, { runtime, threadId: "t", turnId: "one" });
    expect(result.output).toEqual({ message: "a" });
    expect([model.requests.length, echoed - before]).toEqual([2, 1]);
  });

  it.each(["", "x".repeat(201), "a\nb", "\uD800"])("refuses %j", async (turnId) => {
    const { runtime } = await testRuntime([]);
    await expect(executeAgent(agent, go, { runtime, turnId })).rejects.toMatchObject({
      code: "invalid_run_option",
    });
  });

  it("returns the result of a turn that has ended instead of resuming it", async () => {
    const { runtime, model } = await testRuntime([call, "a"]);
    const options = { runtime, threadId: "t", turnId: "one" };
    const first = await executeAgent(agent, go, options);
    const again = await executeAgent(agent, null, options);
    expect(again).toEqual({ ...first, invocation_usage: noUsage });
    expect(model.requests).toHaveLength(2);
    await expect(executeAgent(agent, null, { ...options, turnId: "two" })).rejects.toMatchObject({
      code: "nothing_to_resume",
    });
  });

  it("answers a turn that waits", async () => {
    const { runtime } = await testRuntime(["done"]);
    const asking = defineAgent({
      name: "asking",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "human", config: { kind: "approval", prompt: "Go on?" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    const options = { runtime, threadId: "t", turnId: "one" };
    const asked = await executeAgent(asking, go, options);
    expect(asked.status).toBe("AWAITING_HUMAN");
    const still = await executeAgent(asking, null, options);
    expect(still.interrupts).toEqual(asked.interrupts);
    const answered = await executeAgent(asking, null, { ...options, answer: true });
    expect(answered.status).toBe("COMPLETED");
  });
});
