import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { cancellable } from "../../src/compile/run/run-config.ts";
import { compileAgent, defineAgent, executeAgent } from "../../src/index.ts";
import { around, asker, insideOf } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

/** A reply that says when it was asked for, and comes when the run ends it. */
function hanging() {
  let ask = () => {};
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const reply: ScriptedReply = (_request, config) =>
    new Promise((_resolve, reject) => {
      config.signal?.addEventListener("abort", () => reject(config.signal?.reason as Error));
      ask();
    });
  return { asked, reply };
}

describe("an agent that is cut off inside of a node", () => {
  const worker = defineAgent({ name: "worker", execution_config: { timeout_seconds: 600 } });
  const config = { configurable: { thread_id: "t" } };

  it("ends CANCELLED with what it has spent when the turn around it is cancelled", async () => {
    const { asked, reply } = hanging();
    const checkpointer = new MemorySaver();
    const busy = defineAgent({
      name: "busy",
      workflow_graph: {
        entry_point: "one",
        nodes: [
          { name: "one", type: "llm", config: { prompt: "One" } },
          { name: "two", type: "llm", config: { prompt: "Two" } },
        ],
        edges: [
          { from: "one", to: "two" },
          { from: "two", to: "END" },
        ],
      },
    });
    const agent = around("outer", busy);
    const { runtime } = await testRuntime(["ok", "one", reply], { checkpointer });
    const cancel = new AbortController();
    const running = executeAgent(
      agent,
      { message: "go" },
      { runtime, threadId: "t", signal: cancel.signal },
    );
    await asked;
    cancel.abort();
    const result = await running;
    expect([result.status, result.failure]).toEqual(["CANCELLED", null]);
    expect(result.usage.llm_calls).toBe(2);
    expect(await insideOf(checkpointer)).toMatchObject({
      status: "CANCELLED",
      steps: [expect.objectContaining({ node: "one" })],
    });
  });

  it("ends CANCELLED when the turn around it has no more time, which is FAILED", async () => {
    const { asked, reply } = hanging();
    const checkpointer = new MemorySaver();
    const { runtime, clock } = await testRuntime(["ok", reply], { checkpointer });
    const running = executeAgent(
      around("outer", worker),
      { message: "go" },
      { runtime, threadId: "t" },
    );
    await asked;
    clock.advance(60_000);
    const { status, failure } = await running;
    expect([status, failure?.cause]).toEqual(["FAILED", "turn_timeout"]);
    expect(failure?.message).toContain("its 60 s");
    expect(await insideOf(checkpointer)).toMatchObject({ status: "CANCELLED" });
  });

  it("ends the attempt around it when its own time is over", async () => {
    const { asked, reply } = hanging();
    const hasty = defineAgent({ name: "hasty", execution_config: { timeout_seconds: 5 } });
    const { runtime, clock } = await testRuntime(["ok", reply]);
    const running = executeAgent(around("outer", hasty), { message: "go" }, { runtime });
    await asked;
    clock.advance(5_000);
    const { status, attempts } = await running;
    expect(status).toBe("FAILED");
    expect(attempts[0]?.errors[0]).toContain(
      'agent "hasty" of node "inner" failed (turn_timeout): The turn took longer than its 5 s.',
    );
  });

  it("goes on where it was when the process has died", async () => {
    const checkpointer = new MemorySaver();
    const dying: ScriptedReply = () => {
      throw new Error("the process dies");
    };
    const agent = around("outer", asker);
    const first = await waitingThread(agent, ["ok", "which", dying], { checkpointer });
    await first.start("go");
    await expect(first.answer("this")).rejects.toThrow("the process dies");
    const second = await waitingThread(agent, ["done"], { checkpointer });
    const state = await second.again();
    expect(state).toMatchObject({ status: "COMPLETED", output: { message: "done" } });
    expect(second.model.read(0).at(-1)).toBe("human: Write this");
    expect(state.usage.llm_calls).toBe(3);
  });

  it("runs afresh when the turn is resumed from before it was cancelled", async () => {
    const { asked, reply } = hanging();
    const { runtime, model } = await testRuntime(["ok", reply, "done"]);
    const agent = around("outer", worker);
    const cancel = new AbortController();
    const running = executeAgent(
      agent,
      { message: "go" },
      { runtime, threadId: "t", signal: cancel.signal },
    );
    await asked;
    cancel.abort();
    await running;
    const { status, output, usage } = await executeAgent(agent, null, { runtime, threadId: "t" });
    expect([status, output]).toEqual(["COMPLETED", { message: "done" }]);
    expect([usage.llm_calls, model.requests.length]).toEqual([2, 3]);
  });

  it("is torn down with a run that LangGraph's own signal ends", async () => {
    const { asked, reply } = hanging();
    const { runtime } = await testRuntime(["ok", reply]);
    const graph = await compileAgent(around("outer", worker), runtime);
    const tear = new AbortController();
    const running = graph.invoke({ input: { message: "go" } }, { ...config, signal: tear.signal });
    await asked;
    tear.abort();
    await expect(running).rejects.toThrow("aborted");
  });

  it("is cancelled in a graph that is run by itself", async () => {
    const { runtime } = await testRuntime(["ok"]);
    const graph = await compileAgent(around("outer", worker), runtime);
    const state = await graph.invoke(
      { input: { message: "go" } },
      cancellable(config, AbortSignal.abort()),
    );
    expect(state.status).toBe("CANCELLED");
  });
});
