import { AIMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { HttpProblem } from "../../../src/server/problems.ts";
import {
  lastEventId as readLastEventId,
  RunAnswers,
} from "../../../src/server/langgraph/run-streams.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { calculates, gate, type RunServer, useRunServers } from "../../helpers/run-server.ts";

const question = { input: { message: "What is 6 * 7?" } };
const plainAgent = { name: "plain", tools: ["calculator"] };

function clientOf(api: Pick<RunServer, "port" | "key">): Client {
  const apiUrl = `http://127.0.0.1:${api.port}`;
  return new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
}

interface Part {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

async function all(stream: AsyncIterable<unknown>): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part as Part);
  return parts;
}

const message = (text: string) => new AIMessage(text);

/** A reply that is awaited until the run is cancelled. */
const aborted = (signal: AbortSignal | undefined) =>
  new Promise<never>((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
  });

const lastValues = (parts: readonly Part[]) =>
  parts.findLast(({ event }) => event === "values")?.data;

it("a wait sends a newline a second to a client that reads, and none after its end", async () => {
  const clock = new ManualClock();
  const cancelled: unknown[] = [];
  let end: (of: object) => void = () => {};
  const runs = {
    awaitEnd: () => new Promise((resolve) => (end = resolve)),
    find: async () => "the run",
    cancel: async (_: object, run: unknown) => void cancelled.push(run),
  };
  const answers = new RunAnswers({ clock, signals: {} } as never, runs as never);
  const wait = () => {
    const call = {
      principal: {},
      request: new Request("http://x"),
      closing: new AbortController().signal,
    };
    const response = answers.wait(call as never, { run: { id: "r" } } as never, { cancels: true });
    return response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  };
  const textOf = ({ value }: { readonly value?: Uint8Array | undefined }) =>
    new TextDecoder().decode(value);
  const reader = wait();
  for (const second of [1, 2]) {
    const read = reader.read().then((next) => [textOf(next), clock.monotonic()]);
    clock.advance(1_000);
    expect(await read).toEqual(["\n", second * 1_000]);
  }
  // One waits to be read, and no other follows it.
  clock.advance(10_000);
  end({ isOver: true, tail: [{ event: "values", data: { a: 1 } }] });
  const rest = [textOf(await reader.read()), textOf(await reader.read())];
  expect([...rest, (await reader.read()).done]).toEqual(["\n", '{"a":1}', true]);
  expect([clock.pending, cancelled]).toEqual([0, []]);
  await wait().cancel();
  expect([clock.pending, cancelled]).toEqual([0, ["the run"]]);
});

it("a wait looks for the last values in 200 events, 20 at a time, then in the state", async () => {
  const answerFor = async (place: number) => {
    const asked: number[] = [];
    const read = async (_: string, _run: string, of: { after: number; limit: number }) => {
      asked.push(of.limit);
      return Array.from({ length: of.limit }, (_event, at) => {
        const seq = of.after + at + 1;
        return { event: seq === place ? "values" : "updates", data: { seq } };
      });
    };
    const platform = { runs: { progress: async () => ({ lastEvent: 300 }) }, events: { read } };
    const runtimes = { use: async () => ({ values: { seq: "state" } }) };
    const base = { clock: new ManualClock(), signals: {}, platform, runtimes };
    const runs = { awaitEnd: async () => ({ isOver: true, tail: undefined }) };
    const call = {
      principal: {},
      request: new Request("http://x"),
      closing: new AbortController().signal,
    };
    const answers = new RunAnswers(base as never, runs as never);
    const text = await answers.wait(call as never, { run: { id: "r" } } as never).text();
    return [text, asked];
  };
  const pages = Array.from({ length: 10 }, () => 20);
  expect(await answerFor(290)).toEqual(['{"seq":290}', [20]]);
  expect(await answerFor(101)).toEqual(['{"seq":101}', pages]);
  expect(await answerFor(100)).toEqual(['{"seq":"state"}', pages]);
});

it("a stream goes on after the number of an event alone", () => {
  const read = (id: string) =>
    readLastEventId(new Request("http://x", { headers: { "last-event-id": id } }));
  expect(["", "-1", "0", "7", "999999999"].map(read)).toEqual([0, 0, 0, 7, 999_999_999]);
  for (const id of ["x", "1x", "x1", "1.5", "1e3", "-2", "1234567890"])
    expect(() => read(id)).toThrow(HttpProblem);
});

