import { describe, expect, it, vi } from "vitest";
import { runRoutes } from "../../src/server/runs/routes.ts";
import type { Run } from "../../src/storage/platform/runs/runs.ts";
import { useDatabase } from "../helpers/databases.ts";
import { type ReadEvent, type RunServer, useRunServers } from "../helpers/run-server.ts";

const eventBytes = 60_000;
const batches = 5;
const eventsOfBatch = 50;
/** Many times what the sockets take, which is some 4 MB on Linux. */
const logBytes = batches * eventsOfBatch * eventBytes;

const database = useDatabase("postgres");
const start = useRunServers(database);
const input = { message: "Hello." };
const plain = { name: "plain" };

async function claimOf({ server }: RunServer): Promise<Run> {
  const claim = await server.platform.claims.claim({ worker: "test", leaseMs: 60_000 });
  if (claim === null) throw new Error("No run was queued.");
  return claim;
}

/** Writes the events of a run, as its worker does. */
async function writeLog({ server }: RunServer, claim: Run, event: string): Promise<void> {
  const { events } = server.platform;
  await events.append(claim, [{ event: "metadata", data: { run_id: claim.id, attempt: 1 } }]);
  for (let batch = 0; batch < batches; batch += 1) {
    const written = Array.from({ length: eventsOfBatch }, (_, at) => ({
      event,
      data: { at: batch * eventsOfBatch + at, text: "x".repeat(eventBytes) },
    }));
    await events.append(claim, written);
  }
}

async function finish({ server }: RunServer, claim: Run): Promise<void> {
  const done = { event: "done", data: { turn_id: null, status: "complete", checkpoint_id: null } };
  const ended = { state: "complete" as const, result: null, events: [done] };
  expect(await server.platform.claims.finish(claim, ended)).not.toBeNull();
}

const places = (events: readonly ReadEvent[], name: string) =>
  events.filter(({ event }) => event === name).map(({ data }) => data["at"]);
const all = Array.from({ length: batches * eventsOfBatch }, (_, at) => at);

/** Writes a log while its reader reads nothing, and checks how much of it the server takes up. */
async function expectBounded(api: RunServer, event: string): Promise<void> {
  const read = vi.spyOn(api.base.platform.events, "read");
  const claim = await claimOf(api);
  await writeLog(api, claim, event);
  await finish(api, claim);
  api.base.signals.notify(claim.id);
  // The sockets are full when no further page is read between two looks.
  let taken = -1;
  await expect
    .poll(
      () => {
        const before = taken;
        taken = read.mock.calls.length;
        return taken === before && taken > 0;
      },
      { interval: 500, timeout: 30_000 },
    )
    .toBe(true);
  const pages = await Promise.all(read.mock.results.map(({ value }) => value));
  const sizes = pages.map((page) => Buffer.byteLength(JSON.stringify(page)));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(logBytes * 0.75);
  // A page ends with the event that exceeds its bound.
  expect(Math.max(...sizes)).toBeLessThan(131_072 + 2 * eventBytes);
}

describe.skipIf(!database.available)("a client that does not read", () => {
  it("holds no run of /v1, and gets all of its events once it reads", async () => {
    const api = await start([], { concurrency: 0 });
    const runs = await api.agent(plain);
    const body = { input, config: { stream: true } };
    const stream = await api.stream(runs, { method: "POST", body });
    await expectBounded(api, "thought");
    const events = await stream.rest();
    expect(places(events, "thought")).toEqual(all);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)).toMatchObject({ event: "done" });
  }, 60_000);

  it("holds no run of LangGraph's protocol, and gets all of its events once it reads", async () => {
    const api = await start([], { concurrency: 0 });
    await api.agent(plain);
    const body = { assistant_id: "plain", input: { input }, if_not_exists: "create" };
    const path = "/threads/0198c0de-0000-7000-8000-000000000001/runs/stream";
    const stream = await api.stream(path, { method: "POST", body });
    await expectBounded(api, "values");
    const events = await stream.rest();
    expect(places(events, "values")).toEqual(all);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, at) => at + 1));
  }, 60_000);

  it("holds no run of an event stream, and gets all of its events once it reads", async () => {
    const api = await start([], { concurrency: 0 });
    await api.agent(plain);
    const thread = "/threads/0198c0de-0000-7000-8000-000000000002";
    const channels = ["lifecycle", "values"];
    const opened = { method: "POST", body: { channels } };
    const stream = await api.stream(`${thread}/stream/events`, opened);
    const params = { assistant_id: "plain", input: { input } };
    await api.post(`${thread}/commands`, { id: 1, method: "run.start", params });
    await expectBounded(api, "values");
    const seen: unknown[] = [];
    for (let event: unknown; event !== "completed";) {
      const { params: of } = (await stream.next())!.data as { params: { data: object } };
      const data = of.data as { readonly event?: string; readonly at?: number };
      event = data.event;
      if (data.at !== undefined) seen.push(data.at);
    }
    expect(seen).toEqual(all);
    stream.close();
  }, 60_000);
});

describe.skipIf(!database.available)("a stream whose client takes nothing", () => {
  it("ends in time and is not counted any more, and those with nothing left to take last", async () => {
    const api = await start([], {
      concurrency: 0,
      limits: { readTimeoutMs: 200 },
      routes: (base) =>
        runRoutes(base, { maxStreams: 3 })
          .filter(({ operationId }) => operationId === "followRun")
          .map((route) => ({ ...route, path: `/limited${route.path}`, operationId: "limited" })),
    });
    const runs = await api.agent(plain);
    await api.post(runs, { input });
    await api.post(runs, { input });
    const [full, idle] = [await claimOf(api), await claimOf(api)];
    await writeLog(api, full, "thought");
    const pathOf = ({ id }: Run) => `/limited${runs}/${id}/events`;
    // Beyond what Node buffers for a socket: the stream waits until its client has read it.
    const large = [{ event: "thought", data: { text: "x".repeat(eventBytes) } }];
    await api.server.platform.events.append(idle, large);
    const quiet = await api.stream(`${pathOf(idle)}?after=1`);
    await quiet.block();
    const reading = await api.stream(pathOf(idle));
    await reading.next();
    const stuck = await api.stream(pathOf(full));
    const statusOf = async () => {
      const other = await api.stream(`${pathOf(full)}?follow=false`);
      other.close();
      return other.status;
    };
    expect(await statusOf()).toBe(429);
    await expect.poll(statusOf, { timeout: 30_000 }).toBe(200);
    await expect(stuck.rest()).rejects.toThrow("aborted");
    const still = [{ event: "thought", data: { content: "Still here." } }];
    await api.server.platform.events.append(idle, still);
    for (const stream of [quiet, reading]) {
      expect(await stream.next()).toMatchObject({ data: { content: "Still here." } });
      stream.close();
    }
    for (const claim of [full, idle]) await finish(api, claim);
  }, 60_000);
});
