import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { EventPages } from "../../src/server/runs/event-pages.ts";
import { EventStreams } from "../../src/server/runs/event-streams.ts";
import { runRoutes } from "../../src/server/runs/routes.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import {
  calculates,
  gate,
  helper,
  type ReadEvent,
  type RunServer,
  useRunServers,
} from "../helpers/run-server.ts";

const hello = { input: { message: "What is 6 * 7?" } };
const numbers = (events: readonly ReadEvent[]) => events.map(({ id }) => id);
const upTo = (last: number, from = 1) =>
  Array.from({ length: last - from + 1 }, (_, at) => at + from);

/** A model that waits before its answer. */
function holding(text: string) {
  const held = gate();
  const reply = async () => {
    await held.wait();
    return new AIMessage(text);
  };
  return { held, reply };
}

/** Executes a first run; returns its path. */
async function runOf(api: RunServer, definition: object = helper): Promise<string> {
  const runs = await api.agent(definition);
  const { json } = await api.post(runs, hello);
  return `${runs}/${String(json["run_id"])}`;
}

it("pages of a log have 50 events and 128 KiB at most, and few events after large ones", async () => {
  const asked: object[] = [];
  const sizes = [1, 2, 30, 50, 0];
  const read = async (_tenantId: string, _runId: string, of: { readonly after?: number }) => {
    asked.push(of);
    const { after = 0 } = of;
    return Array.from({ length: sizes.shift() ?? 0 }, (_, at) => {
      return { seq: after + at + 1, at: "", event: "thought", data: {} };
    });
  };
  const pages = new EventPages({ read }, { tenantId: "t", id: "r" }, 7);
  for (let page = 0; page < 6; page += 1) await pages.next();
  const maxBytes = 131_072;
  expect(asked).toEqual([
    { after: 7, limit: 50, maxBytes },
    { after: 8, limit: 2, maxBytes },
    { after: 10, limit: 4, maxBytes },
    { after: 40, limit: 50, maxBytes },
    { after: 90, limit: 50, maxBytes },
    { after: 90, limit: 2, maxBytes },
  ]);
});

it("a comment comes 15 s after the last text, and the key is checked once in 15 s", async () => {
  const clock = new ManualClock();
  const times = [10_000, 30_000];
  const isDue = () => times.includes(clock.monotonic());
  const changed = async (ms: number) => {
    clock.advance(Math.min(ms, 5_000));
    return isDue();
  };
  const follower = { reset: () => {}, release: () => {}, changed };
  let checks = 0;
  const verify = async () => ((checks += 1), { principal: {} });
  const lastEvent = () => times.filter((time) => time <= clock.monotonic()).length;
  const base = {
    clock,
    signals: { follow: () => follower, tailOf: () => undefined },
    platform: {
      apiKeys: { verify },
      runs: { progress: async () => ({ state: "running", lastEvent: lastEvent() }) },
      events: { read: async () => [{ seq: lastEvent(), at: "", event: "thought", data: {} }] },
    },
  } as unknown as RunServer["base"];
  const response = new EventStreams(base, 1).respond(
    {
      principal: { tenantId: "t", keyId: "k", scopes: ["*"] },
      request: new Request("http://x"),
      closing: new AbortController().signal,
    },
    { runId: "r", after: 0, until: "run", hasRetry: false },
  );
  const reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const seen: unknown[] = [];
  while (seen.length < 4) {
    const { value } = await reader.read();
    seen.push([new TextDecoder().decode(value).split("\n")[0], clock.monotonic(), checks]);
  }
  expect(seen).toEqual([
    ["id: 1", 10_000, 0],
    [": heartbeat", 25_000, 1],
    ["id: 2", 30_000, 1],
    [": heartbeat", 45_000, 2],
  ]);
  await reader.cancel();
});

