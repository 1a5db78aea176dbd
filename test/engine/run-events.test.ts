import { describe, expect, it, vi } from "vitest";
import { requestEvent, type RunEvent, RunEventWriter } from "../../src/engine/run-events.ts";
import type { AgentEventBody } from "../../src/state/events.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const origin = { node: "agent", within: [], turn_number: 1, attempt_number: 1 };
const token = { message_id: "m", attempt: 1, node: "agent", within: [] };

function setUp(append: (events: readonly RunEvent[]) => Promise<void> = async () => {}) {
  const clock = new ManualClock();
  const appended: (readonly RunEvent[])[] = [];
  const failures: unknown[] = [];
  const writer = new RunEventWriter({
    append: async (events) => {
      appended.push(events);
      await append(events);
    },
    onFailure: (error) => failures.push(error),
    clock,
    maxOutputBytes: 100,
  });
  const emit = (body: AgentEventBody, within: readonly string[] = []) =>
    writer.onEvent({ ...body, ...origin, within });
  return { clock, writer, emit, appended, failures, events: () => appended.flat() };
}

const call = { id: "c1", name: "search", args: { q: "x" }, reason: "" };
const result = (value: unknown) => ({
  id: "c1",
  name: "search",
  args: {},
  result: value,
  error: null,
  outcome: "success" as const,
  execution_time_ms: 12,
  insights: "",
  learning: "",
  relevance: "" as const,
});