describe.each(drawDatabases(import.meta.url))("runs of LangGraph's protocol on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "streams the values of a run, and nothing of the engine",
    async () => {
      const api = await start([calculates, "It is 42."]);
      await api.agent(plainAgent);
      const { threads, runs } = clientOf(api);
      const { thread_id } = await threads.create();
      let created: unknown;
      const parts = await all(
        runs.stream(thread_id, "plain", {
          input: question,
          onRunCreated: (run) => (created = run),
        }),
      );
      expect(parts[0]).toMatchObject({ event: "metadata", data: { attempt: 1 } });
      const { run_id } = parts[0]!.data as { run_id: string };
      expect(created).toEqual({ run_id, thread_id });
      expect(new Set(parts.map(({ event }) => event))).toEqual(new Set(["metadata", "values"]));
      expect(lastValues(parts)).toMatchObject({
        status: "COMPLETED",
        output: { message: "It is 42." },
        messages: [{ type: "human" }, { type: "ai" }, { type: "tool" }, { content: "It is 42." }],
      });
      expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "success", thread_id });
      expect(await runs.join(thread_id, run_id)).toEqual(lastValues(parts));
      expect(await runs.list(thread_id)).toMatchObject([{ run_id, status: "success" }]);
      expect(await runs.list(thread_id, { status: "error" })).toEqual([]);
      expect(await threads.get(thread_id)).toMatchObject({
        status: "idle",
        metadata: { graph_id: "plain" },
      });
      await runs.delete(thread_id, run_id);
      await expect(runs.get(thread_id, run_id)).rejects.toMatchObject({ status: 404 });
    },
  );

  it.skipIf(!database.available)("streams all modes together, and each by itself", async () => {
    const modes = [
      "values",
      "updates",
      "messages",
      "messages-tuple",
      "events",
      "tasks",
      "checkpoints",
      "debug",
      "custom",
      "tools",
    ] as const;
    const expected = {
      values: "values",
      updates: "updates",
      messages: "messages/complete",
      "messages-tuple": "messages",
      events: "events",
      tasks: "tasks",
      checkpoints: "checkpoints",
      debug: "debug",
      custom: "custom",
      tools: null,
    } as const;
    const api = await start(["all", ...modes.map((mode) => `only ${mode}`)]);
    await api.agent(plainAgent);
    const { runs } = clientOf(api);
    const together = await all(
      runs.stream(null, "plain", { input: question, streamMode: [...modes] }),
    );
    const names = new Set(together.map(({ event }) => event));
    expect([...names]).toEqual(
      expect.arrayContaining(Object.values(expected).filter((name) => name !== null)),
    );
    expect(names).not.toContain("done");
    for (const mode of modes) {
      const parts = await all(runs.stream(null, "plain", { input: question, streamMode: mode }));
      const own = parts
        .slice(1)
        .map(({ event }) => event.replace(/^messages\/.*/, "messages/complete"));
      expect([mode, ...new Set(own)]).toEqual(
        expected[mode] === null ? [mode] : [mode, expected[mode]],
      );
    }
  });

  it.skipIf(!database.available)("asks for approval, and resumes by a command", async () => {
    const api = await start([calculates, "It is 42.", calculates, "Again 42."]);
    await api.agent();
    const { threads, runs } = clientOf(api);
    const { thread_id } = await threads.create();
    const waiting = await runs.wait(thread_id, "helper", { input: question });
    expect(waiting).toMatchObject({ __interrupt__: [{ value: { kind: "tool_approval" } }] });
    const first = (await runs.list(thread_id))[0]!;
    expect(first.status).toBe("success");
    expect(await threads.get(thread_id)).toMatchObject({ status: "interrupted" });

    const reader = await api.join(["runs:write", "runs:read"], api.tenantId);
    const unable = clientOf({ ...api, ...reader });
    const command = { resume: "approve" };
    await expect(runs.wait(thread_id, "helper", { command: { resume: 7 } })).rejects.toThrow(
      "InvalidAnswerError",
    );
    await expect(unable.runs.wait(thread_id, "helper", { command })).rejects.toMatchObject({
      status: 403,
    });
    expect(await threads.get(thread_id)).toMatchObject({ status: "error" });
    const done = await runs.wait(thread_id, "helper", { command });
    expect(done).toMatchObject({ status: "COMPLETED", output: { message: "It is 42." } });
    expect((await api.send("GET", "/v1/requests")).json["requests"]).toEqual([]);
    expect(await threads.get(thread_id)).toMatchObject({ status: "idle" });

    await runs.wait(thread_id, "helper", { input: question });
    const { interrupts } = await threads.get(thread_id);
    const [id] = Object.values(interrupts)
      .flat()
      .map((one) => one.id);
    const byId = { resume: { [String(id)]: "approve" } };
    expect(await runs.wait(thread_id, "helper", { command: byId })).toMatchObject({
      output: { message: "Again 42." },
      turn_number: 1,
    });
  });

  it.skipIf(!database.available)("cancels a run and removes one that is rolled back", async () => {
    const held = [gate(), gate()] as const;
    const api = await start([
      async (_request, config) => {
        held[0].open();
        return aborted(config.signal);
      },
      async (_request, config) => {
        held[1].open();
        return aborted(config.signal);
      },
      "Hello.",
    ]);
    await api.agent(plainAgent);
    const { threads, runs } = clientOf(api);
    const { thread_id } = await threads.create();
    const first = await runs.create(thread_id, "plain", { input: question });
    await held[0].wait();
    await runs.cancel(thread_id, first.run_id, true);
    expect(await runs.get(thread_id, first.run_id)).toMatchObject({ status: "interrupted" });
    expect(await threads.get(thread_id)).toMatchObject({ status: "idle" });
    const second = await runs.create(thread_id, "plain", { input: question });
    await held[1].wait();
    await runs.cancel(thread_id, second.run_id, false, "rollback");
    await expect(runs.get(thread_id, second.run_id)).rejects.toMatchObject({ status: 404 });
    const values = await runs.wait(thread_id, "plain", { input: question });
    expect(values).toMatchObject({ turn_number: 0, messages: [{}, { content: "Hello." }] });
  });

  it.skipIf(!database.available)("follows the multitask strategy of a run", async () => {
    const held = [gate(), gate(), gate()] as const;
    const api = await start([
      async () => (await held[0].wait(), message("first")),
      "second",
      async (_request, config) => (held[1].open(), aborted(config.signal)),
      "third",
      async (_request, config) => (held[2].open(), aborted(config.signal)),
      "fourth",
    ]);
    await api.agent(plainAgent);
    const { threads, runs } = clientOf(api);
    const { thread_id } = await threads.create();
    const first = await runs.create(thread_id, "plain", { input: question });
    await held[0].arrived;
    await expect(runs.create(thread_id, "plain", { input: question })).rejects.toMatchObject({
      status: 422,
    });
    const strategy = (multitaskStrategy: "enqueue" | "interrupt" | "rollback") =>
      runs.create(thread_id, "plain", { input: question, multitaskStrategy });
    const second = await strategy("enqueue");
    expect(second).toMatchObject({ status: "pending", multitask_strategy: "enqueue" });
    held[0].open();
    expect(await runs.join(thread_id, second.run_id)).toMatchObject({
      output: { message: "second" },
      turn_number: 1,
    });
    expect(await runs.get(thread_id, first.run_id)).toMatchObject({ status: "success" });

    const third = await strategy("enqueue");
    await held[1].wait();
    const after = await strategy("interrupt");
    expect(await runs.join(thread_id, after.run_id)).toMatchObject({
      output: { message: "third" },
    });
    expect(await runs.get(thread_id, third.run_id)).toMatchObject({ status: "interrupted" });

    const fourth = await strategy("enqueue");
    await held[2].wait();
    const last = await strategy("rollback");
    expect(await runs.join(thread_id, last.run_id)).toMatchObject({
      output: { message: "fourth" },
    });
    await expect(runs.get(thread_id, fourth.run_id)).rejects.toMatchObject({ status: 404 });
  });

  it.skipIf(!database.available)(
    "resumes a stream by Last-Event-ID on another server",
    async () => {
      const api = await start([calculates, "It is 42."]);
      await api.agent(plainAgent);
      const other = await start([], { concurrency: 0 });
      const { threads, runs } = clientOf(api);
      const { thread_id } = await threads.create();
      const parts = await all(
        runs.stream(thread_id, "plain", { input: question, streamMode: "updates" }),
      );
      const { run_id } = parts[0]!.data as { run_id: string };
      const there = clientOf({ ...other, key: api.key }).runs;
      expect(await all(there.joinStream(thread_id, run_id))).toEqual(parts);
      const lastEventId = String(parts[1]?.id);
      expect(await all(there.joinStream(thread_id, run_id, { lastEventId }))).toEqual(
        parts.slice(2),
      );
      expect(await all(there.joinStream(thread_id, run_id, { lastEventId: "-1" }))).toEqual(parts);
    },
  );

  it.skipIf(!database.available)("shows other tenants nothing", async () => {
    const api = await start(["Hello."]);
    await api.agent(plainAgent);
    const { threads, runs } = clientOf(api);
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "plain", { input: question });
    const { run_id } = (await runs.list(thread_id))[0]!;
    const stranger = clientOf({ ...api, ...(await api.join()) }).runs;
    for (const call of [
      () => stranger.get(thread_id, run_id),
      () => stranger.list(thread_id),
      () => stranger.join(thread_id, run_id),
      () => stranger.cancel(thread_id, run_id),
      () => stranger.delete(thread_id, run_id),
      () => stranger.cancelMany({ runIds: [run_id] }),
      () => all(stranger.joinStream(thread_id, run_id)),
      () => stranger.create(thread_id, "plain", { input: question }),
    ])
      await expect(call()).rejects.toMatchObject({ status: 404 });
    const elsewhere = await threads.create();
    await expect(runs.get(elsewhere.thread_id, run_id)).rejects.toMatchObject({ status: 404 });
  });

  it.skipIf(!database.available)("writes placeholders for values that rails redact", async () => {
    const api = await start(["Noted <EMAIL_1>."]);
    await api.agent({
      name: "guarded",
      guardrail_config: { input_rails: [{ type: "pii", config: { action: "redact" } }] },
    });
    const { runs } = clientOf(api);
    const input = { input: { message: "I am ann@example.com." } };
    const streamMode = ["values", "updates", "debug", "events", "messages-tuple"] as const;
    const parts = await all(runs.stream(null, "guarded", { input, streamMode: [...streamMode] }));
    expect(lastValues(parts)).toMatchObject({ status: "COMPLETED" });
    expect(JSON.stringify(parts)).toContain("<EMAIL_1>");
    expect(JSON.stringify(parts)).not.toContain("ann@example.com");
  });

  it.skipIf(!database.available)(
    "stops before nodes, and refuses what is not a caller's",
    async () => {
      const api = await start(["Hello."]);
      await api.agent(plainAgent);
      const { threads, runs } = clientOf(api);
      const { thread_id } = await threads.create();
      const stopped = await runs.wait(thread_id, "plain", {
        input: question,
        interruptBefore: ["reason"],
        config: { configurable: { thread_id: "other", checkpoint_ns: "x", __pregel_read: 1 } },
      });
      expect(stopped).not.toHaveProperty("output.message");
      const state = await threads.getState(thread_id);
      expect(state.next).toEqual(["reason"]);
      expect(await threads.get(thread_id)).toMatchObject({ status: "interrupted" });
      expect(await runs.wait(thread_id, "plain", { input: null })).toMatchObject({
        output: { message: "Hello." },
      });
      for (const command of [
        { update: { redactions: {} } },
        { goto: { node: "tools", input: { calls: [] } } },
      ])
        await expect(runs.create(thread_id, "plain", { command })).rejects.toMatchObject({
          status: 422,
        });
      const webhook = "http://127.0.0.1/";
      await expect(
        runs.create(thread_id, "plain", { input: question, webhook }),
      ).rejects.toMatchObject({ status: 422 });
      await expect(runs.create("none", "plain", { input: question })).rejects.toMatchObject({
        status: 404,
      });
    },
  );
});
