import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { IdempotentRequests } from "../../src/server/idempotency.ts";
import type { IdempotencyStore } from "../../src/server/ports.ts";
import { HttpProblem } from "../../src/server/problems.ts";
import { defineRoute } from "../../src/server/route.ts";
import { DatabaseUnavailableError } from "../../src/storage/errors.ts";
import { memoryIdempotency, startApi } from "../helpers/api-server.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const headers = { "idempotency-key": "key-1" };
const body = { name: "helper" };

function probe(handle: (count: number) => Promise<{ status: number; body: unknown } | Response>) {
  let count = 0;
  return defineRoute({
    method: "post",
    path: "/v1/probe",
    operationId: "probe",
    summary: "Probe.",
    tag: "probe",
    scopes: [],
    answers: { 200: { description: "ok", schema: z.unknown() } },
    problems: ["conflict"],
    handle: () => handle((count += 1)),
  });
}

describe("an Idempotency-Key", () => {
  it("executes a request once, and replays its answer", async () => {
    const api = await startApi();
    const first = await api.send("POST", "/v1/agents", { body, headers });
    const second = await api.send("POST", "/v1/agents", { body, headers });
    expect([first.status, second.status, second.json]).toEqual([201, 201, first.json]);
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.headers.get("location")).toBe(first.headers.get("location"));
    expect(api.audited).toHaveLength(1);
  });

  it("is of one tenant", async () => {
    const api = await startApi();
    await api.send("POST", "/v1/agents", { body, headers });
    const other = await api.send("POST", "/v1/agents", { body, headers, key: "sg_b_*" });
    expect(other.headers.get("idempotency-replayed")).toBeNull();
  });

  it("refuses another body", async () => {
    const api = await startApi();
    await api.send("POST", "/v1/agents", { body, headers });
    const other = await api.send("POST", "/v1/agents", { body: { name: "other" }, headers });
    expect([other.status, other.json["type"]]).toEqual([422, "/problems/idempotency_mismatch"]);
  });

  it("refuses a second request while the first is under way", async () => {
    let finish = () => {};
    let begun = () => {};
    const underWay = new Promise<void>((resolve) => (begun = resolve));
    const route = probe(async () => {
      begun();
      await new Promise<void>((resolve) => (finish = resolve));
      return { status: 200, body: 1 };
    });
    const api = await startApi({ routes: [route] });
    const first = api.send("POST", "/v1/probe", { headers });
    await underWay;
    const second = await api.send("POST", "/v1/probe", { headers });
    expect([second.status, second.json["type"]]).toEqual([409, "/problems/request_in_progress"]);
    finish();
    expect((await first).status).toBe(200);
  });

  it("is free again after a request that failed", async () => {
    const route = probe(async (count) => {
      if (count === 1) throw new Error("broken");
      return { status: 200, body: count };
    });
    const api = await startApi({ routes: [route] });
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(500);
    expect((await api.send("POST", "/v1/probe", { headers })).text).toBe("2");
  });

  it("is not free while a request that took too long is still under way", async () => {
    const clock = new ManualClock();
    let finish = () => {};
    const route = probe(async (count) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
        clock.advance(60_000);
      });
      return { status: 200, body: count };
    });
    const api = await startApi({ routes: [route] }, { clock });
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(504);
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(409);
    finish();
    await vi.waitFor(async () => {
      const replayed = await api.send("POST", "/v1/probe", { headers });
      expect([replayed.status, replayed.text]).toEqual([200, "1"]);
    });
  });

  it("creates a stream once, which is not replayed", async () => {
    const stream = () =>
      new Response('"streamed"', {
        headers: { "Content-Type": "application/json", Location: "/v1/runs/1" },
      });
    const api = await startApi({ routes: [probe(async () => stream())] });
    expect((await api.send("POST", "/v1/probe", { headers })).text).toBe('"streamed"');
    const second = await api.send("POST", "/v1/probe", { headers });
    expect([second.status, second.headers.get("location")]).toEqual([409, "/v1/runs/1"]);
  });

  it("executes a request with a large answer once, without storing that", async () => {
    const large = "a".repeat(300_000);
    const api = await startApi({ routes: [probe(async () => ({ status: 200, body: large }))] });
    await api.send("POST", "/v1/probe", { headers });
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(409);
  });

  it("executes a request once whose answer came too late", async () => {
    let executed = 0;
    const late = async (): Promise<never> => {
      executed += 1;
      throw new HttpProblem("unavailable", {
        headers: { Location: "/v1/runs/1" },
        isExecuted: true,
      });
    };
    const api = await startApi({ routes: [probe(late)] });
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(503);
    const second = await api.send("POST", "/v1/probe", { headers });
    expect([second.status, second.headers.get("location")]).toEqual([409, "/v1/runs/1"]);
    expect(executed).toBe(1);
  });

  it.each(["a b", "a".repeat(256), ""])("is refused where it is no key (case %#)", async (key) => {
    const api = await startApi();
    const answer = await api.send("POST", "/v1/agents", {
      body,
      headers: { "idempotency-key": key },
    });
    expect(answer.json).toMatchObject({ status: 400, errors: [{ in: "header" }] });
  });
});