describe("RunEventWriter", () => {
  it("writes messages that a step reads, truncated, and those that were refused without a text", async () => {
    const { writer, emit, events } = setUp();
    emit({ type: "user_message", step_index: 1, id: "m1", text: "Be short." });
    emit({ type: "user_message", step_index: 1, id: "m2", text: "x".repeat(600_000) });
    emit({ type: "user_message", step_index: 1, id: "m3", text: null });
    await writer.flush();
    const cut = { id: "m2", content: expect.stringMatching(/^x{500000,}$/), truncated: true };
    expect(events()).toEqual([
      { event: "user_message", data: { id: "m1", content: "Be short." } },
      { event: "user_message", data: cut },
      { event: "user_message", data: { id: "m3", content: null } },
    ]);
  });

  it("writes calls and results that share an id, thoughts and the answer, in order", async () => {
    const { writer, emit, events } = setUp();
    emit({ type: "status", status: "EXECUTING" });
    emit({ type: "thought", step_index: 0, text: "search first" });
    emit({ type: "tool_call", step_index: 0, call });
    emit({ type: "tool_result", step_index: 0, result: result({ hits: 2 }) });
    emit({ type: "stuck", action: "end", reason: "" });
    emit({ type: "message", text: "Two.", incomplete: false });
    await writer.flush();
    expect(events()).toEqual([
      { event: "status", data: { status: "EXECUTING" } },
      { event: "thought", data: { content: "search first" } },
      { event: "tool_call", data: { id: "c1", tool: "search", input: { q: "x" } } },
      {
        event: "tool_result",
        data: {
          id: "c1",
          tool: "search",
          output: { hits: 2 },
          outcome: "success",
          error: null,
          latency_ms: 12,
        },
      },
      { event: "message", data: { content: "Two.", done: true } },
    ]);
  });

  it("writes the first delta at once, joins those of the next 40 ms, and ends them before any other event", async () => {
    const { clock, writer, emit, events } = setUp();
    writer.onToken("He", token);
    await vi.waitUntil(() => events().length === 1);
    clock.advance(10);
    writer.onToken("l", token);
    writer.onToken("lo", token);
    clock.advance(29);
    await Promise.resolve();
    expect(events()).toHaveLength(1);
    clock.advance(1);
    await vi.waitUntil(() => events().length === 2);
    writer.onToken(" wor", token);
    emit({ type: "message_reset", attempt: 1, reason: "network" });
    writer.onToken("Hi", token);
    await writer.flush();
    expect(events()).toEqual([
      { event: "message", data: { content: "He", done: false } },
      { event: "message", data: { content: "llo", done: false } },
      { event: "message", data: { content: " wor", done: false } },
      { event: "message_reset", data: { reason: "network" } },
      { event: "message", data: { content: "Hi", done: false } },
    ]);
  });

  it("leaves replies, answers and statuses of nested agents out, and names their thoughts and calls", async () => {
    const { writer, emit, events } = setUp();
    writer.onToken("inner", { ...token, within: ["helper"] });
    emit({ type: "message", text: "inner", incomplete: false }, ["helper"]);
    emit({ type: "status", status: "EXECUTING" }, ["helper"]);
    emit({ type: "message_reset", attempt: 1, reason: "network" }, ["helper"]);
    emit({ type: "thought", step_index: 0, text: "t" }, ["helper"]);
    emit({ type: "tool_call", step_index: 0, call }, ["helper"]);
    await writer.flush();
    expect(events()).toEqual([
      { event: "thought", data: { within: ["helper"], content: "t" } },
      {
        event: "tool_call",
        data: { within: ["helper"], id: "c1", tool: "search", input: { q: "x" } },
      },
    ]);
  });

  it("names the calls of client tools that the run waits for, also those of nested agents", async () => {
    const { writer, emit, events } = setUp();
    const calls = [
      { call_id: "c1", tool: "look", input: {}, expires_at: "2026-01-01T00:01:00.000Z" },
    ];
    emit({ type: "tool_request", calls });
    emit({ type: "tool_request", calls }, ["helper"]);
    await writer.flush();
    expect(events()).toEqual([
      { event: "tool_request", data: { calls } },
      { event: "tool_request", data: { within: ["helper"], calls } },
    ]);
  });

  it("truncates large outputs, and says so", async () => {
    const { writer, emit, events } = setUp();
    emit({ type: "tool_result", step_index: 0, result: result("x".repeat(1_000)) });
    await writer.flush();
    const { data } = events()[0] as Extract<RunEvent, { event: "tool_result" }>;
    expect(data.truncated).toBe(true);
    expect(JSON.stringify(data.output).length).toBeLessThanOrEqual(110);
  });

  it("appends one batch at a time, and what arrives meanwhile in the next", async () => {
    let finish = () => {};
    let running = 0;
    const { writer, emit, appended } = setUp(async () => {
      expect((running += 1)).toBe(1);
      await new Promise<void>((resolve) => (finish = resolve));
      running -= 1;
    });
    for (const text of ["a", "b", "c"]) emit({ type: "thought", step_index: 0, text });
    const flushed = writer.flush();
    await Promise.resolve();
    finish();
    await expect.poll(() => appended.length).toBe(2);
    finish();
    await flushed;
    expect(appended.map((batch) => batch.length)).toEqual([1, 2]);
  });

  it("begins an append 10 ms after the last one began, with all events of that time", async () => {
    const { clock, writer, emit, appended } = setUp();
    const think = (text: string) => emit({ type: "thought", step_index: 0, text });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    think("a");
    await settle();
    think("b");
    clock.advance(9);
    think("c");
    await settle();
    expect(appended.map((events) => events.length)).toEqual([1]);
    clock.advance(1);
    await settle();
    expect(appended.map((events) => events.length)).toEqual([1, 2]);
    clock.advance(10);
    think("d");
    await settle();
    expect(appended.map((events) => events.length)).toEqual([1, 2, 1]);
    think("e");
    await writer.flush();
    expect(appended.map((events) => events.length)).toEqual([1, 2, 1, 1]);
    expect(clock.pending).toBe(0);
  });

  it("gives its caller what no append has begun to write, after the one under way", async () => {
    let end = () => {};
    const { writer, emit, appended, clock } = setUp(
      () => new Promise<void>((resolve) => (end = resolve)),
    );
    const think = (text: string) => emit({ type: "thought", step_index: 0, text });
    think("a");
    think("b");
    writer.onToken("Hi", token);
    let isTaken = false;
    const taken = writer.takeRest().finally(() => (isTaken = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isTaken).toBe(false);
    end();
    expect(await taken).toEqual([
      { event: "thought", data: { content: "b" } },
      { event: "message", data: { content: "Hi", done: false } },
    ]);
    clock.advance(1_000);
    expect(appended).toEqual([[{ event: "thought", data: { content: "a" } }]]);
    expect(await writer.takeRest()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("leaves no rest that one statement could not take, and none after a failed append", async () => {
    const many = setUp();
    many.emit({ type: "thought", step_index: 0, text: "first" });
    for (let at = 0; at <= 500; at += 1)
      many.emit({ type: "thought", step_index: 0, text: String(at) });
    expect(await many.writer.takeRest()).toEqual([]);
    expect(many.events()).toHaveLength(502);
    const failing = setUp(() => Promise.reject(new RangeError("full")));
    failing.emit({ type: "thought", step_index: 0, text: "a" });
    failing.emit({ type: "thought", step_index: 0, text: "b" });
    await expect(failing.writer.takeRest()).rejects.toThrow(RangeError);
  });

  it("reports a failed append once, and drops what follows", async () => {
    const lost = new Error("lost");
    const { writer, emit, failures, appended } = setUp(async () => {
      throw lost;
    });
    emit({ type: "thought", step_index: 0, text: "a" });
    await writer.flush();
    emit({ type: "thought", step_index: 0, text: "b" });
    writer.onToken("c", token);
    await writer.flush();
    expect(failures).toEqual([lost]);
    expect(appended).toHaveLength(1);
  });

  it("keeps each event below a mebibyte, whatever a model or a tool writes", async () => {
    const { writer, emit, events } = setUp();
    // Two bytes of JSON for each character, and six.
    const [quotes, controls] = ['"'.repeat(2_000_000), "\u0001".repeat(2_000_000)];
    emit({ type: "thought", step_index: 0, text: quotes });
    const large = { id: controls, name: quotes, args: { a: quotes }, reason: "" };
    emit({ type: "tool_call", step_index: 0, call: large });
    emit({ type: "tool_result", step_index: 0, result: { ...result(quotes), error: quotes } });
    const asked = Array.from({ length: 100 }, (_, at) => {
      return { call_id: `c${at}`, tool: "read", input: { a: quotes }, expires_at: "" };
    });
    emit({ type: "tool_request", calls: asked });
    emit({ type: "message_reset", attempt: 1, reason: controls });
    writer.onToken("a".repeat(200_000), token);
    emit({ type: "message", text: controls, incomplete: false });
    writer.write(
      requestEvent({
        id: "r1",
        kind: "approval",
        node: "ask",
        within: [],
        prompt: quotes,
        proposed: { text: controls },
        schema: { title: quotes },
        expires_at: null,
      }),
    );
    await writer.flush();
    const written = events();
    for (const event of written)
      expect(Buffer.byteLength(JSON.stringify(event.data))).toBeLessThan(1_048_576);
    const cut = written.filter(({ data }) => "truncated" in data).map(({ event }) => event);
    const kinds = ["thought", "tool_call", "tool_result", "tool_request", "message", "request"];
    expect(cut).toEqual(kinds);
    const deltas = written.flatMap(({ event, data }) =>
      event === "message" && !data.done ? [data.content] : [],
    );
    expect(deltas.join("")).toBe("a".repeat(200_000));
    expect(written.at(-1)?.data).toMatchObject({ id: "r1", kind: "approval", schema: {} });
  });

  it("leaves events of usual size as they are", async () => {
    const request = {
      id: "r1",
      kind: "edit" as const,
      node: "ask",
      within: [],
      prompt: "Send?",
      proposed: { text: "hello" },
      schema: { type: "object" },
      expires_at: null,
    };
    expect(requestEvent(request)).toEqual({ event: "request", data: request });
    const text = "a".repeat(500_000);
    const { writer, emit, events } = setUp();
    emit({ type: "message", text, incomplete: false });
    await writer.flush();
    expect(events()).toEqual([{ event: "message", data: { content: text, done: true } }]);
  });
});
