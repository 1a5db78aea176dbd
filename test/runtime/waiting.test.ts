import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  compileAgent,
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
} from "../../src/index.ts";
import { canonicalHash } from "../../src/values/json.ts";
import type { AgentEvent } from "../../src/state/events.ts";
import { testRuntime } from "../helpers/run-agent.ts";

let runs: string[] = [];
const note = defineTool({
  name: "note",
  description: "Notes what it is given.",
  input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: (args) => {
    const text = String((args as { text: unknown }).text);
    runs.push(text);
    return text;
  },
});

/** `left` waits for a yes, `right` for a text, while `beside` notes something; `join` notes what they said. */
const parallel = defineAgent({
  name: "parallel",
  tools: [note],
  workflow_graph: {
    entry_point: "start",
    nodes: [
      { name: "start", type: "tool", config: { tool: "note", args: { text: "start" } } },
      { name: "left", type: "human", config: { kind: "approval", prompt: "Left?" } },
      { name: "right", type: "human", config: { kind: "input", prompt: "Right?" } },
      { name: "beside", type: "tool", config: { tool: "note", args: { text: "beside" } } },
      {
        name: "join",
        type: "tool",
        config: { tool: "note", args: { text: "${nodes.right.value}" } },
      },
    ],
    edges: [
      { from: "start", to: ["left", "right", "beside"] },
      { from: "left", to: "join" },
      { from: "right", to: "join" },
      { from: "beside", to: "join" },
      { from: "join", to: "END" },
    ],
  },
});

function asking(config: object, execution_config: object = {}, output?: object) {
  return defineAgent({
    name: "asking",
    tools: [note],
    execution_config,
    workflow_graph: {
      entry_point: "before",
      nodes: [
        { name: "before", type: "tool", config: { tool: "note", args: { text: "before" } } },
        { name: "ask", type: "human", config: { kind: "input", prompt: "Which?", ...config } },
      ],
      edges: [
        { from: "before", to: "ask" },
        { from: "ask", to: "END" },
      ],
      ...(output !== undefined && { output }),
    } as never,
  });
}

/** An agent that asks, as a node of another. */
const outer = defineAgent({
  name: "outer",
  agents: [asking({}), parallel],
  workflow_graph: {
    entry_point: "one",
    nodes: [
      { name: "one", type: "agent", config: { agent: "asking" } },
      { name: "two", type: "agent", config: { agent: "parallel" } },
    ],
    edges: [
      { from: "one", to: "two" },
      { from: "two", to: "END" },
    ],
  },
});

const hello = { message: "go" };

async function session(
  agent: typeof parallel,
  options: { checkpointer?: MemorySaver | false; script?: [] } = {},
) {
  runs = [];
  const test = await testRuntime([], options);
  const { runtime } = test;
  return {
    ...test,
    start: () => executeAgent(agent, hello, { runtime, threadId: "t" }),
    go: (more: Parameters<typeof executeAgent>[2] = {}) =>
      executeAgent(agent, null, { runtime, threadId: "t", ...more }),
    head: async () => {
      const graph = await compileAgent(agent, runtime);
      return (await graph.getState({ configurable: { thread_id: "t" } })).config;
    },
  };
}

