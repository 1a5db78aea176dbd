import { Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent } from "../../../src/index.ts";
import { guardAnswers } from "../../../src/compile/guards/answers.ts";
import { readWaiting } from "../../../src/compile/guards/waiting.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const thread = { configurable: { thread_id: "t" } };

/** Asks `left` and `right` at once. */
const both = defineAgent({
  name: "both",
  workflow_graph: {
    entry_point: "start",
    nodes: [
      { name: "start", type: "tool", config: { tool: "current_time", args: {} } },
      { name: "left", type: "human", config: { kind: "approval", prompt: "Left?" } },
      { name: "right", type: "human", config: { kind: "input", prompt: "Right?" } },
      { name: "end", type: "tool", config: { tool: "current_time", args: {} } },
    ],
    edges: [
      { from: "start", to: ["left", "right"] },
      { from: "left", to: "end" },
      { from: "right", to: "end" },
      { from: "end", to: "END" },
    ],
  },
  tools: ["current_time"],
});
const one = defineAgent({
  name: "one",
  workflow_graph: {
    entry_point: "ask",
    nodes: [{ name: "ask", type: "human", config: { kind: "approval", proposed: "this" } }],
    edges: [
      { from: "ask", to: "END", condition: "nodes.ask.approved" },
      { from: "ask", to: "END" },
    ],
    output: { message: "${string(nodes.ask.approved)}" },
  },
});

async function waitingOn(agent: typeof one) {
  const saver = new MemorySaver();
  const { runtime } = await testRuntime([], { checkpointer: saver });
  const graph = await compileAgent(agent, runtime);
  await graph.invoke({ input: { message: "go" } }, thread);
  const requests = async () => (await readWaiting(graph, thread)).waiting;
  const written = () => JSON.stringify([saver.storage, saver.writes]);
  return { graph, requests, written };
}

describe("a compiled graph", () => {
  it("refuses a bare answer while several requests wait, and writes nothing", async () => {
    const { graph, requests, written } = await waitingOn(both);
    const [left, right] = await requests();
    const before = written();
    await expect(graph.invoke(new Command({ resume: true }), thread)).rejects.toMatchObject({
      code: "ambiguous_answer",
      message: `2 requests are pending, and the answer does not name one: ${left?.id} (left: "Left?"), ${right?.id} (right: "Right?"). Answer by id, some of them or all: { [id]: answer }.`,
    });
    expect(written()).toBe(before);
  });

  it.each([
    ["stream", (graph: Graph) => graph.stream(command, thread)],
    [
      "streamEvents v2",
      (graph: Graph) => read(graph.streamEvents(command, { ...thread, version: "v2" })),
    ],
    [
      "a graph with another config",
      (graph: Graph) => graph.withConfig({ tags: ["a"] }).invoke(command, thread),
    ],
  ])("refuses it in %s", async (_name, run) => {
    const { graph } = await waitingOn(both);
    await expect(run(graph)).rejects.toMatchObject({ code: "ambiguous_answer" });
  });

  it("takes answers by id, one after the other", async () => {
    const { graph, requests } = await waitingOn(both);
    const [left, right] = await requests();
    await graph.invoke(new Command({ resume: { [left?.id ?? ""]: true } }), thread);
    expect((await requests()).map(({ node }) => node)).toEqual(["right"]);
    await expect(
      graph.invoke(new Command({ resume: { [left?.id ?? ""]: true } }), thread),
    ).rejects.toMatchObject({ code: "unknown_interrupt", interrupt: left?.id });
    const state = await graph.invoke(new Command({ resume: { [right?.id ?? ""]: "r" } }), thread);
    expect(state.status).toBe("COMPLETED");
    expect(state.nodes).toMatchObject({ left: { approved: true }, right: { value: "r" } });
  });

  it("takes a bare answer as that of the one request that is left", async () => {
    const { graph, requests } = await waitingOn(both);
    const [left] = await requests();
    await graph.invoke(new Command({ resume: { [left?.id ?? ""]: true } }), thread);
    const state = await graph.invoke(new Command({ resume: "r" }), thread);
    expect(state.nodes).toMatchObject({ left: { value: "" }, right: { value: "r" } });
  });

  it("takes answers that LangGraph would drop", async () => {
    const { graph } = await waitingOn(one);
    const state = await graph.invoke(new Command({ resume: false }), thread);
    expect(state.nodes["ask"]).toMatchObject({ approved: false });
  });

  it("refuses an answer that does not fit, and says what was expected", async () => {
    const { graph, requests, written } = await waitingOn(one);
    const [request] = await requests();
    const before = written();
    await expect(graph.invoke(new Command({ resume: "maybe" }), thread)).rejects.toMatchObject({
      code: "invalid_answer",
      interrupt: request?.id,
      node: "ask",
      problem: expect.stringMatching(/^Expected true or "approve", .*; got "maybe"\.$/),
    });
    expect(written()).toBe(before);
    const state = await graph.invoke(new Command({ resume: "approve" }), thread);
    expect(state.nodes["ask"]).toMatchObject({ approved: true, value: "this" });
  });

  it("refuses an answer where nothing waits", async () => {
    const { graph } = await waitingOn(one);
    await graph.invoke(new Command({ resume: true }), thread);
    await expect(graph.invoke(new Command({ resume: true }), thread)).rejects.toThrow(
      'Thread "t" is COMPLETED: it has no pending request.',
    );
    const other = { configurable: { thread_id: "other" } };
    await expect(graph.invoke(new Command({ resume: true }), other)).rejects.toThrow(
      'Thread "other" does not exist',
    );
  });

  it("refuses another answer at an old checkpoint, which LangGraph would drop", async () => {
    const { graph } = await waitingOn(one);
    const { config } = await graph.getState(thread);
    await graph.invoke(new Command({ resume: true }), thread);
    await expect(graph.invoke(new Command({ resume: false }), config)).rejects.toThrow(
      "its request has been answered. Run it without an answer to be asked again.",
    );
    await graph.invoke(null, config);
    const state = await graph.invoke(new Command({ resume: false }), thread);
    expect(state.nodes["ask"]).toMatchObject({ approved: false });
  });

  it("uses the checkpointer that a server put into it", async () => {
    const { runtime } = await testRuntime([], { checkpointer: false });
    const graph = await compileAgent(both, runtime);
    graph.checkpointer = new MemorySaver();
    await graph.invoke({ input: { message: "go" } }, thread);
    await expect(graph.invoke(new Command({ resume: true }), thread)).rejects.toMatchObject({
      code: "ambiguous_answer",
    });
  });
});

