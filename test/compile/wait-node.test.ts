import { describe, expect, it } from "vitest";
import {
  createRuntime,
  defineAgent,
  executeAgent,
  InvalidDefinitionError,
} from "../../src/index.ts";
import { InvalidAnswerError } from "../../src/compile/errors.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

function waiting(config: object, edges: readonly object[] = [{ from: "pause", to: "END" }]) {
  const asks = edges.length > 1;
  return defineAgent({
    name: "waiting",
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "pause",
      nodes: [
        { name: "pause", type: "wait", config },
        ...(asks ? [{ name: "human", type: "human", config: { kind: "input" } }] : []),
      ],
      edges: [...edges, ...(asks ? [{ from: "human", to: "END" }] : [])],
      output: { message: "timed out: ${string(nodes.pause.timed_out)}" },
    },
  } as never);
}

const order = {
  event: "order.paid",
  schema: { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] },
};

describe("a wait node", () => {
  it("waits for a duration, which a run after it finds over", async () => {
    const thread = await waitingThread(waiting({ for: "PT15M" }));
    const state = await thread.start();
    expect(state.status).toBe("AWAITING_TOOL");
    expect(await thread.request()).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      kind: "wait",
      node: "pause",
      within: [],
      prompt: "Waits until 2026-01-01T00:15:00.000Z.",
      proposed: null,
      schema: { not: {} },
      expires_at: "2026-01-01T00:15:00.000Z",
    });
    thread.clock.advance(899_999);
    expect((await thread.again()).status).toBe("AWAITING_TOOL");
    thread.clock.advance(1);
    expect(await thread.again()).toMatchObject({
      status: "COMPLETED",
      output: { message: "timed out: false" },
    });
  });

  it.each([
    ["P1DT12H", "2026-01-02T12:00:00.000Z"],
    ["P2W", "2026-01-15T00:00:00.000Z"],
    [90, "2026-01-01T00:01:30.000Z"],
    [0.5, "2026-01-01T00:00:00.500Z"],
  ])("reads the duration %s", async (duration, expires) => {
    const thread = await waitingThread(waiting({ for: duration }));
    await thread.start();
    expect((await thread.request()).expires_at).toBe(expires);
  });

  it("waits until the time of an expression, and not at all for one that has passed", async () => {
    const agent = waiting({ until: "${input.message}" });
    const later = await waitingThread(agent);
    await later.start("2026-01-01T02:00:00+01:00");
    expect((await later.request()).expires_at).toBe("2026-01-01T01:00:00.000Z");
    const past = await waitingThread(agent);
    expect((await past.start("2025-12-31")).status).toBe("COMPLETED");
  });

  it.each(["tomorrow", "2026-01-01T00:00:00", "2026-13-01", "1767225600", ""])(
    "fails the turn for the time %j",
    async (text) => {
      const thread = await waitingThread(waiting({ until: "${input.message}" }));
      const state = await thread.start(text);
      expect(state).toMatchObject({ status: "FAILED", turn: { failure: { cause: "wait_time" } } });
    },
  );

  it("takes no answer to a wait for a time", async () => {
    const thread = await waitingThread(waiting({ for: 60 }));
    await thread.start();
    expect((await thread.answer("now")).status).toBe("AWAITING_TOOL");
    expect((await thread.request()).problem).toBe("The run waits for a time, and takes no answer.");
  });

  it("waits for an event, whose payload it gives and writes", async () => {
    const thread = await waitingThread(waiting({ ...order, writes: "execution.order" }));
    await thread.start();
    expect(await thread.request()).toMatchObject({
      kind: "wait",
      event: "order.paid",
      schema: order.schema,
      expires_at: null,
      prompt: "Waits for the event order.paid.",
    });
    const wrong = await thread.answer({ amount: "x" });
    expect(wrong.status).toBe("AWAITING_TOOL");
    expect((await thread.request()).problem).toContain("amount");
    const state = await thread.answer({ amount: 5 });
    expect(state).toMatchObject({
      status: "COMPLETED",
      execution: { order: { amount: 5 } },
      nodes: { pause: { value: { amount: 5 }, timed_out: false } },
    });
  });

  it.each([[null], [false], [0], [""], [["a"]], [{ event: "go", payload: 1 }]])(
    "takes the payload %j",
    async (payload) => {
      const thread = await waitingThread(waiting({ event: "stop" }));
      await thread.start();
      const state = await thread.answer({ event: "stop", payload });
      expect(state.nodes["pause"]).toEqual({ value: payload, timed_out: false });
    },
  );

  it("takes its default when no event comes in time, and then no event", async () => {
    const fallback = { ...order, timeout: "PT1M", default: { by: "${input.message}" } };
    const thread = await waitingThread(waiting({ ...fallback, writes: "execution.order" }));
    await thread.start("Ada");
    expect((await thread.request()).expires_at).toBe("2026-01-01T00:01:00.000Z");
    thread.clock.advance(60_000);
    const state = await thread.answer({ amount: 5 });
    expect(state).toMatchObject({
      status: "COMPLETED",
      execution: { order: { by: "Ada" } },
      nodes: { pause: { value: { by: "Ada" }, timed_out: true } },
    });
  });

  it("takes an edge that tests timed_out, and else fails the turn", async () => {
    const edges = [
      { from: "pause", to: "human", condition: "nodes.pause.timed_out" },
      { from: "pause", to: "END" },
    ];
    const cared = await waitingThread(waiting({ event: "go", timeout: 60 }, edges));
    await cared.start();
    cared.clock.advance(60_000);
    expect((await cared.again()).status).toBe("AWAITING_HUMAN");
    const failing = await waitingThread(waiting({ event: "go", timeout: 60 }));
    await failing.start();
    failing.clock.advance(60_000);
    expect(await failing.again()).toMatchObject({
      status: "FAILED",
      turn: { failure: { cause: "wait_timeout" } },
    });
  });
});

