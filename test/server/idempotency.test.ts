import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { HttpProblem } from "../../src/server/problems.ts";
import { defineRoute } from "../../src/server/route.ts";
import { startApi } from "../helpers/api-server.ts";
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
