import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { TenantSettings } from "../../src/storage/platform/tenants.ts";
import type { RemainingQuota } from "../../src/storage/platform/usage.ts";
import { defineRoute } from "../../src/server/route.ts";
import { TenantLimits } from "../../src/server/tenant-limits.ts";
import { startApi, tenantA } from "../helpers/api-server.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

/** Limits of every tenant, and the requests that were stored. */
function limitStores(remaining: Partial<RemainingQuota>, settings: TenantSettings = {}) {
  const stored: number[] = [];
  return {
    stored,
    usage: {
      remaining: async () => ({ requests: null, tokens: null, cost_usd: null, ...remaining }),
      add: async (_tenantId: string, { requests = 0 }) => void stored.push(requests),
    },
    tenants: { get: async () => ({ settings }) as never },
  };
}

const spending = defineRoute({
  method: "get",
  path: "/v1/spend",
  operationId: "spend",
  summary: "Spends.",
  tag: "probe",
  scopes: [],
  spends: true,
  answers: { 200: { description: "ok", schema: z.unknown() } },
  handle: async () => ({ status: 200, body: 1 }),
});

describe("rates", () => {
  it("refuse a key that is too fast, say when to come back, and let it in then", async () => {
    const clock = new ManualClock();
    const rates = { perKey: { perMinute: 60, burst: 2 } };
    const api = await startApi({}, { clock, rates });
    const ask = () => api.send("GET", "/v1/agents", { key: "sg_a_agents:read" });
    const first = await ask();
    expect(first.headers.get("ratelimit")).toBe('"key";r=1;t=1');
    expect(first.headers.get("ratelimit-policy")).toBe('"key";q=2');
    await ask();
    const refused = await ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect((await api.send("GET", "/v1/agents", { key: "sg_b_agents:read" })).status).toBe(200);
    clock.advance(1000);
    expect((await ask()).status).toBe(200);
  });

  it("hold for all keys of a tenant together, and as its settings say", async () => {
    const tenantLimits = limitStores({}, { rate: { requests_per_minute: 1, burst: 2 } });
    const api = await startApi({ tenantLimits }, { clock: new ManualClock() });
    const statuses = [];
    for (const key of ["sg_a_agents:read", "sg_a_*", "sg_a_agents:read"])
      statuses.push((await api.send("GET", "/v1/agents", { key })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it("leave a tenant's other keys alone when one key is too fast", async () => {
    const rates = { perKey: { perMinute: 1 }, perTenant: { perMinute: 3 } };
    const api = await startApi({}, { clock: new ManualClock(), rates });
    const statuses = [];
    for (const key of ["sg_a_agents:read", "sg_a_agents:read", "sg_a_agents:read", "sg_a_*"])
      statuses.push((await api.send("GET", "/v1/agents", { key })).status);
    expect(statuses).toEqual([200, 429, 429, 200]);
  });

  it.each(["/v1/agents", "/metrics"])("hold for keys without the scope of %s", async (path) => {
    const rates = { perKey: { perMinute: 1 } };
    const api = await startApi({}, { clock: new ManualClock(), rates });
    const key = "sg_a_tools:read";
    const ask = async () => (await api.send("GET", path, { key })).status;
    expect([await ask(), await ask()]).toEqual([403, 429]);
  });
});

describe("quotas of a day", () => {
  it("of requests count those that are not stored yet", async () => {
    const tenantLimits = limitStores({ requests: 2 });
    const clock = new ManualClock("2026-01-01T23:59:00.000Z");
    const api = await startApi({ tenantLimits }, { clock });
    const answers = [];
    for (let index = 0; index < 3; index += 1) answers.push(await api.send("GET", "/v1/agents"));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.headers.get("retry-after")).toBe("60");
    expect(answers[2]?.json).toMatchObject({ type: "/problems/quota_exceeded", quota: "requests" });
    await api.server.close(0);
    expect(tenantLimits.stored).toEqual([2]);
  });

  it.each(["tokens", "cost_usd"] as const)(
    "of %s hold for routes that use models",
    async (quota) => {
      const api = await startApi({ tenantLimits: limitStores({ [quota]: 0 }), routes: [spending] });
      expect((await api.send("GET", "/v1/agents")).status).toBe(200);
      expect((await api.send("GET", "/v1/spend")).json).toMatchObject({ quota });
    },
  );

  it("are read again after seconds, and once for requests at the same time", async () => {
    const clock = new ManualClock();
    const stores = limitStores({ requests: 100 });
    let reads = 0;
    const remaining = () => {
      reads += 1;
      return stores.usage.remaining();
    };
    const limits = new TenantLimits({ ...stores, usage: { ...stores.usage, remaining } }, clock);
    await Promise.all([limits.take(tenantA, false), limits.take(tenantA, false)]);
    expect(reads).toBe(1);
    clock.advance(5000);
    await limits.take(tenantA, false);
    expect([reads, stores.stored]).toEqual([2, [2]]);
  });
});
