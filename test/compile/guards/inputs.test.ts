import { HumanMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
  type AgentGraph,
  type Runtime,
} from "../../../src/index.ts";

const fails = defineTool({
  name: "fails",
  description: "Fails when told to.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => {
    if (text === "fail") throw new Error("told to");
    return text;
  },
});

/** Approves what it is given, then calls the tool with it. */
const agent = defineAgent({
  name: "approves",
  tools: [fails],
  execution_config: { max_attempts: 1, max_turns: 3 },
  workflow_graph: {
    entry_point: "ask",
    nodes: [
      { name: "ask", type: "human", config: { kind: "approval", proposed: "${input.message}" } },
      { name: "act", type: "tool", config: { tool: "fails", args: { text: "${input.message}" } } },
    ],
    edges: [
      { from: "ask", to: "act" },
      { from: "act", to: "END" },
    ],
  } as never,
});

const thread = { configurable: { thread_id: "t" } };
const says = (text: string) => ({ messages: [new HumanMessage(text)] });
const approve = new Command({ resume: "approve" });

async function compiled() {
  const saver = new MemorySaver();
  const runtime = await createRuntime({ checkpointer: saver, env: {} });
  return { saver, runtime, graph: await compileAgent(agent, runtime) };
}

describe("an input to a compiled agent", () => {
  it.each([
    ["a namespace", { checkpoint_ns: "x" }],
    ["what a run of ours carries", { __stratagraph_started: "t" }],
    ["a value of ours", { __stratagraph_started: { value: "t" } }],
  ])("is refused while the thread waits although a client sends %s", async (_name, sent) => {
    const { graph, saver } = await compiled();
    await graph.invoke(says("one"), thread);
    const before = JSON.stringify(saver.storage);
    const config = { configurable: { ...thread.configurable, ...sent } };
    await expect(graph.invoke(says("two"), config)).rejects.toMatchObject({
      code: "unfinished_turn",
    });
    expect(JSON.stringify(saver.storage)).toBe(before);
  });

  it("is refused while the thread waits, before anything is written, and the answer still fits", async () => {
    const { graph, saver } = await compiled();
    await graph.invoke(says("one"), thread);
    const before = JSON.stringify(saver.storage);
    const refused = graph.invoke(says("two"), thread);
    await expect(refused).rejects.toMatchObject({
      code: "unfinished_turn",
      status: "AWAITING_HUMAN",
      interrupts: [{ node: "ask", proposed: "one" }],
    });
    expect(JSON.stringify(saver.storage)).toBe(before);
    const done = await graph.invoke(approve, thread);
    expect(done).toMatchObject({ status: "COMPLETED", turn_number: 0 });
  });

  it("is refused at a named checkpoint that waits", async () => {
    const { graph } = await compiled();
    await graph.invoke(says("one"), thread);
    const { config } = await graph.getState(thread);
    await expect(graph.invoke(says("two"), config)).rejects.toMatchObject({
      code: "unfinished_turn",
    });
  });

  it("begins the next turn after one that FAILED from the last completed one", async () => {
    const { graph } = await compiled();
    await graph.invoke(says("one"), thread);
    await graph.invoke(approve, thread);
    await graph.invoke(says("fail"), thread);
    expect(await graph.invoke(approve, thread)).toMatchObject({ status: "FAILED" });
    await graph.invoke(says("two"), thread);
    const done = await graph.invoke(approve, thread);
    expect(done).toMatchObject({ status: "COMPLETED", turn_number: 1 });
    const texts = done.messages
      .filter((one) => HumanMessage.isInstance(one))
      .map(({ text }) => text);
    expect(texts).toEqual(["one", "two"]);
  });

  it("begins the next turn where a client names the newest checkpoint, which FAILED", async () => {
    const { graph } = await compiled();
    await graph.invoke(says("fail"), thread);
    expect(await graph.invoke(approve, thread)).toMatchObject({ status: "FAILED" });
    const { config } = await graph.getState(thread);
    expect(await graph.invoke(says("two"), config)).toMatchObject({ status: "AWAITING_HUMAN" });
    expect(await graph.invoke(approve, thread)).toMatchObject({ status: "COMPLETED" });
  });

  it("is refused by its schema before anything is written", async () => {
    const { graph, saver } = await compiled();
    await graph.invoke(says("fail"), thread);
    await graph.invoke(approve, thread);
    // What the failed turn began from is not kept, so that the thread must be made ready for the next one.
    const kept = saver.storage["t"]?.[""] ?? {};
    for (const id of Object.keys(kept).toSorted().slice(0, -1)) delete kept[id];
    const before = JSON.stringify(saver.storage);
    const refused = graph.invoke({ input: { message: 5 } }, thread);
    await expect(refused).rejects.toMatchObject({ code: "invalid_input" });
    expect(JSON.stringify(saver.storage)).toBe(before);
  });

  it("of executeAgent has its start looked up once", async () => {
    const reads: number[] = [];
    for (const read of [
      (graph: AgentGraph) => graph.invoke(says("one"), thread),
      (_: AgentGraph, runtime: Runtime) =>
        executeAgent(agent, { message: "one" }, { runtime, threadId: "t" }),
    ]) {
      const { graph, saver, runtime } = await compiled();
      const getTuple = vi.spyOn(saver, "getTuple");
      await read(graph, runtime);
      reads.push(getTuple.mock.calls.length);
    }
    // `executeAgent` reads what waits at the end.
    expect(reads[1]).toBe((reads[0] ?? 0) + 2);
  });

  it("is refused by the limit of turns before anything is written", async () => {
    const { graph, saver } = await compiled();
    for (const text of ["one", "two", "three"]) {
      await graph.invoke(says(text), thread);
      await graph.invoke(approve, thread);
    }
    const before = JSON.stringify(saver.storage);
    await expect(graph.invoke(says("four"), thread)).rejects.toMatchObject({ code: "turn_limit" });
    expect(JSON.stringify(saver.storage)).toBe(before);
  });
});
