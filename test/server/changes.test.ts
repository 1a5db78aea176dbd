import { setImmediate } from "node:timers/promises";
import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it, vi } from "vitest";
import type { ApiBase } from "../../src/server/ports.ts";
import { ChangeFeeds, ChangeSubscription } from "../../src/server/runs/change-feeds.ts";
import { changeRoutes } from "../../src/server/runs/change-routes.ts";
import { readRunChanges } from "../../src/storage/platform/runs/run-versions.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { calculates, gate, useRunServers } from "../helpers/run-server.ts";

const idOf = (at: number) => `0198c0de-0000-7000-8000-${String(at).padStart(12, "0")}`;

/** Parts of a server on a clock that stands still, whose database notes its reads and has the rows of `found`. */
function parts() {
  const clock = new ManualClock();
  /** When, of how many ids, and whether of all open runs. */
  const reads: [at: number, ids: number, isLook: boolean][] = [];
  const found = { rows: [] as object[], failure: null as Error | null, isAllowed: true };
  const query = async (statement: string | { readonly values: readonly unknown[][] }) => {
    if (typeof statement === "string") return { rows: [] };
    if (found.failure !== null) throw found.failure;
    const [, ids, states] = statement.values;
    reads.push([clock.monotonic(), ids!.length, states!.length > 0]);
    return { rows: found.rows.splice(0) };
  };
  const pool = { connect: async () => ({ query, release: () => {} }) };
  const tables = { schema: "s", tenants: { pool, role: null } };
  const release = vi.fn<() => void>();
  let tell: (key: string) => void = () => {};
  const listen = vi.fn<(listener: (key: string) => void) => () => void>((listener) => {
    tell = listener;
    return release;
  });
  const apiKeys = { verify: async () => ({ principal: found.isAllowed ? {} : null }) };
  const base = { clock, signals: { listen }, platform: { tables, apiKeys } };
  return {
    base: base as unknown as ApiBase,
    clock,
    reads,
    found,
    listen,
    release,
    tell: (key: string) => tell(key),
    advance: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        clock.advance(50);
        await setImmediate();
      }
    },
  };
}

const tenantId = idOf(0);

describe("the feed of a tenant", () => {
  it("reads four times a second at most, and looks at open runs every two seconds", async () => {
    const { base, reads, tell, advance, release } = parts();
    const changes = new ChangeFeeds(base).subscribe(tenantId);
    await changes.ready;
    await advance(2_000);
    tell(idOf(1));
    await advance(300);
    for (const key of [idOf(1), idOf(2), idOf(1), "no run"]) tell(key);
    await advance(500);
    tell("no run");
    await advance(1_200);
    expect(reads).toEqual([
      [0, 0, true],
      [2_000, 0, true],
      [2_250, 1, false],
      [2_500, 2, false],
      [4_000, 0, true],
    ]);
    expect(release).not.toHaveBeenCalled();
    changes.close();
    expect(release).toHaveBeenCalled();
    await advance(4_000);
    expect(reads).toHaveLength(5);
  });

  it("holds 5,000 runs at most, and says once that there were more", async () => {
    const { base, reads, tell, advance } = parts();
    const changes = new ChangeFeeds(base).subscribe(tenantId);
    await changes.ready;
    for (let at = 0; at < 5_000; at += 1) tell(idOf(at));
    await advance(250);
    expect(changes.take()).toEqual({ runs: [], isCut: false });
    for (let at = 0; at < 5_001; at += 1) tell(idOf(at));
    await advance(250);
    expect(changes.take()).toEqual({ runs: [], isCut: true });
    tell(idOf(0));
    await advance(250);
    expect(changes.take()).toEqual({ runs: [], isCut: false });
    expect(reads.map(([, ids]) => ids)).toEqual([0, 5_000, 5_000, 1]);
    changes.close();
  });

  it("that cannot read ends its streams, and the next one begins another feed", async () => {
    const { base, clock, found, listen, release, tell, advance } = parts();
    const feeds = new ChangeFeeds(base);
    const changes = feeds.subscribe(tenantId);
    await changes.ready;
    found.failure = new Error("The database is gone.");
    const waited = changes.wait(clock, 60_000);
    tell(idOf(1));
    await advance(250);
    await waited;
    expect(() => changes.take()).toThrow("The database is gone.");
    expect(release).toHaveBeenCalledTimes(1);
    found.failure = null;
    const next = feeds.subscribe(tenantId);
    await next.ready;
    expect([listen.mock.calls.length, next.take()]).toEqual([2, { runs: [], isCut: false }]);
    next.close();
  });
});

