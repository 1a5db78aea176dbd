import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { queryAllTenants } from "../../src/storage/tenant.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { type RunServer, useRunServers } from "../helpers/run-server.ts";

/** A person approves within a minute, or it counts as approved. */
const asking = {
  name: "asking",
  workflow_graph: {
    entry_point: "ask",
    nodes: [
      {
        name: "ask",
        type: "human",
        config: {
          kind: "approval",
          prompt: "May I?",
          proposed: "the mail",
          timeout_seconds: 60,
          on_timeout: "approve",
        },
      },
    ],
    edges: [{ from: "ask", to: "END" }],
    output: { message: "${nodes.ask.timed_out ? 'in time: no' : 'in time: yes'}" },
  },
};

describe.each(drawDatabases(import.meta.url))("deadlines on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  const serve = async (agent: object = asking) => {
    const clock = new ManualClock();
    const api = await start([], { clock });
    const runs = await api.agent(agent);
    /** Moves the clock on until a run has a state. */
    const advance = async (runId: string, state: string) => {
      await expect
        .poll(async () => {
          clock.advance(1_000);
          return (await api.base.platform.runs.get(api.tenantId, runId)).state;
        })
        .toBe(state);
    };
    const waiting = async () => {
      const { json } = await api.post(runs, { input: { message: "Hi" } });
      const path = `${runs}/${String(json["run_id"])}`;
      await api.until(path, "awaiting_human");
      return path;
    };
    return { api, clock, runs, waiting, advance };
  };
  const timers = async ({ base, tenantId }: RunServer) => {
    const { tables } = base.platform;
    const { rows } = await queryAllTenants<{ run_id: string }>(tables.tenants.pool, {
      text: `select run_id from ${tables.schema}.timer where tenant_id = $1::uuid`,
      values: [tenantId],
    });
    return rows.map(({ run_id: id }) => id);
  };

  it.skipIf(!database.available)("resume a run that waits for a person", async () => {
    const { api, clock, waiting, advance } = await serve();
    const path = await waiting();
    const id = path.split("/").at(-1)!;
    expect(await timers(api)).toEqual([id]);
    clock.advance(58_000);
    expect((await api.send("GET", path)).json["status"]).toBe("awaiting_human");
    await advance(id, "complete");
    const { json } = await api.send("GET", path);
    expect(json["result"]).toMatchObject({ output: { message: "in time: no" } });
    expect(await timers(api)).toEqual([]);
  });

  it.skipIf(!database.available)("resume a run whose server has died", async () => {
    const { api, clock, waiting } = await serve();
    const path = await waiting();
    await api.server.close(0);
    const other = await start([], { clock });
    // Steps are below the leases of runs.
    clock.advance(59_000);
    const id = path.split("/").at(-1)!;
    await expect
      .poll(async () => {
        clock.advance(1_000);
        return (await other.base.platform.runs.get(api.tenantId, id)).state;
      })
      .toBe("complete");
  });

  it.skipIf(!database.available)("are over when an answer comes first", async () => {
    const { api, clock, waiting } = await serve();
    const path = await waiting();
    await api.post(`${path}/resume`, { answer: "approve", config: { wait: true } });
    expect(await timers(api)).toEqual([]);
    clock.advance(120_000);
    const { json } = await api.send("GET", path);
    expect(json["result"]).toMatchObject({ output: { message: "in time: yes" } });
  });

  it.skipIf(!database.available)("end a wait node, which asks no person", async () => {
    const { api, runs, advance } = await serve({
      name: "pausing",
      workflow_graph: {
        entry_point: "pause",
        nodes: [{ name: "pause", type: "wait", config: { for: "PT1M" } }],
        edges: [{ from: "pause", to: "END" }],
        output: { message: "awake" },
      },
    });
    const { json: made } = await api.post(runs, { input: { message: "Hi" } });
    const id = String(made["run_id"]);
    await api.until(`${runs}/${id}`, "awaiting_event");
    const waits = await api.send("GET", "/v1/waits");
    expect(waits.json["waits"]).toMatchObject([
      { run_id: id, node: "pause", event: null, expires_at: "2026-01-01T00:01:00.000Z" },
    ]);
    const stranger = await api.join();
    const theirs = await api.send("GET", "/v1/waits", { key: stranger.key });
    expect(theirs.json["waits"]).toEqual([]);
    expect((await api.send("GET", "/v1/requests")).json["requests"]).toEqual([]);
    const answered = await api.post(`${runs}/${id}/resume`, { answer: "now" });
    expect(answered.status).toBe(409);
    await advance(id, "complete");
    const { json } = await api.send("GET", `${runs}/${id}`);
    expect(json["result"]).toMatchObject({ output: { message: "awake", status: "complete" } });
  });

  it.skipIf(!database.available)(
    "continue a run of LangGraph's protocol as a new run",
    async () => {
      const { api, clock } = await serve();
      const apiUrl = `http://127.0.0.1:${api.port}`;
      const client = new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
      const { thread_id: threadId } = await client.threads.create();
      const input = { input: { message: "Hi" } };
      await client.runs.wait(threadId, "asking", { input });
      expect(await timers(api)).toHaveLength(1);
      clock.advance(59_000);
      await expect
        .poll(async () => {
          clock.advance(1_000);
          return (await client.threads.get(threadId)).status;
        })
        .toBe("idle");
      const { values } = await client.threads.getState<{ output: unknown }>(threadId);
      expect(values.output).toMatchObject({ message: "in time: no" });
      const runs = await client.runs.list(threadId);
      expect(runs.map(({ status }) => status)).toEqual(["success", "success"]);
      expect(await timers(api)).toEqual([]);
    },
  );
});