describe("a run that waits for people", () => {
  it("comes back with what waits, and what was done beside it", async () => {
    const { start } = await session(parallel);
    const result = await start();
    expect(result).toMatchObject({ status: "AWAITING_HUMAN", output: null, failure: null });
    expect(result.interrupts).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        kind: "approval",
        hash: canonicalHash({ prompt: "Left?", proposed: "" }),
        node: "left",
        within: [],
        prompt: "Left?",
        proposed: "",
        schema: expect.any(Object),
        expires_at: null,
      },
      expect.objectContaining({ kind: "input", node: "right", prompt: "Right?" }),
    ]);
    expect(result.steps.map(({ node }) => node)).toEqual(["start", "beside"]);
    expect(result.usage.tool_calls).toBe(2);
    expect(result.invocation_usage).toEqual(result.usage);
  });

  it("takes some of the answers, and comes back with the rest under the same ids", async () => {
    const { start, go } = await session(parallel);
    const [left, right] = (await start()).interrupts;
    const halfway = await go({ answers: { [right?.id ?? ""]: "east" } });
    expect(halfway).toMatchObject({ status: "AWAITING_HUMAN", interrupts: [left] });
    expect(halfway.interrupts).toHaveLength(1);
    // `beside` ran before, though its writes are applied only now.
    expect([halfway.usage.tool_calls, halfway.invocation_usage.tool_calls]).toEqual([2, 0]);
    const done = await go({ answer: true });
    expect(done).toMatchObject({ status: "COMPLETED", output: { message: "east" } });
    expect(done.interrupts).toEqual([]);
    expect([done.usage.tool_calls, done.invocation_usage.tool_calls]).toEqual([3, 1]);
    expect(runs).toEqual(["start", "beside", "east"]);
  });

  it("takes all answers at once", async () => {
    const { start, go } = await session(parallel);
    const ids = (await start()).interrupts.map(({ id }) => id);
    const answers = { [ids[0] ?? ""]: "approve", [ids[1] ?? ""]: "west" };
    expect((await go({ answers })).output).toEqual({ message: "west" });
  });

  it("comes back the same when it is run without an answer", async () => {
    const { start, go } = await session(parallel);
    const { interrupts } = await start();
    expect(await go()).toMatchObject({ status: "AWAITING_HUMAN", interrupts });
    expect(runs).toEqual(["start", "beside"]);
  });

  it("lets a time that is over take effect when it is run without an answer", async () => {
    const agent = asking({ kind: "approval", timeout_seconds: 60, on_timeout: "approve" });
    const { start, go, clock } = await session(agent);
    const [request] = (await start()).interrupts;
    expect(request?.expires_at).toBe("2026-01-01T00:01:00.000Z");
    clock.advance(59_999);
    expect((await go()).interrupts).toEqual([request]);
    clock.advance(1);
    expect((await go()).status).toBe("COMPLETED");
  });

  it("refuses answers that cannot be meant, and writes nothing", async () => {
    const { start, go, head } = await session(parallel);
    const [left, right] = (await start()).interrupts;
    const before = await head();
    const unknown = "0".repeat(32);
    await expect(go({ answer: true })).rejects.toMatchObject({
      code: "ambiguous_answer",
      waiting: [
        expect.objectContaining({ id: left?.id, prompt: "Left?" }),
        expect.objectContaining({ id: right?.id, prompt: "Right?" }),
      ],
    });
    await expect(go({ answers: { [unknown]: true } })).rejects.toMatchObject({
      code: "unknown_interrupt",
      message: `Request ${unknown} is not pending. Pending: ${left?.id} (left: "Left?"), ${right?.id} (right: "Right?").`,
    });
    const partly = { [left?.id ?? ""]: true, [right?.id ?? ""]: 7 };
    await expect(go({ answers: partly })).rejects.toMatchObject({
      code: "invalid_answer",
      interrupt: right?.id,
      node: "right",
      message: `The answer to request ${right?.id} of node "right" does not fit. The value does not fit its schema: Invalid input: expected string, received number; got 7.`,
    });
    expect(await head()).toEqual(before);
    expect((await go()).interrupts).toEqual([left, right]);
  });

  it.each([
    ["answer", { answer: 1, input: hello }, "it requires the input null, which begins no new turn"],
    ["answers", { answer: 1, answers: { a: 1 } }, "give either answer or answers, not both"],
    ["answers", { answers: {} }, "it contains no answer"],
  ])("refuses the option %s where it makes no sense", async (option, given, problem) => {
    const { start, runtime } = await session(parallel);
    await start();
    const { input = null, ...options } = given as { input?: typeof hello };
    await expect(
      executeAgent(parallel, input, { runtime, threadId: "t", ...options }),
    ).rejects.toMatchObject({
      code: "invalid_run_option",
      message: `The option ${option} is not valid: ${problem}.`,
    });
  });

  it("says that nothing waits", async () => {
    const { start, go } = await session(asking({}));
    await expect(go({ answer: "a" })).rejects.toMatchObject({
      code: "nothing_to_answer",
      status: null,
      message: 'Thread "t" does not exist: it has no pending request. Run it without one.',
    });
    await start();
    await go({ answer: "a" });
    await expect(go({ answer: "b" })).rejects.toMatchObject({ status: "COMPLETED" });
  });

  it("refuses a new input, and says what it waits for", async () => {
    const { start } = await session(asking({}));
    const [request] = (await start()).interrupts;
    await expect(start()).rejects.toMatchObject({
      code: "unfinished_turn",
      interrupts: [request],
      message: `Thread "t" waits for an answer: ${request?.id} (ask: "Which?"). Answer it first by running it without an input and with { answer }, or use another thread.`,
    });
  });

  it.each([
    [null, "got "],
    [0, "got 0"],
    [false, "got false"],
    ["", "got "],
  ])("takes %j for an answer", async (answer, message) => {
    const { start, go } = await session(
      asking({ schema: {} }, {}, { message: "got ${nodes.ask.value}" }),
    );
    await start();
    const { status, output } = await go({ answer });
    expect([status, output]).toEqual(["COMPLETED", { message }]);
  });

  it("ends CANCELLED when it is cancelled, and waits again when it is resumed", async () => {
    const { start, go } = await session(parallel);
    await start();
    const cancelled = await go({ signal: AbortSignal.abort() });
    expect(cancelled).toMatchObject({ status: "CANCELLED", interrupts: [] });
    await expect(go({ answer: true })).rejects.toMatchObject({
      code: "nothing_to_answer",
      status: "CANCELLED",
    });
    const again = await go();
    expect(again.interrupts.map(({ node }) => node)).toEqual(["left", "right"]);
    const ids = again.interrupts.map(({ id }) => id);
    const answers = { [ids[0] ?? ""]: true, [ids[1] ?? ""]: "north" };
    expect((await go({ answers })).output).toEqual({ message: "north" });
  });

  it("needs a checkpointer", async () => {
    const { runtime } = await session(asking({}), { checkpointer: false });
    await expect(executeAgent(asking({}), hello, { runtime })).rejects.toMatchObject({
      code: "no_checkpointer",
      reason: "human",
      message: expect.stringMatching(/^The run must wait for a person, which needs a checkpointer/),
    });
    await expect(executeAgent(outer, hello, { runtime })).rejects.toMatchObject({
      reason: "human",
    });
  });

  it("waits as well where turns keep one checkpoint each", async () => {
    const rare = { checkpoint_frequency: "every_turn" };
    const { start, go } = await session(asking({}, rare));
    const { interrupts } = await start();
    expect((await go()).interrupts).toEqual(interrupts);
    expect((await go({ answer: "a" })).output).toEqual({ message: "a" });
    expect(runs).toEqual(["before"]);
    await start();
    expect((await go({ signal: AbortSignal.abort() })).status).toBe("CANCELLED");
    await go();
    expect((await go({ answer: "b" })).output).toEqual({ message: "b" });
  });
});

