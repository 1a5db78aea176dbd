import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { withAllTenants } from "../../src/storage/tenant.ts";
import { useDatabase } from "../helpers/databases.ts";
import { calculates, gate, type RunServer, useRunServers } from "../helpers/run-server.ts";

const body = { input: { message: "Hi" } };

describe.each(["pglite", "postgres"] as const)("workers and dead runs over HTTP on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  /** Ends a run as one that lost its workers. */
  async function kill({ server, tenantId }: RunServer, runId: string): Promise<void> {
    const { tables } = server.platform;
    await withAllTenants(tables.tenants.pool, (client) =>
      client.query(
        `update ${tables.schema}.run set state = 'dead', worker = null, lease_until = null, attempts = 6, ended_at = now()
        where tenant_id = $1::uuid and id = $2::uuid`,
        [tenantId, runId],
      ),
    );
  }

  describe.skipIf(!database.available)("shown", () => {
    it("lists workers to operators, and to no key of a tenant", async () => {
      const api = await start([], { labels: ["gpu"], kinds: ["turn", "resume"], concurrency: 3 });
      const operator = await api.join(["operator"], api.tenantId);
      expect((await api.send("GET", "/v1/workers")).status).toBe(403);
      const seen = async () => {
        const { status, json } = await api.send("GET", "/v1/workers", { key: operator.key });
        return { status, workers: json["workers"] as { readonly name: string }[] };
      };
      await expect.poll(async () => (await seen()).workers.length).toBeGreaterThan(0);
      const { status, workers } = await seen();
      expect(status).toBe(200);
      const own = workers.find((one) => JSON.stringify(one).includes('"gpu"'));
      expect(own).toMatchObject({
        pid: process.pid,
        kinds: ["turn", "resume"],
        labels: ["gpu"],
        concurrency: 3,
      });
      expect(JSON.stringify(workers)).not.toContain(api.tenantId);
      await api.server.close(0);
      const rest = await api.server.platform.workers.list();
      expect(rest.map(({ name }) => name)).not.toContain(own?.name);
    });

    it("counts the runs of a tenant for it, and those of all tenants for operators", async () => {
      const hold = gate();
      const api = await start([async () => (await hold.wait(), new AIMessage("Late."))], {
        concurrency: 1,
      });
      const other = await api.join();
      const runs = await api.agent({ name: "plain" });
      await api.post(runs, body);
      await hold.arrived;
      await api.post(runs, body);
      const later = await api.post(runs, { ...body, config: { after_seconds: 3_600 } });
      const dead = await api.post(runs, { ...body, config: { after_seconds: 3_600 } });
      await kill(api, String(dead.json["run_id"]));
      expect(later.status).toBe(202);
      const own = await api.send("GET", "/v1/queue");
      expect(own.json).toMatchObject({ queued: 1, delayed: 1, running: 1, dead: 1, fleet: null });
      expect(own.json["oldest_seconds"]).toBeGreaterThanOrEqual(0);
      const none = await api.send("GET", "/v1/queue", { key: other.key });
      expect(none.json).toMatchObject({ queued: 0, running: 0, dead: 0, oldest_seconds: null });
      const operator = await api.join(["operator", "runs:read"]);
      const { json } = await api.send("GET", "/v1/queue", { key: operator.key });
      expect(json).toMatchObject({
        queued: 0,
        fleet: { queued: 1, delayed: 1, running: 1, workers: [{ running: 1 }] },
      });
      expect(JSON.stringify(json)).not.toContain(api.tenantId);
      const metrics = await api.server.metrics.render();
      expect(metrics).toContain('stratagraph_queue_depth{state="queued"} 1\n');
      expect(metrics).toMatch(/stratagraph_queue_oldest_seconds [\d.]+\n/);
      expect(metrics).toContain("# TYPE stratagraph_queue_takeovers_total counter\n");
      expect(metrics).toMatch(/stratagraph_queue_ended_leases_total \d+\n/);
      expect(metrics).toMatch(/stratagraph_workers [1-9]\d*\n/);
      expect(metrics).not.toContain(api.tenantId);
      hold.open();
    });

    it("executes runs by their priority, and a delayed one not before its time", async () => {
      const hold = gate();
      const api = await start(
        [async () => (await hold.wait(), new AIMessage("First.")), "a", "b", "c"],
        { concurrency: 1 },
      );
      const runs = await api.agent({ name: "plain" });
      const begin = async (config: object) =>
        String((await api.post(runs, { ...body, config })).json["run_id"]);
      await begin({});
      await hold.arrived;
      const late = await begin({ priority: 1_000, after_seconds: 3_600 });
      const low = await begin({ priority: -5 });
      const usual = await begin({});
      const high = await begin({ priority: 5 });
      hold.open();
      for (const id of [low, usual, high]) await api.until(`${runs}/${id}`, "complete");
      const at = async (id: string) =>
        String((await api.send("GET", `${runs}/${id}`)).json["started_at"]);
      const times = await Promise.all([high, usual, low].map(at));
      expect(times).toEqual(times.toSorted());
      expect((await api.send("GET", `${runs}/${late}`)).json).toMatchObject({ status: "queued" });
      for (const config of [
        { priority: 1_001 },
        { priority: 0.5 },
        { after_seconds: -1 },
        { after_seconds: 1, run_at: "2030-01-01T00:00:00Z" },
      ])
        expect((await api.post(runs, { ...body, config })).status).toBe(400);
    });

    it("retries a dead run, which continues, and records who did", async () => {
      const api = await start(["One.", "Two."]);
      const runs = await api.agent({ name: "plain" });
      const config = { after_seconds: 3_600 };
      const id = String((await api.post(runs, { ...body, config })).json["run_id"]);
      const path = `${runs}/${id}`;
      await kill(api, id);
      const { json: list } = await api.send("GET", "/v1/runs?status=dead");
      expect(list).toMatchObject({ runs: [{ run_id: id, status: "dead" }], next_cursor: null });
      const other = await api.join();
      const hidden = await api.send("GET", "/v1/runs?status=dead", { key: other.key });
      expect(hidden.json).toMatchObject({ runs: [] });
      expect((await api.post(`${path}/retry`, {}, { key: other.key })).status).toBe(404);
      const reader = await api.join(["runs:read"], api.tenantId);
      expect((await api.post(`${path}/retry`, {}, { key: reader.key })).status).toBe(403);

      const [first, second] = await Promise.all([
        api.send("POST", `${path}/retry`),
        api.send("POST", `${path}/retry`),
      ]);
      expect([first.status, second.status]).toEqual([202, 202]);
      const run = await api.until(path, "complete");
      expect(run).toMatchObject({ attempts: 2, result: { output: { message: "One." } } });
      const { items } = await api.server.platform.audit.list(api.tenantId);
      const retries = items.filter(({ action }) => action === "run.retry");
      expect(retries).toMatchObject([{ actor: `key:${api.keyId}`, subject: id }]);
      const refused = await api.send("POST", `${path}/retry`);
      expect(refused.status).toBe(409);
      expect(JSON.stringify(refused.json)).toContain("Expected a dead run, got complete.");
    });

    it("continues a run that died while it executed, without a finished call twice", async () => {
      const hold = gate();
      const api = await start([
        calculates,
        async () => (await hold.wait(), new AIMessage("Never.")),
        "42.",
      ]);
      const runs = await api.agent({ name: "maths", tools: ["calculator"] });
      const id = String((await api.post(runs, body)).json["run_id"]);
      await hold.arrived;
      const log = () => api.server.platform.events.read(api.tenantId, id);
      await expect.poll(async () => JSON.stringify(await log())).toContain('"tool_result"');
      await kill(api, id);
      // The execution that has lost its claim ends first.
      hold.open();
      await expect.poll(() => api.base.queue.running).toBe(0);
      await api.send("POST", `${runs}/${id}/retry`);
      const run = await api.until(`${runs}/${id}`, "complete");
      expect(run).toMatchObject({ result: { output: { message: "42." } } });
      const events = await (await api.stream(`${runs}/${id}/events`)).rest();
      expect(events.map((event) => event.id)).toEqual(events.map((_, at) => at + 1));
      expect(events.filter(({ event }) => event === "tool_result")).toHaveLength(1);
    });

    it("continues a dead run of LangGraph's protocol", async () => {
      const hold = gate();
      const late = async () => (await hold.wait(), new AIMessage("Never."));
      const api = await start([calculates, late, "42."]);
      const runs = await api.agent({ name: "maths", tools: ["calculator"] });
      const { json: thread } = await api.post("/threads", {});
      const path = `/threads/${String(thread["thread_id"])}/runs`;
      const input = { messages: [{ role: "user", content: "Hi" }] };
      const { json: run } = await api.post(path, { assistant_id: "maths", input });
      const id = String(run["run_id"]);
      await hold.arrived;
      const state = async () => (await api.send("GET", path.replace("/runs", "/state"))).json;
      await expect.poll(async () => JSON.stringify(await state())).toContain('"type":"tool"');
      await kill(api, id);
      hold.open();
      await expect.poll(() => api.base.queue.running).toBe(0);
      expect((await api.send("POST", `${runs}/${id}/retry`)).status).toBe(202);
      const { json: values } = await api.send("GET", `${path}/${id}/join`);
      expect(values).toMatchObject({ status: "COMPLETED", output: { message: "42." } });
      const messages = values["messages"] as { readonly type: string }[];
      expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    });
  });
});