/** A store that throws, or does not answer, while there is an outage. */
function failingStore(clock: ManualClock) {
  const inner = memoryIdempotency();
  const state = { outage: "none" as "none" | "refuses" | "hangs", triedAt: [] as number[] };
  const unlessOut = async (run: () => Promise<void>) => {
    state.triedAt.push(clock.monotonic());
    if (state.outage === "hangs") return new Promise<never>(() => {});
    if (state.outage === "refuses") throw new Error("no database");
    return run();
  };
  const store: IdempotencyStore = {
    begin: inner.begin,
    finish: (...of) => unlessOut(() => inner.finish(...of)),
    abandon: (...of) => unlessOut(() => inner.abandon(...of)),
  };
  return { store, state };
}

describe("an Idempotency-Key whose request ends in an outage of the database", () => {
  /** Starts a server whose requests begin an outage, with a clock. */
  async function startFailing(
    handle: (count: number) => Promise<{ status: number; body: unknown }>,
    outage: "refuses" | "hangs" = "refuses",
  ) {
    const clock = new ManualClock();
    const { store, state } = failingStore(clock);
    const route = probe(async (count) => {
      state.outage = outage;
      return handle(count);
    });
    const api = await startApi({ routes: [route], idempotency: store }, { clock });
    const send = (key = "key-1") =>
      api.send("POST", "/v1/probe", { headers: { "idempotency-key": key } });
    /** Lets background retries run until `isReached`. */
    const advanceUntil = async (isReached: () => boolean) => {
      await vi.waitFor(() => {
        clock.advance(30_000);
        expect(isReached()).toBe(true);
      });
    };
    return { api, clock, store, state, send, advanceUntil };
  }

  it("answers its client, is in use meanwhile, and replays the answer afterwards", async () => {
    const { state, send, advanceUntil } = await startFailing(async (count) => ({
      status: 200,
      body: count,
    }));
    expect(await send()).toMatchObject({ status: 200, text: "1" });
    await advanceUntil(() => state.triedAt.length >= 4);
    const meanwhile = await send();
    expect([
      meanwhile.status,
      meanwhile.json["type"],
      meanwhile.headers.get("retry-after"),
    ]).toEqual([409, "/problems/request_in_progress", "1"]);
    state.outage = "none";
    const before = state.triedAt.length;
    await advanceUntil(() => state.triedAt.length > before);
    const after = await send();
    expect([after.status, after.text, after.headers.get("idempotency-replayed")]).toEqual([
      200,
      "1",
      "true",
    ]);
  });

  it("is free again after a request that failed", async () => {
    const { state, send, advanceUntil } = await startFailing(async (count) => {
      if (count === 1) throw new Error("broken");
      return { status: 200, body: count };
    });
    expect((await send()).status).toBe(500);
    expect((await send()).status).toBe(409);
    state.outage = "none";
    await advanceUntil(() => state.triedAt.length > 1);
    expect(await send()).toMatchObject({ status: 200, text: "2" });
  });

  it("answers its client while the database does not answer", async () => {
    const { clock, state, send } = await startFailing(
      async (count) => ({ status: 200, body: count }),
      "hangs",
    );
    const answer = send();
    await vi.waitFor(() => expect(state.triedAt.length).toBe(1));
    clock.advance(2_000);
    expect(await answer).toMatchObject({ status: 200, text: "1" });
    expect((await send()).status).toBe(409);
  });

  it("waits longer between retries, and is given up after an hour", async () => {
    const { api, clock, state, send } = await startFailing(async () => ({ status: 200, body: 1 }));
    await send();
    await vi.waitFor(
      () => {
        clock.advance(50);
        expect(state.triedAt.length).toBeGreaterThanOrEqual(5);
      },
      { interval: 1 },
    );
    const gaps = state.triedAt.slice(1, 5).map((time, index) => time - state.triedAt[index]!);
    expect(gaps.every((gap, index) => gap >= 100 * 2 ** index)).toBe(true);
    await vi.waitFor(() => {
      clock.advance(300_000);
      expect(api.logs).toContainEqual(
        expect.objectContaining({ level: "error", message: "idempotency key stays in use" }),
      );
    });
    const given = state.triedAt.length;
    clock.advance(3_600_000);
    expect([state.triedAt.length, clock.pending]).toEqual([given, 0]);
  });

  it("stores what waits once more when the server closes, and nothing afterwards", async () => {
    const first = await startFailing(async () => ({ status: 200, body: 1 }));
    await first.send();
    first.state.outage = "none";
    await first.api.server.close(0);
    expect([first.state.triedAt.length, first.clock.pending]).toEqual([2, 0]);
    const second = await startFailing(async () => ({ status: 200, body: 1 }));
    await second.send("a");
    second.state.outage = "none";
    await second.send("b");
    second.state.outage = "refuses";
    await second.api.server.close(0);
    const tries = second.state.triedAt.length;
    second.clock.advance(3_600_000);
    expect(second.state.triedAt.length).toBe(tries);
    expect(second.api.logs).toContainEqual(
      expect.objectContaining({ message: "idempotency keys stay in use", keys: 2 }),
    );
  });

  it("is not kept in memory beyond 1,000 requests or 16 Mi characters", async () => {
    const logs: string[] = [];
    const log = (_fields: object, message: string) => void logs.push(message);
    const clock = new ManualClock();
    const { store, state } = failingStore(clock);
    const logger = { info: log, warn: log, error: log };
    const requests = new IdempotentRequests({ store, clock, logger });
    state.outage = "refuses";
    const large = { status: 200, body: "a".repeat(250_000) };
    const run = (key: string, answer = { status: 200, body: "b" }) =>
      requests.runOnce(
        {
          tenantId: "t",
          scopes: [],
          request: new Request("http://a.b/", {
            method: "POST",
            headers: { "idempotency-key": key },
          }),
          bytes: new Uint8Array(),
          requestId: key,
        },
        async () => answer,
      );
    for (let at = 0; at < 1_002; at += 1) await run(`k${at}`, at < 70 ? large : undefined);
    expect(logs.filter((one) => one === "idempotency key stays in use")).toHaveLength(2);
    state.outage = "none";
    await requests.close();
    expect(await run("k0")).toMatchObject(large);
    await expect(run("k69")).rejects.toMatchObject({ type: "conflict" });
    await expect(run("k1001")).rejects.toMatchObject({ type: "request_in_progress" });
  });

  it("is freed when its begin was stored and the session lost with the answer", async () => {
    const inner = memoryIdempotency();
    const clock = new ManualClock();
    let isLost = true;
    const store: IdempotencyStore = {
      ...inner,
      begin: async (...of) => {
        const begun = await inner.begin(...of);
        if (isLost) throw new DatabaseUnavailableError("lost", null, null);
        return begun;
      },
    };
    const route = probe(async (count) => ({ status: 200, body: count }));
    const api = await startApi({ routes: [route], idempotency: store }, { clock });
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(503);
    isLost = false;
    expect((await api.send("POST", "/v1/probe", { headers })).status).toBe(409);
    await vi.waitFor(async () => {
      clock.advance(30_000);
      expect((await api.send("POST", "/v1/probe", { headers })).text).toBe("1");
    });
  });
});
