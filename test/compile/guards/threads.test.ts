import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, Command, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const thread = { configurable: { thread_id: "t" } };
const hello = { input: { message: "go" } };

/** An agent that calls a tool, and asks whether its result may be used. */
function callingAgent(handler: () => unknown, waits = false) {
  const work = defineTool({
    name: "work",
    description: "Works.",
    input_schema: z.object({}),
    handler,
    requires_approval: waits,
  });
  return defineAgent({
    name: "worker",
    tools: [work],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "work",
      nodes: [{ name: "work", type: "tool", config: { tool: "work" } }],
      edges: [{ from: "work", to: "END" }],
      output: { message: "${nodes.work.result}" },
    },
  });
}

/** A tool that is under way until it is let go on. */
function pausing() {
  let goOn = () => {};
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const isOver = new Promise<void>((resolve) => (goOn = resolve));
  const handler = async () => {
    begin();
    await isOver;
    return "worked";
  };
  return { handler, begun, goOn: () => goOn() };
}

const busy = { code: "thread_busy", threadId: "t" };

describe("the thread of a compiled graph", () => {
  it("takes neither another run nor an edit while one is under way", async () => {
    const { handler, begun, goOn } = pausing();
    const agent = callingAgent(handler);
    const { runtime } = await testRuntime([]);
    const graph = await compileAgent(agent, runtime);
    const run = graph.invoke(hello, thread);
    await begun;
    await expect(graph.invoke(null, thread)).rejects.toMatchObject(busy);
    await expect(graph.withConfig(thread).stream(null)).rejects.toMatchObject(busy);
    await expect(graph.updateState(thread, { execution: { n: 1 } })).rejects.toMatchObject(busy);
    await expect(executeAgent(agent, null, { runtime, threadId: "t" })).rejects.toMatchObject(busy);
    goOn();
    expect((await run).output).toEqual({ message: "worked" });
    const { output } = await graph.invoke(hello, thread);
    expect(output).toEqual({ message: "worked" });
  });

  it("is taken as well where the graph was given its checkpointer", async () => {
    const { handler, begun, goOn } = pausing();
    const graph = await compileAgent(callingAgent(handler));
    graph.checkpointer = new MemorySaver();
    const run = graph.invoke(hello, thread);
    await begun;
    await expect(graph.invoke(null, thread)).rejects.toMatchObject(busy);
    goOn();
    await run;
  });

  it("is free again when the stream of its run is not read", async () => {
    const { handler, begun, goOn } = pausing();
    const { runtime } = await testRuntime([]);
    let free = () => {};
    const isFree = new Promise<void>((resolve) => (free = resolve));
    const lockThread = async () => ({ release: async () => free() });
    const graph = await compileAgent(callingAgent(handler), { ...runtime, lockThread });
    await graph.stream(hello, thread);
    await begun;
    goOn();
    await isFree;
    await new Promise(setImmediate);
    expect((await graph.invoke(hello, thread)).status).toBe("COMPLETED");
  });

  it("is left by a run that was aborted to the next one, which waits for that", async () => {
    const { handler, begun, goOn } = pausing();
    const { runtime } = await testRuntime([]);
    const graph = await compileAgent(callingAgent(handler), runtime);
    const abort = new AbortController();
    const run = graph.invoke(hello, { ...thread, signal: abort.signal });
    await begun;
    abort.abort();
    const next = graph.invoke(null, thread);
    await expect(run).rejects.toThrow(/abort/i);
    goOn();
    expect((await next).output).toEqual({ message: "worked" });
  });

  it("is free at once after a refused answer, and after one that had people asked again", async () => {
    const { runtime } = await testRuntime([]);
    const besides: unknown[] = [];
    const agent = callingAgent(async () => {
      const beside = executeAgent(agent, null, { runtime, threadId: "t" });
      besides.push(await beside.catch((thrown: { code: string }) => thrown.code));
      return "worked";
    }, true);
    const graph = await compileAgent(agent, runtime);
    await graph.invoke(hello, thread);
    const answer = (resume: unknown) => graph.invoke(new Command({ resume }), thread);
    await expect(answer("maybe")).rejects.toMatchObject({ code: "invalid_answer" });
    await graph.updateState(thread, { execution: { n: 1 } });
    await expect(answer("approve")).rejects.toMatchObject({ code: "approval_mismatch" });
    expect((await answer("approve")).output).toEqual({ message: "worked" });
    expect(besides).toEqual(["thread_busy"]);
    expect((await graph.invoke(hello, thread)).status).toBe("AWAITING_HUMAN");
  });

  it("is another one with another checkpointer, also in a tool", async () => {
    const inner = await compileAgent(callingAgent(() => "worked"));
    inner.checkpointer = new MemorySaver();
    const { runtime } = await testRuntime([]);
    const twice = async () => {
      const runs = [inner.invoke(hello, thread), inner.invoke(hello, thread)];
      return (await Promise.allSettled(runs)).map(({ status }) => status).join();
    };
    const graph = await compileAgent(callingAgent(twice), runtime);
    expect((await graph.invoke(hello, thread)).output).toEqual({ message: "fulfilled,rejected" });
  });

  it("is that of the graph around it, whose nodes may run it at the same time", async () => {
    const { runtime } = await testRuntime([]);
    const agent = callingAgent(() => "worked");
    const graph = await compileAgent(agent, runtime);
    const node = async (_state: unknown, config: RunnableConfig) => {
      const { status } = await graph.invoke(hello, config);
      return { statuses: [status] };
    };
    const State = Annotation.Root({
      statuses: Annotation<string[]>({ reducer: (all, more) => [...all, ...more] }),
    });
    const around = new StateGraph(State)
      .addNode("left", node)
      .addNode("right", node)
      .addEdge(START, "left")
      .addEdge(START, "right")
      .compile({ checkpointer: runtime.checkpointer as MemorySaver });
    const { statuses } = await around.invoke({ statuses: [] }, thread);
    expect(statuses).toEqual(["COMPLETED", "COMPLETED"]);
  });

  it("is locked against other processes, whose run ends when the lock is lost", async () => {
    const { handler, begun } = pausing();
    const { runtime } = await testRuntime([]);
    const lost = new AbortController();
    const log: string[] = [];
    const lockThread = async (threadId: string) => {
      log.push(`lock ${threadId}`);
      return { signal: lost.signal, release: async () => void log.push(`release ${threadId}`) };
    };
    const graph = await compileAgent(callingAgent(handler), { ...runtime, lockThread });
    const run = graph.invoke(hello, thread);
    await begun;
    const gone = new Error("the session has ended");
    lost.abort(gone);
    await expect(run).rejects.toBe(gone);
    expect(log).toEqual(["lock t", "release t"]);
  });
});
