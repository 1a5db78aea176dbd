import { describe, expect, it } from "vitest";
import { findDue } from "../../src/storage/platform/time/due.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { type RunServer, type RunServerOptions, useRunServers } from "../helpers/run-server.ts";

const minuteMs = 60_000;
const byText = (one: unknown, other: unknown) => (String(one) < String(other) ? -1 : 1);
const plain = { name: "plain" };

describe.each(drawDatabases(import.meta.url))("schedules on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  const serve = async (
    replies: readonly string[] = [],
    { definition = plain, ...options }: RunServerOptions & { definition?: object } = {},
  ) => {
    const clock = new ManualClock("2026-03-02T08:00:30.000Z");
    const api = await start(replies, { clock, ...options });
    const runs = await api.agent(definition);
    const agent = runs.split("/")[3]!;
    const create = (more: object = {}) =>
      api.post("/v1/schedules", {
        agent_id: agent,
        cron: "* * * * *",
        input: { message: "Hi" },
        ...more,
      });
    /** The runs of the tenant, newest first. */
    const listed = async () => (await api.base.platform.runs.list(api.tenantId)).items;
    /** Moves the clock on, and lets the server look until nothing is due. */
    const lookAgain = async (ms: number) => {
      clock.advance(ms);
      await expect
        .poll(async () => {
          const due = await findDue(api.base.platform.tables, { limit: 10 });
          if (due.length > 0) clock.advance(1_000);
          return due;
        })
        .toEqual([]);
    };
    /** Moves the clock on, and waits until so many runs have ended. */
    const advance = async (ms: number, ended: number) => {
      await lookAgain(ms);
      await expect
        .poll(async () => (await listed()).filter(({ state }) => state === "complete").length)
        .toBe(ended);
    };
    return { api, clock, agent, create, listed, lookAgain, advance };
  };
  const idOf = ({ json }: { json: Record<string, unknown> }) => String(json["id"]);
  const read = async (api: RunServer, id: string) =>
    (await api.send("GET", `/v1/schedules/${id}`)).json;

  it.skipIf(!database.available)("run their agent at every firing, and once for each", async () => {
    const { api, agent, create, listed, advance } = await serve(["One.", "Two."]);
    const made = await create({ name: "minutely", metadata: { team: "x" } });
    expect(made).toMatchObject({
      status: 201,
      json: {
        name: "minutely",
        agent_id: agent,
        kind: "turn",
        cron: "* * * * *",
        time_zone: "UTC",
        input: { message: "Hi" },
        thread: { policy: "new", thread_id: null },
        missed: "once",
        enabled: true,
        next_at: "2026-03-02T08:01:00.000Z",
        last_at: null,
        last_run_id: null,
      },
    });
    await advance(minuteMs, 1);
    await advance(minuteMs, 2);
    const [second, first] = await listed();
    expect(first).toMatchObject({
      metadata: { team: "x", schedule_id: idOf(made), scheduled_at: "2026-03-02T08:01:00.000Z" },
    });
    expect(second!.threadId).not.toBe(first!.threadId);
    expect(await read(api, idOf(made))).toMatchObject({
      next_at: "2026-03-02T08:03:00.000Z",
      last_at: "2026-03-02T08:02:00.000Z",
      last_run_id: second!.id,
      last_problem: null,
    });
  });

  it.skipIf(!database.available)("continue their thread, if they keep one", async () => {
    const { create, listed, advance, api } = await serve(["One.", "Two."]);
    const made = await create({ thread: { policy: "keep" } });
    const { thread_id: kept } = made.json["thread"] as { thread_id: string };
    expect(kept).toMatch(/^[\da-f-]{36}$/);
    await advance(minuteMs, 1);
    await advance(minuteMs, 2);
    expect((await listed()).map(({ threadId }) => threadId)).toEqual([kept, kept]);
    expect(JSON.stringify(api.model.requests.at(-1))).toContain("One.");
  });

  it.skipIf(!database.available)("pause, resume and make up for what they missed", async () => {
    const { api, clock, create, advance } = await serve(["1", "2", "3", "4", "5"]);
    const [once, all, none] = await Promise.all(
      ["once", "all", "none"].map(async (missed) =>
        idOf(await create({ cron: "0 * * * *", missed, metadata: { missed } })),
      ),
    );
    const each = [once!, all!, none!];
    const set = (action: "pause" | "resume") =>
      Promise.all(each.map((id) => api.send("POST", `/v1/schedules/${id}/${action}`)));
    const paused = await set("pause");
    expect(paused.map(({ json }) => json["enabled"])).toEqual([false, false, false]);
    clock.advance(3 * 3_600_000 + minuteMs);
    const missed = await set("resume");
    expect(missed.map(({ json }) => json["next_at"])).toEqual(
      each.map(() => "2026-03-02T09:00:00.000Z"),
    );
    // One for `once`, three for `all`, none for `none`.
    await advance(1_000, 4);
    const { json } = await api.send("GET", `/v1/schedules?limit=3`);
    const shown = json["schedules"] as readonly Record<string, unknown>[];
    const facts = shown.map(({ missed: policy, last_at, next_at }) => [policy, last_at, next_at]);
    expect(facts.toSorted(byText)).toEqual([
      ["all", "2026-03-02T11:00:00.000Z", "2026-03-02T12:00:00.000Z"],
      ["none", null, "2026-03-02T12:00:00.000Z"],
      ["once", "2026-03-02T11:00:00.000Z", "2026-03-02T12:00:00.000Z"],
    ]);
  });

  it.skipIf(!database.available)("are listed, changed and deleted", async () => {
    const { api, create } = await serve();
    const ids = [];
    for (const name of ["a", "b", "c"]) ids.push(idOf(await create({ name })));
    const first = await api.send("GET", "/v1/schedules?limit=2");
    const names = ({ json }: typeof first) =>
      (json["schedules"] as { name: string }[]).map(({ name }) => name);
    expect(names(first)).toEqual(["c", "b"]);
    const next = `/v1/schedules?limit=2&cursor=${String(first.json["next_cursor"])}`;
    expect(names(await api.send("GET", next))).toEqual(["a"]);
    const path = `/v1/schedules/${ids[0]!}`;
    const change = {
      cron: "30 2 * * *",
      time_zone: "Europe/Berlin",
      input: { message: "Later" },
      config: { user: "ann" },
      end_at: "2026-03-31T00:00:00Z",
      enabled: false,
    };
    expect(await api.send("PATCH", path, { body: change })).toMatchObject({
      status: 200,
      json: {
        cron: "30 2 * * *",
        time_zone: "Europe/Berlin",
        input: { message: "Later" },
        config: { user: "ann", model_override: null, priority: 0 },
        next_at: "2026-03-03T01:30:00.000Z",
        end_at: "2026-03-31T00:00:00.000Z",
        enabled: false,
        name: "a",
      },
    });
    const cleared = await api.send("PATCH", path, { body: { config: {}, end_at: null } });
    expect(cleared.json).toMatchObject({ config: { user: null }, end_at: null });
    expect(cleared.json["input"]).toEqual({ message: "Later" });
    await api.send("PATCH", path, { body: { end_at: "2026-03-31T00:00:00Z" } });
    const firings = await api.send("GET", `${path}/next?count=100`);
    const times = firings.json["firings"] as string[];
    expect([times.length, times[0], times[26], times.at(-1)]).toEqual([
      28,
      "2026-03-03T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    expect((await api.send("DELETE", path)).status).toBe(204);
    expect((await api.send("GET", path)).status).toBe(404);
    const { items } = await api.base.platform.audit.list(api.tenantId, { limit: 50 });
    const actions = items.map(({ action }) => action).filter((one) => one.startsWith("schedule."));
    expect(actions.toSorted()).toEqual([
      ...Array.from({ length: 3 }, () => "schedule.create"),
      "schedule.delete",
      ...Array.from({ length: 3 }, () => "schedule.update"),
    ]);
  });

  it.skipIf(!database.available)("are checked without being stored", async () => {
    const { api } = await serve();
    const check = (body: object) => api.post("/v1/schedules/check", body);
    const berlin = { cron: "0 9 * * MON-FRI", time_zone: "Europe/Berlin" };
    const { json } = await check({ ...berlin, count: 3, end_at: "2026-03-05T00:00:00Z" });
    expect(json).toEqual({ firings: ["2026-03-03T08:00:00.000Z", "2026-03-04T08:00:00.000Z"] });
    const wrong = await check({ ...berlin, cron: "0 9 * *" });
    expect(wrong).toMatchObject({ status: 422, json: { errors: [{ pointer: "/cron" }] } });
    expect((await api.send("GET", "/v1/schedules")).json["schedules"]).toEqual([]);
  });

  it.skipIf(!database.available)("run at once when they are asked to", async () => {
    const { api, create } = await serve(["Now."]);
    const made = await create({ cron: "0 0 1 1 *", enabled: false });
    const ran = await api.send("POST", `/v1/schedules/${idOf(made)}/run`);
    expect(ran).toMatchObject({ status: 202, json: { status: "queued" } });
    const location = ran.headers.get("location")!;
    const run = await api.until(location, "complete");
    expect(run["metadata"]).toMatchObject({ schedule_id: idOf(made) });
    expect(await read(api, idOf(made))).toMatchObject({
      next_at: "2027-01-01T00:00:00.000Z",
      last_at: null,
    });
  });

  it.skipIf(!database.available)("are refused with a pointer", async () => {
    const input_schema = {
      type: "object",
      properties: { copies: { type: "integer" } },
      required: ["copies"],
    };
    const { api, create } = await serve([], { definition: { name: "strict", input_schema } });
    const fits = { input: { copies: 1 } };
    const refusals = [
      [{}, 422, "/input"],
      [{ ...fits, cron: "* * * * * *" }, 422, "/cron"],
      [{ ...fits, cron: "0 0 30 2 *" }, 422, "/cron"],
      [{ ...fits, cron: "x".repeat(201) }, 400, "/cron"],
      [{ ...fits, time_zone: "Mars/Olympus" }, 422, "/time_zone"],
      [{ ...fits, end_at: "2026-03-02T08:00:45Z" }, 422, "/end_at"],
      [{ ...fits, missed: "some" }, 400, "/missed"],
      [{ ...fits, missed: "all", max_missed: 101 }, 400, "/max_missed"],
      [{ ...fits, thread: { policy: "new", thread_id: "t" } }, 400, "/thread"],
      [{ input: { copies: 1, attachments: [] } }, 400, "/input"],
      [{ ...fits, run_as: "admin" }, 400, "/run_as"],
    ] as const;
    for (const [body, status, pointer] of refusals) {
      const refused = await create(body);
      expect([refused.status, refused.json]).toMatchObject([status, { errors: [{ pointer }] }]);
    }
    expect((await create({ agent_id: "nobody", ...fits })).status).toBe(404);
    const large = await create({ input: { copies: 1, text: "x".repeat(262_144) } });
    expect(large.status).toBe(413);
    expect((await api.send("GET", "/v1/schedules")).json["schedules"]).toEqual([]);
    const made = await create(fits);
    const path = `/v1/schedules/${idOf(made)}`;
    const patched = await api.send("PATCH", path, { body: { input: { copies: "x" } } });
    expect(patched).toMatchObject({ status: 422, json: { errors: [{ pointer: "/input" }] } });
    expect((await read(api, idOf(made)))["input"]).toEqual({ copies: 1 });
  });

  it.skipIf(!database.available)("keep to the thread of their agent", async () => {
    const { api, create } = await serve();
    const [, , , other] = (await api.agent({ name: "other" })).split("/");
    await api.post(`/v1/agents/${other!}/runs`, {
      thread_id: "theirs",
      input: { message: "Hi" },
      config: { run_at: "2100-01-01T00:00:00Z" },
    });
    const refused = await create({ thread: { policy: "keep", thread_id: "theirs" } });
    expect([refused.status, refused.json["detail"]]).toEqual([
      409,
      expect.stringContaining('belongs to the agent "other"'),
    ]);
  });

  it.skipIf(!database.available)("may be more frequent where the server allows it", async () => {
    const { create } = await serve([], { allow: { scheduleSeconds: 10 } });
    expect((await create({ cron: "*/10 * * * * *" })).status).toBe(201);
    expect((await create({ cron: "*/5 * * * * *" })).status).toBe(422);
  });

  it.skipIf(!database.available)(
    "need the scopes of runs, and belong to their tenant",
    async () => {
      const { api, create } = await serve();
      const path = `/v1/schedules/${idOf(await create())}`;
      const reader = await api.join(["runs:read"], api.tenantId);
      const stranger = await api.join();
      for (const [method, at, body] of [
        ["PATCH", path, { enabled: false }],
        ["DELETE", path, undefined],
        ["POST", `${path}/pause`, undefined],
        ["POST", `${path}/resume`, undefined],
        ["POST", `${path}/run`, undefined],
      ] as const) {
        const sent = body && { body };
        expect((await api.send(method, at, { ...sent, key: reader.key })).status).toBe(403);
        expect((await api.send(method, at, { ...sent, key: stranger.key })).status).toBe(404);
      }
      expect((await api.send("GET", path, { key: reader.key })).status).toBe(200);
      expect((await api.send("GET", path, { key: stranger.key })).status).toBe(404);
      expect((await api.send("GET", `${path}/next`, { key: stranger.key })).status).toBe(404);
      const listed = await api.send("GET", "/v1/schedules", { key: stranger.key });
      expect(listed.json["schedules"]).toEqual([]);
    },
  );

  it.skipIf(!database.available)("make no run when a quota of the day is used up", async () => {
    const { api, create, listed, lookAgain } = await serve();
    const id = idOf(await create());
    await api.base.platform.tenants.updateSettings(api.tenantId, { quota: { tokens: 10 } });
    await api.base.platform.usage.add(api.tenantId, { tokens_in: 10 });
    await lookAgain(minuteMs);
    expect((await read(api, id))["last_problem"]).toBe(
      "The quota of tokens of this day (UTC) is used up.",
    );
    expect(await listed()).toEqual([]);
  });
});
