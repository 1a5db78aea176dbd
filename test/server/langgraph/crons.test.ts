import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { findDue } from "../../../src/storage/platform/time/due.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { type RunServer, useRunServers } from "../../helpers/run-server.ts";

const minuteMs = 60_000;
const question = { input: { message: "Hi" } };

describe.each(drawDatabases(import.meta.url))("crons on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  const serve = async (replies: readonly string[] = []) => {
    const clock = new ManualClock("2026-03-02T08:00:30.000Z");
    const api = await start(replies, { clock });
    await api.agent({ name: "plain" });
    /** Moves the clock on by a minute, and waits until so many runs have ended. */
    const advance = async (ended: number) => {
      clock.advance(minuteMs);
      await expect
        .poll(async () => {
          if ((await findDue(api.base.platform.tables, { limit: 10 })).length > 0)
            clock.advance(1_000);
          const { items } = await api.base.platform.runs.list(api.tenantId);
          return items.filter(({ state }) => state === "complete").length;
        })
        .toBe(ended);
    };
    return { api, clock, client: clientOf(api), advance };
  };
  const clientOf = (api: RunServer, key = api.key) =>
    new Client({
      apiUrl: `http://127.0.0.1:${api.port}`,
      apiKey: key,
      callerOptions: { maxRetries: 0 },
    });
  const statusOf = (call: Promise<unknown>) =>
    call.then(
      () => 200,
      (thrown: unknown) => (thrown as { status?: number }).status,
    );

  it.skipIf(!database.available)("queue runs of the protocol on new threads", async () => {
    const { api, client, advance } = await serve(["One.", "Two."]);
    const [assistant] = await client.assistants.search();
    const made = await client.crons.create("plain", {
      schedule: "* * * * *",
      input: question,
      metadata: { team: "x" },
      onRunCompleted: "keep",
    });
    expect(made).toMatchObject({
      cron_id: expect.any(String),
      assistant_id: assistant!.assistant_id,
      thread_id: null,
      schedule: "* * * * *",
      timezone: "UTC",
      next_run_date: "2026-03-02T08:01:00.000Z",
      end_time: null,
      enabled: true,
      user_id: null,
      metadata: { team: "x" },
      payload: { input: question, multitask_strategy: "enqueue" },
    });
    await advance(1);
    await advance(2);
    const threads = await client.threads.search();
    const values = threads.map((thread) => JSON.stringify(thread.values));
    expect(new Set(values.map((text) => /One|Two/.exec(text)?.[0]))).toEqual(
      new Set(["One", "Two"]),
    );
    const [thread] = threads;
    const [run] = await client.runs.list(thread!.thread_id);
    expect(run).toMatchObject({
      status: "success",
      assistant_id: assistant!.assistant_id,
      metadata: { team: "x", schedule_id: (made as unknown as { cron_id: string }).cron_id },
    });
    const listed = await api.send("GET", "/v1/schedules");
    expect(listed.json["schedules"]).toMatchObject([{ kind: "graph", input: question }]);
  });

  it.skipIf(!database.available)("continue their thread", async () => {
    const { client, advance } = await serve(["One.", "Two."]);
    const { thread_id: threadId } = await client.threads.create();
    const made = await client.crons.createForThread(threadId, "plain", {
      schedule: "* * * * *",
      input: question,
    });
    expect(made).toMatchObject({ thread_id: threadId, on_run_completed: "keep" });
    await advance(1);
    await advance(2);
    const { values } = await client.threads.getState<{ messages: unknown[] }>(threadId);
    expect(values.messages).toHaveLength(4);
    expect(
      await statusOf(client.crons.createForThread("none", "plain", { schedule: "@daily" })),
    ).toBe(404);
  });

  it.skipIf(!database.available)("delete their threads, unless they are kept", async () => {
    const { api, client, advance } = await serve(["One."]);
    await client.crons.create("plain", { schedule: "* * * * *", input: question });
    await advance(1);
    const { items } = await api.base.platform.runs.list(api.tenantId);
    const before = new Date(Date.now() + 86_400_000);
    const ended = await api.base.platform.instances.endedEphemeral({ before, limit: 1_000 });
    expect(ended.map(({ threadId }) => threadId)).toContain(items[0]!.threadId);
  });

  it.skipIf(!database.available)("are searched, counted, changed and deleted", async () => {
    const { client } = await serve();
    const { thread_id: threadId } = await client.threads.create();
    const ids: string[] = [];
    for (const [at, more] of [{ metadata: { n: 1 } }, { enabled: false }].entries()) {
      const schedule = `${at} 9 * * *`;
      const made = await client.crons.create("plain", { schedule, input: question, ...more });
      ids.push((made as unknown as { cron_id: string }).cron_id);
    }
    const onThread = await client.crons.createForThread(threadId, "plain", {
      schedule: "0 8 * * *",
      multitaskStrategy: "reject",
    });
    ids.push((onThread as unknown as { cron_id: string }).cron_id);
    const idsOf = async (query: Parameters<typeof client.crons.search>[0]) =>
      (await client.crons.search(query)).map(({ cron_id: id }) => id);
    expect(await idsOf({})).toEqual(ids.toReversed());
    expect(await idsOf({ limit: 1, offset: 1 })).toEqual([ids[1]]);
    expect(await idsOf({ enabled: false })).toEqual([ids[1]]);
    expect(await idsOf({ threadId })).toEqual([ids[2]]);
    expect(await idsOf({ metadata: { n: 1 } })).toEqual([ids[0]]);
    expect(await idsOf({ sortBy: "next_run_date", sortOrder: "asc" })).toEqual([
      ids[0],
      ids[1],
      ids[2],
    ]);
    expect(await idsOf({ assistantId: "nobody" })).toEqual([]);
    expect(await client.crons.search({ limit: 1, select: ["cron_id", "schedule"] })).toEqual([
      { cron_id: ids[2], schedule: "0 8 * * *" },
    ]);
    expect([
      await client.crons.count(),
      await client.crons.count({ metadata: { n: 1 } }),
      await client.crons.count({ assistantId: "nobody" }),
    ]).toEqual([3, 1, 0]);
    const changed = await client.crons.update(ids[0]!, {
      schedule: "30 10 * * *",
      timezone: "Europe/Berlin",
      endTime: "2026-04-01T00:00:00Z",
      input: { input: { message: "Bye" } },
      enabled: false,
    });
    expect(changed).toMatchObject({
      schedule: "30 10 * * *",
      timezone: "Europe/Berlin",
      end_time: "2026-04-01T00:00:00.000Z",
      enabled: false,
      next_run_date: null,
      metadata: { n: 1 },
      payload: { input: { input: { message: "Bye" } } },
    });
    const enabled = await client.crons.update(ids[0]!, { enabled: true, endTime: null });
    expect(enabled).toMatchObject({ next_run_date: "2026-03-02T09:30:00.000Z", end_time: null });
    await client.crons.delete(ids[0]!);
    expect(await statusOf(client.crons.delete(ids[0]!))).toBe(404);
    expect(await statusOf(client.crons.update(ids[0]!, { enabled: true }))).toBe(404);
    expect(await client.crons.count()).toBe(2);
  });

  it.skipIf(!database.available)("are refused with a pointer, and to other keys", async () => {
    const { api, client } = await serve();
    for (const [body, status, pointer] of [
      [{ schedule: "* * * * * *" }, 422, "/schedule"],
      [{ schedule: "@daily", timezone: "Mars/Olympus" }, 422, "/timezone"],
      [{ schedule: "@daily", end_time: "2026-03-02T09:00:00Z" }, 422, "/end_time"],
      [{ schedule: "@daily", webhook: "http://a/" }, 422, "/webhook"],
      [{ schedule: "@daily", multitask_strategy: "rollback" }, 400, "/multitask_strategy"],
      [{}, 400, "/schedule"],
    ] as const) {
      const refused = await api.post("/runs/crons", { assistant_id: "plain", ...body });
      expect([refused.status, refused.json]).toMatchObject([status, { errors: [{ pointer }] }]);
    }
    expect(await statusOf(client.crons.create("nobody", { schedule: "@daily" }))).toBe(404);
    const made = await client.crons.create("plain", { schedule: "@daily", input: question });
    const { cron_id: id } = made as unknown as { cron_id: string };
    const stranger = clientOf(api, (await api.join()).key);
    expect(await stranger.crons.search()).toEqual([]);
    expect(await statusOf(stranger.crons.delete(id))).toBe(404);
    const reader = clientOf(api, (await api.join(["runs:read"], api.tenantId)).key);
    expect(await reader.crons.count()).toBe(1);
    expect(await statusOf(reader.crons.delete(id))).toBe(403);
    const [scheduled] = (await api.send("GET", "/v1/schedules")).json["schedules"] as object[];
    expect(scheduled).toMatchObject({ id, kind: "graph" });
    const patched = await api.send("PATCH", `/v1/schedules/${id}`, { body: { input: {} } });
    expect(patched.status).toBe(409);
    const paused = await api.send("POST", `/v1/schedules/${id}/pause`);
    expect(paused.json["enabled"]).toBe(false);
  });

  it.skipIf(!database.available)("are not schedules of /v1", async () => {
    const { api, client } = await serve();
    const [assistant] = await client.assistants.search();
    const made = await api.post("/v1/schedules", {
      agent_id: assistant!.assistant_id,
      cron: "@daily",
      input: { message: "Hi" },
    });
    expect(await client.crons.count()).toBe(0);
    expect(await statusOf(client.crons.delete(String(made.json["id"])))).toBe(404);
  });
});
