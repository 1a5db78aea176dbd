import { describe, expect, it } from "vitest";
import { EventStreams } from "../../src/server/runs/event-streams.ts";
import { useDatabase } from "../helpers/databases.ts";
import { type RunServer, useRunServers } from "../helpers/run-server.ts";

const database = useDatabase("postgres");
const start = useRunServers(database);

/** A run that this test executes on a server, and streams of its events with a count of what they read. */
async function setUp() {
  const api = await start([], { concurrency: 0 });
  const runs = await api.agent({ name: "plain" });
  const { json } = await api.post(runs, { input: { message: "Hello." } });
  const { claims, events, runs: stored } = api.server.platform;
  const claim = await claims.claim({ worker: "test", leaseMs: 60_000 });
  if (claim === null || claim.id !== json["run_id"]) throw new Error("Another run was queued.");
  const reads = { log: 0, progress: 0 };
  const platform = {
    apiKeys: api.base.platform.apiKeys,
    events: {
      read: async (...of: Parameters<typeof events.read>) => {
        reads.log += 1;
        return events.read(...of);
      },
    },
    runs: {
      progress: async (...of: Parameters<typeof stored.progress>) => {
        reads.progress += 1;
        return stored.progress(...of);
      },
    },
  } as unknown as RunServer["base"]["platform"];
  const streams = new EventStreams({ ...api.base, platform }, 10);
  const { signals } = api.base;
  const tail = signals.openTail(claim);
  const batch = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ event: "thought", data: { at } }));
  return {
    reads,
    tail,
    signals,
    claim,
    write: async (count: number) => {
      tail.append((await events.append(claim, batch(count)))!);
      signals.notify(claim.id);
    },
    end: async () => {
      tail.end("complete", (await claims.finish(claim, finished(batch(1))))!);
      signals.closeTail(claim.id, tail);
      signals.notify(claim.id);
    },
    open: (of: { after?: number; tenantId?: string } = {}) => {
      const { after = 0, tenantId = api.tenantId } = of;
      const principal = { tenantId, keyId: api.keyId, scopes: ["*"] };
      const call = {
        principal,
        request: new Request("http://x"),
        closing: new AbortController().signal,
      };
      const response = streams.respond(call, { runId: claim.id, after, until: "run" });
      const reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
      return {
        /** Numbers of the events of the next piece; null at the end. */
        async next() {
          const { done, value } = await reader.read();
          return done ? null : numbersOf(new TextDecoder().decode(value));
        },
        async rest() {
          const numbers: number[] = [];
          for (let next = await this.next(); next !== null; next = await this.next())
            numbers.push(...next);
          return numbers;
        },
      };
    },
    join: api.join,
  };
}

function finished(events: Parameters<RunServer["server"]["platform"]["events"]["append"]>[1]) {
  return { state: "complete" as const, result: null, events };
}

function numbersOf(text: string): readonly number[] {
  return [...text.matchAll(/^id: (\d+)/gm)].map(([, id]) => Number(id));
}

const upTo = (last: number, from = 1) =>
  Array.from({ length: last - from + 1 }, (_, at) => at + from);

describe.skipIf(!database.available)("a stream of a run that executes in its process", () => {
  it("reads nothing from the database, from the first event to the end", async () => {
    const { reads, open, write, end } = await setUp();
    const stream = open();
    expect(await stream.next()).toEqual([]);
    await write(3);
    expect(await stream.next()).toEqual([1, 2, 3]);
    const next = stream.next();
    await write(120);
    expect(await next).toEqual(upTo(53, 4));
    await end();
    expect(await stream.rest()).toEqual(upTo(124, 54));
    expect(reads).toEqual({ log: 0, progress: 0 });
  });

  it("reads the log while it lags, and continues from memory without a gap or a repetition", async () => {
    const { reads, open, write, end, tail } = await setUp();
    const stream = open();
    await stream.next();
    await write(400);
    expect(await stream.next()).toEqual(upTo(50));
    await write(400);
    expect(tail.after(50, 1)).toBeNull();
    const rest = stream.rest();
    await expect.poll(() => reads.log).toBeGreaterThan(0);
    await end();
    expect(await rest).toEqual(upTo(801, 51));
    // The 250 events that are in the log alone take five pages, and one may pass the beginning of the tail.
    expect(reads.log).toBeLessThanOrEqual(6);
  });

  it("continues in the log when the run executes elsewhere", async () => {
    const { reads, open, write, signals, tail, claim } = await setUp();
    const stream = open();
    await stream.next();
    await write(2);
    expect(await stream.next()).toEqual([1, 2]);
    signals.closeTail(claim.id, tail);
    // Events of another process.
    await write(2);
    expect(await stream.next()).toEqual([3, 4]);
    expect(reads.log).toBe(1);
  });

  it("is not given to another tenant", async () => {
    const { open, write, join } = await setUp();
    await write(2);
    const { tenantId } = await join();
    const other = open({ tenantId });
    expect(await other.next()).toEqual([]);
    await expect(other.rest()).resolves.toEqual([]);
  });
});