describe("an agent inside of another that waits", () => {
  it("waits through it, and is answered by the same ids", async () => {
    const { start, go } = await session(outer);
    const first = await start();
    expect(first).toMatchObject({
      status: "AWAITING_HUMAN",
      interrupts: [{ node: "ask", within: ["one"], prompt: "Which?" }],
    });
    const second = await go({ answer: "a" });
    expect(second.interrupts.map(({ node, within }) => [node, within])).toEqual([
      ["left", ["two"]],
      ["right", ["two"]],
    ]);
    await expect(go({ answer: true })).rejects.toMatchObject({ code: "ambiguous_answer" });
    const [left, right] = second.interrupts;
    const third = await go({ answers: { [left?.id ?? ""]: true } });
    expect(third.interrupts).toEqual([right]);
    expect((await go({ answer: "b" })).output).toEqual({ message: "b" });
    expect(runs).toEqual(["before", "start", "beside", "b"]);
  });

  it("keeps what it needs where turns keep one checkpoint each", async () => {
    const rare = defineAgent({
      name: "rare",
      agents: [parallel],
      execution_config: { checkpoint_frequency: "every_turn" },
      workflow_graph: {
        entry_point: "two",
        nodes: [{ name: "two", type: "agent", config: { agent: "parallel" } }],
        edges: [{ from: "two", to: "END" }],
      },
    });
    const { start, go } = await session(rare);
    const [left, right] = (await start()).interrupts;
    const halfway = await go({ answers: { [right?.id ?? ""]: "south" } });
    expect(halfway.interrupts).toEqual([left]);
    expect((await go({ answer: true })).output).toEqual({ message: "south" });
    expect(runs).toEqual(["start", "beside", "south"]);
  });

  it("tells what happens in it, once, with the agent nodes around it", async () => {
    const events: AgentEvent[] = [];
    const { runtime } = await session(outer);
    await executeAgent(outer, hello, { runtime, onEvent: (event) => events.push(event) });
    const told = events.map(({ within, node, type }) => [...within, node, type].join("/"));
    expect(told.filter((line) => line.endsWith("tool_result"))).toEqual(["one/before/tool_result"]);
  });

  it("hands on the text that its models write", async () => {
    const inner = defineAgent({ name: "inner", tools: ["calculator"] });
    const asks = defineAgent({
      name: "asks",
      agents: [inner],
      workflow_graph: {
        entry_point: "sum",
        nodes: [{ name: "sum", type: "agent", config: { agent: "inner" } }],
        edges: [{ from: "sum", to: "END" }],
      },
    });
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    const input = { message: "What is 6 * 7?" };
    let text = "";
    await executeAgent(asks, input, { runtime, onToken: (token) => (text += token) });
    expect(text).toContain("42");
  });
});