describe.each(drawDatabases(import.meta.url))("streams of events on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "resume after Last-Event-ID without a gap or a repetition, beside other readers",
    async () => {
      const { held, reply } = holding("It is 42.\ndata: forged\n\nevent: done");
      const api = await start([{ calls: calls(3) }, reply]);
      const path = await runOf(api, { name: "plain", tools: ["calculator"] });
      const whole = await api.stream(`${path}/events`);
      expect(whole.headers["content-type"]).toBe("text/event-stream");
      const broken = await api.stream(`${path}/events`);
      const seen = [await broken.next(), await broken.next(), await broken.next()];
      broken.close();
      await held.arrived;
      const headers = { "last-event-id": String(seen.at(-1)?.id) };
      const resumed = await api.stream(`${path}/events?after=0`, { headers });
      held.open();
      const [all, rest] = await Promise.all([whole.rest(), resumed.rest()]);
      expect(numbers(all)).toEqual(upTo(all.length));
      expect([...seen, ...rest]).toEqual(all);
      const kinds = all.map(({ event }) => event);
      expect(kinds).toEqual(expect.arrayContaining(["status", "tool_call", "tool_result"]));
      expect(kinds.filter((event) => event === "done")).toHaveLength(1);
      const ids = (name: string) =>
        all.filter(({ event }) => event === name).map(({ data }) => data["id"]);
      expect(new Set(ids("tool_result"))).toEqual(new Set(ids("tool_call")));
      expect(all.at(-2)?.data).toMatchObject({
        done: true,
        content: "It is 42.\ndata: forged\n\nevent: done",
      });
      expect(all.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
      const there = await (await api.stream(`${path}/events?after=2&follow=false`)).rest();
      expect(there).toEqual(all.slice(2));
      expect((await api.send("GET", `${path}/events?after=-1`)).status).toBe(400);
      const wrong = { headers: { "last-event-id": "x" } };
      expect((await api.send("GET", `${path}/events`, wrong)).json).toMatchObject({
        status: 400,
        errors: [{ in: "header" }],
      });
    },
  );

  it.skipIf(!database.available)(
    "are the answer to a run, a turn and answers where that is wanted",
    async () => {
      const api = await start(["One.", calculates, "Two.", "Three."]);
      const runs = await api.agent();
      const created = await api.stream(runs, {
        method: "POST",
        body: { ...hello, config: { stream: true } },
      });
      const first = await created.rest();
      expect(first.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
      const location = String(created.headers["location"]);
      const path = location.replace(/\/events\?after=0$/, "");
      expect((await (await api.stream(location)).rest()).length).toBe(first.length);

      const turn = { input: { message: "More." } };
      const stream = (to: string, body: object) =>
        api.stream(`${path}${to}`, {
          method: "POST",
          body,
          headers: { accept: "text/event-stream", "idempotency-key": to },
        });
      const second = await (await stream("/turns/stream", turn)).rest();
      expect(second[0]?.id).toBe(first.length + 1);
      expect(second.slice(-2)).toMatchObject([
        { event: "request", data: { kind: "tool_approval" } },
        { event: "done", data: { status: "awaiting_human" } },
      ]);
      const third = await (await stream("/resume", { answer: "approve" })).rest();
      expect(numbers(third)[0]).toBe(numbers(second).at(-1)! + 1);
      expect(third.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });

      const again = await api.post(`${path}/turns/stream`, turn, {
        headers: { "idempotency-key": "/turns/stream" },
      });
      expect([again.status, again.headers.get("location")]).toEqual([
        409,
        `${path}/events?after=${first.length}`,
      ]);
      expect(api.model.requests).toHaveLength(3);
      const json = await api.send("GET", `${path}/events`, { headers: { accept: "text/html" } });
      expect(json.status).toBe(406);
    },
  );

  it.skipIf(!database.available)("cancel nothing when their client goes away", async () => {
    const { held, reply } = holding("Done.");
    const api = await start([reply]);
    const runs = await api.agent();
    const body = { ...hello, config: { stream: true } };
    const stream = await api.stream(runs, { method: "POST", body });
    await held.arrived;
    stream.close();
    held.open();
    const path = String(stream.headers["location"]).replace(/\/events.*/, "");
    expect(await api.until(path, "complete")).toMatchObject({
      result: { output: { message: "Done." } },
    });
  });

  it.skipIf(!database.available)("end when the server closes", async () => {
    const api = await start([], { concurrency: 0 });
    const path = await runOf(api);
    const stream = await api.stream(`${path}/events`);
    expect(await stream.block()).toBe("retry: 1000");
    const waiting = api.send("POST", `${path}/cancel`);
    await waiting;
    expect((await stream.rest()).map(({ event }) => event)).toEqual(["done"]);
    const other = await runOf(api, { name: "other" });
    const open = await api.stream(`${other}/events`);
    await open.block();
    const rest = open.rest();
    const { runs } = api.server.platform;
    await api.server.close(10_000);
    expect(await rest).toEqual([]);
    const id = other.split("/").at(-1) ?? "";
    await runs.requestCancel(api.tenantId, id);
  });

  it.skipIf(!database.available)(
    "are limited in number for a tenant, and count until they end",
    async () => {
      const api = await start([], {
        concurrency: 0,
        routes: (base) =>
          runRoutes(base, { maxStreams: 1 })
            .filter(({ operationId }) => operationId === "followRun")
            .map((route) => ({ ...route, path: `/limited${route.path}`, operationId: "limited" })),
      });
      const path = await runOf(api);
      const stream = await api.stream(`/limited${path}/events`);
      await stream.block();
      const refused = await api.send("GET", `/limited${path}/events`);
      expect(refused.json).toMatchObject({ status: 429, limit: "streams" });
      await api.send("POST", `${path}/cancel`);
      await stream.rest();
      const again = await api.stream(`/limited${path}/events`);
      expect((await again.rest()).length).toBe(1);
    },
  );

  it.skipIf(!database.available)(
    "are 1,000 for a tenant, those of all routes together, until one ends",
    async () => {
      const api = await start([], { concurrency: 0 });
      const other = await api.join();
      const path = await runOf(api);
      const threads = "/threads/0198c0de-0000-7000-8000-000000000001";
      const streams = new EventStreams(api.base, 1_000);
      const principal = { tenantId: api.tenantId, keyId: api.keyId, scopes: ["*"] };
      const closing = new AbortController().signal;
      async function* texts() {
        yield "one";
        yield "another";
      }
      const call = { principal, request: new Request("http://x"), closing };
      // One that is not read does not count.
      const unread = streams.respondWith(call, texts, {});
      const open = async () => {
        const reader = streams.respondWith(call, texts, {}).body!.getReader();
        await reader.read();
        return reader;
      };
      const opened = await Promise.all(Array.from({ length: 999 }, open));
      const last = await api.stream("/v1/changes");
      expect([last.status, await last.next()]).toMatchObject([200, { event: "ready" }]);
      const graph = { assistant_id: "helper", input: {}, if_not_exists: "create" };
      const config = { stream: true };
      for (const [method, to, body] of [
        ["GET", "/v1/changes", undefined],
        ["GET", `${path}/events`, undefined],
        ["POST", path.replace(/\/[^/]+$/, ""), { ...hello, config }],
        ["POST", `${path}/turns/stream`, hello],
        ["POST", `${path}/resume`, { answer: "approve", config }],
        ["POST", `${threads}/runs/stream`, graph],
        ["POST", "/runs/stream", graph],
        ["GET", `/runs/${path.split("/").at(-1)}/stream`, undefined],
        ["POST", `${threads}/stream/events`, { channels: [] }],
      ] as const) {
        const refused = await api.stream(to, { method, body });
        refused.close();
        expect([to, refused.status, refused.headers["retry-after"]]).toEqual([to, 429, "5"]);
      }
      expect((await api.send("GET", "/v1/runs")).json["runs"]).toHaveLength(1);
      const others = await api.stream("/v1/changes", { key: other.key });
      expect(others.status).toBe(200);
      await opened[0]?.cancel();
      const again = await api.stream("/v1/changes");
      expect(again.status).toBe(200);
      for (const stream of [last, others, again]) stream.close();
      await Promise.all([unread.body?.cancel(), ...opened.map((reader) => reader.cancel())]);
      await api.send("POST", `${path}/cancel`);
    },
  );

  it.skipIf(!database.available)("follow a run that another server executes", async () => {
    const { held, reply } = holding("It is 42.");
    const api = await start([{ calls: calls(2) }, reply]);
    const path = await runOf(api, { name: "plain", tools: ["calculator"] });
    const other = await start([], { concurrency: 0 });
    const stream = await other.stream(`${path}/events`, { key: api.key });
    await held.arrived;
    expect(await stream.next()).toMatchObject({ id: 1 });
    held.open();
    const rest = await stream.rest();
    expect(numbers(rest)).toEqual(upTo(rest.length + 1, 2));
    expect(rest.at(-1)).toMatchObject({ event: "done", data: { status: "complete" } });
  });

  it.skipIf(!database.available).each([
    [
      "their key is revoked",
      ({ server, tenantId, keyId }: RunServer) => server.platform.apiKeys.revoke(tenantId, keyId),
    ],
    [
      "their tenant is suspended",
      ({ server, tenantId }: RunServer) => server.platform.tenants.suspend(tenantId),
    ],
  ] as const)("send a comment after 15 s, and end when %s", async (_why, refuse) => {
    const api = await start([], { concurrency: 0 });
    const path = await runOf(api);
    const clock = new ManualClock();
    // Waits for time alone: nothing signals.
    const follower = {
      reset: () => {},
      release: () => {},
      changed: async (ms: number) => {
        clock.advance(Math.min(ms, 250));
        return false;
      },
    };
    const signals = {
      follow: () => follower,
      tailOf: () => undefined,
    } as unknown as RunServer["base"]["signals"];
    const streams = new EventStreams({ ...api.base, clock, signals }, 10);
    const { tenantId, keyId, key } = api;
    const request = new Request("http://x", { headers: { authorization: `Bearer ${key}` } });
    const response = streams.respond(
      {
        principal: { tenantId, keyId, scopes: ["*"] },
        request,
        closing: new AbortController().signal,
      },
      { runId: path.split("/").at(-1) ?? "", after: 0, until: "run" },
    );
    const reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const read = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await read()).toBe("retry: 1000\n\n");
    expect(await read()).toBe(": heartbeat\n\n");
    expect(clock.monotonic()).toBe(15_000);
    await refuse(api);
    expect(await reader.read()).toEqual({ done: true, value: undefined });
    const id = path.split("/").at(-1) ?? "";
    await api.server.platform.runs.requestCancel(tenantId, id);
  });

  it.skipIf(!database.available)("end when their key is revoked, though events go on", async () => {
    const api = await start([], { concurrency: 0 });
    const clock = new ManualClock();
    const platform = {
      apiKeys: api.base.platform.apiKeys,
      runs: { progress: async () => ({ state: "running", lastEvent: 1_000 }) },
      events: {
        read: async (_tenantId: string, _runId: string, { after }: { after: number }) => {
          clock.advance(1_000);
          return [{ seq: after + 1, at: "", event: "thought", data: {} }];
        },
      },
    } as unknown as RunServer["base"]["platform"];
    const streams = new EventStreams({ ...api.base, clock, platform }, 10);
    const { tenantId, keyId, key } = api;
    const request = new Request("http://x", { headers: { authorization: `Bearer ${key}` } });
    await api.server.platform.apiKeys.revoke(tenantId, keyId);
    const response = streams.respond(
      {
        principal: { tenantId, keyId, scopes: ["*"] },
        request,
        closing: new AbortController().signal,
      },
      { runId: "any", after: 0, until: "run" },
    );
    expect((await response.text()).match(/^id: \d+/gm)).toHaveLength(14);
  });

  it.skipIf(!database.available)("of a turn end with it, though another one followed", async () => {
    const api = await start([], { concurrency: 0 });
    const path = await runOf(api);
    const runId = path.split("/").at(-1) ?? "";
    const { claims, events } = api.server.platform;
    const claim = await claims.claim({ worker: "test", leaseMs: 60_000 });
    if (claim?.id !== runId) throw new Error("Another run was queued.");
    const turn = [
      { event: "thought", data: {} },
      { event: "done", data: {} },
    ];
    await events.append(claim, [...turn, ...turn]);
    const streams = new EventStreams(api.base, 10);
    const principal = { tenantId: api.tenantId, keyId: api.keyId, scopes: ["*"] };
    const closing = new AbortController().signal;
    const response = streams.respond(
      { principal, request: new Request("http://x"), closing },
      { runId, after: 0, until: "turn" },
    );
    expect((await response.text()).match(/^id: \d+/gm)).toEqual(["id: 1", "id: 2"]);
  });

  it.skipIf(!database.available)("read the log only as fast as their client", async () => {
    const api = await start([], { concurrency: 0 });
    const path = await runOf(api);
    const id = path.split("/").at(-1) ?? "";
    const { claims, events, runs } = api.server.platform;
    const claim = await claims.claim({ worker: "test", leaseMs: 60_000 });
    if (claim?.id !== id) throw new Error("Another run was queued.");
    const batch = Array.from({ length: 500 }, (_, at) => ({ event: "thought", data: { at } }));
    await events.append(claim, batch);
    await claims.finish(claim, { state: "complete", result: null });
    let reads = 0;
    const counted = {
      read: async (...of: Parameters<typeof events.read>) => {
        reads += 1;
        return events.read(...of);
      },
    };
    const platform = { ...api.base.platform, runs, events: counted as typeof events };
    const streams = new EventStreams({ ...api.base, platform }, 10);
    const principal = { tenantId: api.tenantId, keyId: api.keyId, scopes: ["*"] };
    const closing = new AbortController().signal;
    const response = streams.respond(
      { principal, request: new Request("http://x"), closing },
      { runId: id, after: 0, until: "run" },
    );
    const reader = response.body!.getReader();
    await reader.read();
    expect(reads).toBe(0);
    await reader.read();
    await reader.read();
    expect(reads).toBe(2);
    await reader.cancel();
    streams.check(principal);
  });
});

function calls(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    name: "calculator",
    args: { expression: `${at} + 1` },
  }));
}