it("a stream of changes has a comment after 15 s without one, and ends within 15 s of its key", async () => {
  const { base, clock, found, tell, advance } = parts();
  const route = changeRoutes(base)[0]!;
  const principal = { tenantId, keyId: "k", scopes: ["runs:read"] };
  const request = new Request("http://x/v1/changes");
  const closing = new AbortController().signal;
  const answer = await route.handle({ principal, request, closing } as never);
  const reader = (answer as Response).body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  /** The next text, and when it came. */
  const next = async (ms: number) => {
    const read = reader.read().then(({ value }) => {
      return [new TextDecoder().decode(value), clock.monotonic()];
    });
    await setImmediate();
    await advance(ms);
    return read;
  };
  expect(await next(0)).toEqual(["retry: 1000\n\nevent: ready\ndata: {}\n\n", 0]);
  expect(await next(16_000)).toEqual([": heartbeat\n\n", 15_000]);
  found.rows = [{ id: idOf(1), thread_id: "t", agent_id: null, state: "queued", last_event: 1 }];
  tell(idOf(1));
  const change = `{"run_id":"${idOf(1)}","thread_id":"t","agent_id":null,"status":"queued","last_event":1}`;
  expect(await next(500)).toEqual([`event: change\ndata: ${change}\n\n`, 16_250]);
  for (let at = 0; at < 5_001; at += 1) tell(idOf(at));
  expect(await next(500)).toEqual(["event: reset\ndata: {}\n\n", 16_500]);
  found.isAllowed = false;
  expect(await next(16_000)).toEqual(["", 31_500]);
});

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("the changes of a tenant", () => {
    it("name runs that are queued, wait, go on and end, and none of other tenants", async () => {
      const server = await start([calculates, "It is 42.", "Hidden."]);
      const other = await server.join();
      const changes = await server.stream("/v1/changes");
      const others = await server.stream("/v1/changes", { key: other.key });
      expect(await changes.next()).toMatchObject({ event: "ready", data: {} });
      expect(await others.next()).toMatchObject({ event: "ready" });
      const runs = await server.agent();
      const { json } = await server.post(runs, { input: { message: "6 * 7?" } });
      const [run_id, thread_id] = [String(json["run_id"]), String(json["thread_id"])];
      const until = async (status: string) => {
        for (;;) {
          const change = await changes.next();
          expect(change).toMatchObject({
            event: "change",
            data: { run_id, thread_id, agent_id: runs.split("/")[3] },
          });
          if (change?.data["status"] === status) return change.data;
        }
      };
      const waiting = await until("awaiting_human");
      const listed = await server.send("GET", "/v1/requests");
      const [request] = listed.json["requests"] as { id: string }[];
      const answers = { [String(request?.id)]: { decision: "approve" } };
      await server.post(`${runs}/${run_id}/resume`, { answers });
      const ended = await until("complete");
      expect(Number(ended["last_event"])).toBeGreaterThan(Number(waiting["last_event"]));
      const plain = { name: "plain" };
      const made = await server.send("POST", "/v1/agents", { body: plain, key: other.key });
      const path = `/v1/agents/${String(made.json["id"])}/runs`;
      const hidden = await server.post(path, { input: { message: "Hi" } }, { key: other.key });
      const first = await others.next();
      expect(first?.data["run_id"]).toBe(hidden.json["run_id"]);
      changes.close();
      others.close();
    });

    it("are left out while nothing is new, and found without notices", async () => {
      const busy = gate();
      const waits = async () => {
        await busy.wait();
        return new AIMessage("Late.");
      };
      const server = await start([waits, "Second."]);
      const runs = await server.agent({ name: "plain" });
      const { json } = await server.post(runs, { input: { message: "Hi" } });
      await busy.arrived;
      const { signals, platform } = server.base;
      const run = String(json["run_id"]);
      const lastEvent = async () => {
        const of = { ids: [run], withOpen: false };
        const [found] = await readRunChanges(platform.tables, server.tenantId, of);
        return found?.lastEvent;
      };
      // The start of the step is stored after its model is called: a change that the stream must not see.
      await expect.poll(lastEvent).toBe(4);
      const changes = await server.stream("/v1/changes");
      await changes.next();
      for (let count = 0; count < 1_000; count += 1) signals.receive(run);
      // The read that finds another run has the first one among those to read.
      const second = await server.post(runs, { input: { message: "Hi" } });
      expect((await changes.next())?.data["run_id"]).toBe(second.json["run_id"]);
      // What another process writes, without a notice.
      signals.receive = () => {};
      busy.open();
      // The end of the step may be read before the end of the run.
      const statuses: unknown[] = [];
      while (statuses.at(-1) !== "complete") {
        const change = await changes.next();
        expect(change?.event).toBe("change");
        if (change?.data["run_id"] !== run) continue;
        expect(change.data["last_event"]).toBeGreaterThan(4);
        statuses.push(change.data["status"]);
      }
      changes.close();
    });

    it("are read once for all streams of a tenant, while there are any", async () => {
      const server = await start(["Hello."]);
      const listen = vi.spyOn(server.base.signals, "listen");
      const streams = [await server.stream("/v1/changes"), await server.stream("/v1/changes")];
      for (const stream of streams) expect(await stream.next()).toMatchObject({ event: "ready" });
      expect(listen).toHaveBeenCalledTimes(1);
      const runs = await server.agent({ name: "plain" });
      const { json } = await server.post(runs, { input: { message: "Hi" } });
      for (const stream of streams)
        expect(await stream.next()).toMatchObject({ data: { run_id: json["run_id"] } });
      for (const stream of streams) stream.close();
      // The last one to go ends the feed: the next begins another.
      const isAnother = async () => {
        const stream = await server.stream("/v1/changes");
        await stream.next();
        stream.close();
        return listen.mock.calls.length > 1;
      };
      await expect.poll(isAnother).toBe(true);
    });

    it("of a stream that takes none are bounded, and a reset stands for them", () => {
      const changes = new ChangeSubscription(Promise.resolve(), () => {});
      const run = (id: number) => {
        const state = "queued" as const;
        return { id: String(id), threadId: "t", agentId: null, state, lastEvent: id };
      };
      const runs = Array.from({ length: 5_000 }, (_, id) => run(id));
      changes.add({ runs, isCut: false });
      changes.add({ runs: [run(0)], isCut: false });
      expect(changes.take()).toEqual({ runs, isCut: false });
      changes.add({ runs: [...runs, run(5_000)], isCut: false });
      changes.add({ runs: [run(1)], isCut: false });
      expect(changes.take()).toEqual({ runs: [run(1)], isCut: true });
    });

    it("end with the server, and need the scope of runs", async () => {
      const server = await start([]);
      const { key } = await server.join(["agents:read"]);
      expect((await server.send("GET", "/v1/changes", { key })).status).toBe(403);
      const changes = await server.stream("/v1/changes");
      await changes.next();
      await server.server.close(0);
      expect(await changes.next()).toBeNull();
    });
  });
});
