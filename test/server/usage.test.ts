import { afterEach, describe, expect, it } from "vitest";
import { createServer, type PlatformServer, type ServerBase } from "../../src/create-server.ts";
import { defineRoute } from "../../src/server/route.ts";
import type { TenantSettings } from "../../src/storage/platform/tenants.ts";
import { listenChecked } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";

/** Beside the routes of the API that use models. */
const spending = defineRoute({
  method: "post",
  path: "/v1/spend",
  operationId: "spend",
  summary: "Uses a model.",
  tag: "test",
  scopes: ["runs:write"],
  spends: true,
  answers: { 204: { description: "Used." } },
  problems: ["quota_exceeded"],
  handle: async () => ({ status: 204 }),
});

describe.each(drawDatabases(import.meta.url))("usage over HTTP on %s", (kind) => {
  const database = useDatabase(kind);
  let tenants = 0;
  const servers: PlatformServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });

  async function start(settings: TenantSettings = {}) {
    let base: ServerBase | undefined;
    const model = new ScriptedModel([
      { calls: [{ name: "calculator", args: { expression: "6 * 7" } }] },
      ...Array.from({ length: 10 }, () => "It is 42."),
    ]);
    const server = await createServer({
      database: database.shared,
      runtime: { models: model, memoryEmbeddings: null },
      routes: (parts) => {
        base = parts;
        return [spending];
      },
    });
    servers.push(server);
    const { send } = await listenChecked(server);
    const { apiKeys, agents, instances, runs } = server.platform;
    const name = `usage ${kind} ${(tenants += 1)}`;
    const tenant = await server.platform.tenants.create({ name, settings });
    const keyOf = async (...scopes: string[]) =>
      (await apiKeys.create({ tenantId: tenant.id, name: "k", scopes })).secret;
    const key = await keyOf("*");
    const definition = { name: "helper", tools: ["calculator"] };
    const agent = await agents.create(tenant.id, { name: "helper", definition });
    /** Executes a run on a thread to its end. */
    const run = async (threadId: string) => {
      const at = { threadId, agent: "helper", definitionId: agent.id };
      const { id: instanceId } = await instances.create(tenant.id, at);
      const input = { message: "What is 6 * 7?" };
      const turn = { definition_id: agent.id, turn_id: base!.ids(), input };
      const queued = await runs.create(tenant.id, { instanceId, request: turn });
      base!.queue.wake();
      for (;;) {
        const signalled = base!.signals.next(queued.id, { ms: 100 });
        const { state } = await runs.get(tenant.id, queued.id);
        if (state === "complete") return queued.id;
        expect(["queued", "running"]).toContain(state);
        await signalled;
      }
    };
    const get = (path: string, as = key) => send("GET", path, { key: as });
    const post = (path: string) => send("POST", path, { key });
    return { server, tenant, agent, get, post, keyOf, run };
  }

  it.skipIf(!database.available)(
    "is the sum of what runs did, with what is left of the quotas",
    async () => {
      const quota = { tokens: 1_000, cost_usd: 1 };
      const { get, run, tenant, keyOf } = await start({ quota });
      await run("t-1");
      await run("t-2");
      const today = new Date().toISOString().slice(0, 10);
      const used = await get("/v1/usage");
      const sums = { turns: 2, llm_calls: 3, tool_calls: 1, tokens_in: 30, tokens_out: 15 };
      expect(used.json).toMatchObject({
        to: today,
        days: [{ day: today, ...sums }],
        totals: sums,
        runs: { complete: 2 },
        remaining: { requests: null, tokens: 955 },
      });
      expect(used.json["from"]).toBe(
        new Date(Date.parse(today) - 29 * 86_400_000).toISOString().slice(0, 10),
      );
      const none = await get("/v1/usage?from=2020-01-01&to=2020-12-31");
      expect(none.json).toMatchObject({ days: [], totals: { turns: 0 }, runs: {} });
      const own = await get("/v1/tenant");
      const { name, id, planTier: plan_tier } = tenant;
      expect(own.json).toMatchObject({ id, name, plan_tier, settings: { quota } });
      for (const path of ["/v1/usage", "/v1/tenant"])
        expect((await get(path, await keyOf("runs:read"))).status).toBe(403);
      for (const [query, status] of [
        ["from=2020-01-01&to=2021-01-01", 422],
        ["from=2020-01-02&to=2020-01-01", 422],
        ["from=2020-02-30", 400],
        ["from=today", 400],
        ["to=0000-01-01", 422],
        ["tenant=x", 400],
      ] as const)
        expect([query, (await get(`/v1/usage?${query}`)).status]).toEqual([query, status]);
    },
  );

  it.skipIf(!database.available)(
    "that has reached a quota of tokens ends what uses models, and no reads",
    async () => {
      const { server, get, post, run, agent } = await start({ quota: { tokens: 45 } });
      const other = await start({ quota: { tokens: 46 } });
      // Two calls of 15 tokens, and one more. No request came before, so that nothing older is cached.
      const runId = await run("t-1");
      await other.run("t-1");
      await run("t-1");
      await other.run("t-1");
      const posts = server.routes.filter(({ method, spends }) => spends && method === "post");
      for (const { path } of posts) {
        const known = { agent_id: agent.agentId, run_id: runId };
        const at = Object.entries(known).reduce((one, [k, id]) => one.replace(`{${k}}`, id), path);
        const refused = await post(at);
        expect([path, refused.status, refused.json["quota"]]).toEqual([path, 429, "tokens"]);
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      expect((await get("/v1/usage")).json).toMatchObject({ remaining: { tokens: 0 } });
      expect((await get(`/v1/agents/${agent.agentId}/runs/${runId}/calls`)).status).toBe(200);
      expect((await other.post("/v1/spend")).status).toBe(204);
    },
  );

  it.skipIf(!database.available)("is of the tenant of the key alone", async () => {
    const [one, other] = [await start(), await start()];
    const runId = await one.run("t-1");
    expect((await other.get("/v1/usage")).json).toMatchObject({ runs: {}, totals: { turns: 0 } });
    expect((await other.get("/v1/tenant")).json).toMatchObject({ id: other.tenant.id });
    for (const agentId of [one.agent.agentId, other.agent.agentId]) {
      const { status } = await other.get(`/v1/agents/${agentId}/runs/${runId}/calls`);
      expect(status).toBe(404);
    }
  });

  it.skipIf(!database.available)("lists the model calls of one run of a thread", async () => {
    const { get, run, agent, keyOf, server, tenant } = await start();
    const runId = await run("t-1");
    const later = await run("t-1");
    const path = `/v1/agents/${agent.agentId}/runs/${runId}/calls`;
    const all = await get(path);
    const call = { purpose: "reasoning", model: "test:scripted", turn: 0, tokens_in: 10 };
    expect(all.json).toMatchObject({ calls: [call, call], next_cursor: null });
    expect(all.text).not.toContain("What is 6 * 7?");
    expect((await get(path.replace(runId, later))).json["calls"]).toMatchObject([{ turn: 1 }]);
    const first = await get(`${path}?limit=1&whole=true`);
    expect(first.text).toContain("What is 6 * 7?");
    const next = encodeURIComponent(String(first.json["next_cursor"]));
    const second = await get(`${path}?limit=1&cursor=${next}`);
    expect(second.json).toMatchObject({ calls: [{ step: 1 }], next_cursor: null });
    expect((await get(path, await keyOf("usage:read"))).status).toBe(403);
    expect((await get(`${path}?cursor=x`)).status).toBe(400);
    const definition = { name: "other" };
    const other = await server.platform.agents.create(tenant.id, { name: "other", definition });
    expect((await get(path.replace(agent.agentId, other.agentId))).status).toBe(404);
    for (const id of ["x", "%00", agent.agentId])
      expect((await get(path.replace(runId, id))).status).toBe(404);
  });
});
