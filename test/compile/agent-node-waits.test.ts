import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, defineTool } from "../../src/index.ts";
import { around, asker, insideOf } from "../helpers/nested-agents.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

/** `left` and `right` side by side, each an asker. */
const both = defineAgent({
  name: "both",
  agents: [asker],
  workflow_graph: {
    entry_point: "start",
    nodes: [
      { name: "start", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
      { name: "left", type: "agent", config: { agent: "asker", input: { message: "L" } } },
      { name: "right", type: "agent", config: { agent: "asker", input: { message: "R" } } },
      { name: "join", type: "llm", config: { prompt: "Join" } },
    ],
    edges: [
      { from: "start", to: ["left", "right"] },
      { from: "left", to: "join" },
      { from: "right", to: "join" },
      { from: "join", to: "END" },
    ],
    output: { message: "${nodes.left.output.message} ${nodes.right.output.message}" },
  },
});

describe("an agent that waits inside of a node", () => {
  it("asks as the graph around it, goes on where it was, and is counted once", async () => {
    const thread = await waitingThread(around("outer", asker), ["ok", "which", "done"]);
    await thread.start("go");
    expect(await thread.request()).toMatchObject({
      kind: "input",
      node: "ask",
      within: ["inner"],
      prompt: "which?",
    });
    expect(thread.model.requests).toHaveLength(2);
    const state = await thread.answer("this");
    expect(state).toMatchObject({ status: "COMPLETED", output: { message: "done" } });
    expect(thread.model.requests).toHaveLength(3);
    expect(thread.model.read(2).at(-1)).toBe("human: Write this");
    expect(state.usage).toMatchObject({ llm_calls: 3, tokens_in: 30 });
  });

  it("is seen in the state of the graph around it", async () => {
    const thread = await waitingThread(around("outer", asker), ["ok", "which", "done"]);
    await thread.start("go");
    const graph = await compileAgent(around("outer", asker), thread.runtime);
    const { tasks } = await graph.getState(
      { configurable: { thread_id: "t" } },
      { subgraphs: true },
    );
    expect(tasks.map(({ name, state }) => [name, state])).toEqual([
      [
        "inner",
        expect.objectContaining({
          next: ["ask"],
          values: expect.objectContaining({ status: "AWAITING_HUMAN", input: { message: "go" } }),
        }),
      ],
    ]);
  });

  it("waits two levels down, and goes on in another process", async () => {
    const checkpointer = new MemorySaver();
    const outermost = around("outermost", around("outer", asker), "middle");
    const before = await waitingThread(outermost, ["ok", "ok", "which"], { checkpointer });
    await before.start("go");
    const { id, within } = await before.request();
    expect(within).toEqual(["middle", "inner"]);

    const after = await waitingThread(outermost, ["done"], { checkpointer });
    expect(await after.request()).toMatchObject({ id });
    const state = await after.answerNodes({ ask: "this" });
    expect(state).toMatchObject({ status: "COMPLETED", output: { message: "done" } });
    expect(after.model.read(0).at(-1)).toBe("human: Write this");
    expect(state.usage.llm_calls).toBe(4);
  });

  it("goes on after a run without an answer, still waiting", async () => {
    const thread = await waitingThread(around("outer", asker), ["ok", "which", "done"]);
    await thread.start("go");
    const { id } = await thread.request();
    await thread.again();
    expect((await thread.request()).id).toBe(id);
    expect(thread.model.requests).toHaveLength(2);
    expect((await thread.answer("this")).usage.llm_calls).toBe(3);
  });

  it.each([
    ["one by one", ["left", "right"]],
    ["the other way round", ["right", "left"]],
  ])("is answered in parallel %s, by id", async (_how, order) => {
    const script = repliesByPrompt({
      "Draft L": ["l"],
      "Draft R": ["r"],
      "Write 1": ["one"],
      "Write 2": ["two"],
      Join: ["all"],
    });
    const checkpointer = new MemorySaver();
    const first = await waitingThread(both, script, { checkpointer });
    await first.start();
    const graph = await compileAgent(both, first.runtime);
    const config = { configurable: { thread_id: "t" } };
    for (const node of order) {
      const waiting = await first.waiting();
      const request = waiting.find(({ within }) => within[0] === node);
      const answer = node === "left" ? "1" : "2";
      await graph.invoke(new Command({ resume: { [request?.id ?? ""]: answer } }), config);
    }
    const state = await first.state();
    expect(state).toMatchObject({ status: "COMPLETED", output: { message: "one two" } });
    expect(first.model.requests).toHaveLength(5);
    expect(state.usage.llm_calls).toBe(5);
  });

  it("asks again until the answer can be read", async () => {
    const counter = defineAgent({
      name: "counter",
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "human", config: { kind: "input", schema: { type: "integer" } } },
        ],
        edges: [{ from: "ask", to: "END" }],
        output: { message: "${string(nodes.ask.value)}" },
      },
    });
    const thread = await waitingThread(around("outer", counter), ["ok"]);
    await thread.start();
    for (const answer of ["many", "more"]) {
      await thread.answer(answer);
      expect((await thread.request()).problem).toContain(`got "${answer}"`);
    }
    expect((await thread.answer(3)).output).toEqual({ message: "3" });
  });

  it("has its calls approved by its own rules, and runs them once", async () => {
    const sent: string[] = [];
    const send = defineTool({
      name: "send",
      description: "Sends.",
      requires_approval: true,
      input_schema: z.object({ to: z.string() }),
      handler: ({ to }) => void sent.push(to),
    });
    const mailer = defineAgent({ name: "mailer", tools: [send] });
    const script = ["ok", { calls: [{ name: "send", args: { to: "a" } }] }, "done"];
    const thread = await waitingThread(around("outer", mailer), script);
    await thread.start();
    expect(await thread.request()).toMatchObject({ kind: "tool_approval", within: ["inner"] });
    expect(sent).toEqual([]);
    const { output, usage } = await thread.answer("approve");
    expect([output, sent, usage.tool_calls]).toEqual([{ message: "done" }, ["a"], 1]);
  });

  it("does not run again what ended beside the node that waits", async () => {
    const fan = defineAgent({
      name: "fan",
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
          { name: "quick", type: "llm", config: { prompt: "Quick" } },
          { name: "ask", type: "human", config: { kind: "input" } },
          { name: "join", type: "llm", config: { prompt: "Join ${nodes.ask.value}" } },
        ],
        edges: [
          { from: "start", to: ["quick", "ask"] },
          { from: "quick", to: "join" },
          { from: "ask", to: "join" },
          { from: "join", to: "END" },
        ],
      },
    });
    const nested = around("outermost", around("outer", fan), "middle");
    const script = repliesByPrompt({ Before: "ok", Quick: ["quick"], "Join this": ["done"] });
    const thread = await waitingThread(nested, script);
    await thread.start();
    await thread.again();
    const { output, usage } = await thread.answer("this");
    expect([output, thread.model.requests.length]).toEqual([{ message: "done" }, 4]);
    expect(usage.llm_calls).toBe(4);
  });

  it("goes on where it was when its thread keeps one checkpoint a turn", async () => {
    const { spec } = around("outer", asker);
    const sparse = defineAgent({
      name: "outer",
      agents: [asker],
      ...(spec.workflow_graph && { workflow_graph: spec.workflow_graph }),
      execution_config: { checkpoint_frequency: "every_turn" },
    });
    const thread = await waitingThread(sparse, ["ok", "which", "done"]);
    await thread.start();
    const state = await thread.answer("this");
    expect(state).toMatchObject({ status: "COMPLETED", output: { message: "done" } });
    expect([thread.model.requests.length, state.usage.llm_calls]).toEqual([3, 3]);
  });

  it("is answered in parallel together, by id", async () => {
    const script = repliesByPrompt({
      "Draft L": ["l"],
      "Draft R": ["r"],
      "Write 1": ["one", "one"],
      Join: ["all"],
    });
    const thread = await waitingThread(both, script);
    await thread.start();
    const waiting = new Set((await thread.waiting()).map(({ within }) => within[0]));
    expect(waiting).toEqual(new Set(["left", "right"]));
    const state = await thread.answerNodes({ ask: "1" });
    expect(state.output).toEqual({ message: "one one" });
    expect(state.usage.llm_calls).toBe(5);
  });

  it("ends CANCELLED with the turn around it", async () => {
    const thread = await waitingThread(around("outer", asker), ["ok", "which"]);
    await thread.start("go");
    const { status, usage } = await thread.cancel();
    expect([status, usage.llm_calls]).toEqual(["CANCELLED", 2]);
    expect(await insideOf(thread.runtime.checkpointer)).toMatchObject({ status: "CANCELLED" });
  });
});