describe("a definition with a wait node", () => {
  it.each([
    [{}, "a wait needs until, for or event"],
    [{ for: 1, event: "go" }, "event: of no use next to for"],
    [{ for: 1, schema: {} }, "schema: of no use without event"],
    [{ for: 1, timeout: 1 }, "timeout: of no use without event"],
    [{ for: 1, writes: "execution.x" }, "writes: of no use without event"],
    [{ event: "go", default: 1 }, "default: of no use without timeout"],
    [{ for: "15 minutes" }, "duration"],
    [{ for: "P" }, "duration"],
    [{ for: "PT" }, "duration"],
    [{ for: 0 }, "at most 10 years"],
    [{ for: "P99999D" }, "at most 10 years"],
    [{ event: "two words" }, "event"],
    [{ until: "${nodes.nobody}" }, "nobody"],
    [{ event: "go", schema: { type: "nothing" } }, "schema"],
  ])("is refused: %j", (config, problem) => {
    expect(() => waiting(config)).toThrow(InvalidDefinitionError);
    expect(() => waiting(config)).toThrow(problem);
  });
});

describe("a turn that waits for an event", () => {
  it("is continued from code with the payload, by id or as the only answer", async () => {
    const clock = new ManualClock();
    const runtime = await createRuntime({ folder: tempFolder(), clock });
    try {
      const agent = waiting({ ...order, timeout: 60, default: null });
      const start = async (threadId: string) =>
        executeAgent(agent, { message: "Hi" }, { runtime, threadId });
      const first = await start("a");
      expect(first).toMatchObject({
        status: "AWAITING_TOOL",
        interrupts: [],
        toolCalls: [],
        waits: [{ kind: "wait", event: "order.paid", expires_at: "2026-01-01T00:01:00.000Z" }],
      });
      const give = (threadId: string, given: object) =>
        executeAgent(agent, null, { runtime, threadId, ...given });
      await expect(give("a", { answer: { amount: "x" } })).rejects.toThrow(InvalidAnswerError);
      await expect(give("a", { answer: "x".repeat(70_000) })).rejects.toThrow("65,536 bytes");
      const ended = await give("a", { answers: { [first.waits[0]!.id]: { amount: 5 } } });
      expect(ended).toMatchObject({ status: "COMPLETED", waits: [] });
      await start("b");
      expect((await give("b", { answer: { amount: 6 } })).status).toBe("COMPLETED");
      await start("c");
      clock.advance(60_000);
      expect((await give("c", {})).output).toEqual({ message: "timed out: true" });
    } finally {
      await runtime.close();
    }
  });

  it("gives an answer without an id to the person beside it", async () => {
    const runtime = await createRuntime({ folder: tempFolder() });
    try {
      const agent = defineAgent({
        name: "both",
        workflow_graph: {
          entry_point: "begin",
          nodes: [
            { name: "begin", type: "wait", config: { until: "2020-01-01" } },
            { name: "pause", type: "wait", config: { event: "go" } },
            { name: "ask", type: "human", config: { kind: "input", prompt: "Why?" } },
            { name: "end", type: "wait", config: { until: "2020-01-01" } },
          ],
          edges: [
            { from: "begin", to: ["pause", "ask"] },
            { from: "pause", to: "end" },
            { from: "ask", to: "end" },
            { from: "end", to: "END" },
          ],
          output: { message: "${string(nodes.ask.value)} ${string(nodes.pause.value)}" },
        },
      });
      const input = { message: "Hi" };
      const both = await executeAgent(agent, input, { runtime, threadId: "t" });
      expect([both.status, both.interrupts.length, both.waits.length]).toEqual([
        "AWAITING_HUMAN",
        1,
        1,
      ]);
      const again = await executeAgent(agent, null, { runtime, threadId: "t", answer: "so" });
      expect([again.status, again.waits.length]).toEqual(["AWAITING_TOOL", 1]);
      const ended = await executeAgent(agent, null, { runtime, threadId: "t", answer: 7 });
      expect(ended.output).toEqual({ message: "so 7" });
    } finally {
      await runtime.close();
    }
  });
});