type Graph = Awaited<ReturnType<typeof waitingOn>>["graph"];
const command = new Command({ resume: true });

async function read(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

describe("guardAnswers", () => {
  const state = z.object({ left: z.any(), right: z.any() });

  function twoAsking() {
    return new StateGraph(state)
      .addNode("l", () => ({ left: interrupt("left?") }))
      .addNode("r", () => ({ right: interrupt({ question: "right?" }) }))
      .addEdge(START, "l")
      .addEdge(START, "r")
      .addEdge("l", END)
      .addEdge("r", END);
  }

  it("leaves answers to requests that are not ours unchecked, but for whom they are", async () => {
    const graph = guardAnswers(twoAsking().compile({ checkpointer: new MemorySaver() }));
    await graph.invoke({}, thread);
    await expect(graph.invoke(new Command({ resume: 0 }), thread)).rejects.toThrow(
      /^2 requests are pending, .* \(l: "left\?"\), .* \(r: "r\?"\)\./,
    );
    const { waiting } = await readWaiting(graph, thread);
    const resume = Object.fromEntries(waiting.map(({ id }, index) => [id, index]));
    expect(await graph.invoke(new Command({ resume }), thread)).toEqual({ left: 0, right: 1 });
  });

  it("finds all that wait in a graph inside of another", async () => {
    const inner = guardAnswers(twoAsking().compile());
    const graph = guardAnswers(
      new StateGraph(state)
        .addNode("inside", inner)
        .addEdge(START, "inside")
        .addEdge("inside", END)
        .compile({ checkpointer: new MemorySaver() }),
    );
    await graph.invoke({}, thread);
    const { waiting } = await readWaiting(graph, thread);
    expect(waiting.map(({ proposed }) => proposed)).toEqual(["left?", { question: "right?" }]);
    await expect(graph.invoke(new Command({ resume: "x" }), thread)).rejects.toMatchObject({
      code: "ambiguous_answer",
    });
    const [left, right] = waiting.map(({ id }) => id);
    await graph.invoke(new Command({ resume: { [left ?? ""]: "a" } }), thread);
    expect((await readWaiting(graph, thread)).waiting.map(({ id }) => id)).toEqual([right]);
    expect(await graph.invoke(new Command({ resume: "b" }), thread)).toEqual({
      left: "a",
      right: "b",
    });
  });
});
