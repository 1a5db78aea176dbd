import { describe, expect, test } from "vitest";
import { ConflictError, NotFoundError } from "../../../src/storage/platform/errors.ts";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { findDue } from "../../../src/storage/platform/time/due.ts";
import type { NewSchedule, Schedule } from "../../../src/storage/platform/time/schedule-rows.ts";
import { queryTenant, withAllTenants } from "../../../src/storage/tenant.ts";
import type { PlatformSubject } from "./subject.ts";

/** Schedules, and the runs that their firings make. */
export function schedulesContract(subject: PlatformSubject): void {
  const { kind } = subject.database;
  describe.skipIf(!subject.database.available)(`schedules on ${kind}`, () => {
    const later = (ms: number) => new Date(subject.clock.now().getTime() + ms).toISOString();
    const start = async () => {
      const { platform } = subject;
      const { id: tenantId } = await subject.newTenant();
      const agent = await platform.agents.create(tenantId, { name: "a", definition: {} });
      const create = (more: Partial<NewSchedule> = {}) =>
        platform.schedules.create(tenantId, {
          agentId: agent.agentId,
          name: null,
          cron: "* * * * *",
          timeZone: "UTC",
          kind: "turn",
          request: { input: { message: "Hi" } },
          priority: 3,
          metadata: { team: "x" },
          threadId: null,
          isEphemeral: false,
          isExclusive: false,
          missed: "once",
          maxMissed: 10,
          enabled: true,
          nextAt: later(-1),
          endAt: null,
          ...more,
        });
      const runsOf = async (schedule: Schedule) => {
        const { items } = await platform.runs.list(tenantId, { limit: 200 });
        return items.filter(({ metadata }) => metadata["schedule_id"] === schedule.id);
      };
      return { tenantId, agent, create, runsOf };
    };
    const fireAt =
      (time: Date, nextAt: string | null = later(60_000)) =>
      () => ({
        times: [time],
        nextAt,
      });

    test("fire once for each time, however many processes look at once", async () => {
      const { tenantId, agent, create, runsOf } = await start();
      const schedule = await create();
      const time = subject.clock.now();
      const fired = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const platform = await openPlatform(subject.database.shared, { clock: subject.clock });
          return platform.firings.fire(schedule, fireAt(time));
        }),
      );
      const [one, ...others] = fired.filter((each) => each !== null);
      expect(others).toEqual([]);
      expect(one).toEqual({ runIds: [expect.any(String)], problem: null });
      const [run] = await runsOf(schedule);
      expect(run).toMatchObject({
        id: one!.runIds[0],
        kind: "turn",
        state: "queued",
        priority: 3,
        metadata: { team: "x", schedule_id: schedule.id, scheduled_at: time.toISOString() },
      });
      const whole = await subject.platform.runs.get(tenantId, run!.id);
      expect(whole.request).toEqual({
        input: { message: "Hi" },
        definition_id: agent.id,
        turn_id: expect.any(String),
      });
      expect(await subject.platform.schedules.get(tenantId, schedule.id)).toMatchObject({
        nextAt: later(60_000),
        lastAt: time.toISOString(),
        lastRunId: run!.id,
        lastProblem: null,
      });
    });

    test("are due again, and have no run, if the process dies within the transaction", async () => {
      const { create, runsOf } = await start();
      const schedule = await create();
      const { firings } = subject.platform;
      const dying = () => {
        throw new Error("killed");
      };
      await expect(firings.fire(schedule, dying)).rejects.toThrow("killed");
      expect(await runsOf(schedule)).toEqual([]);
      await firings.fire(schedule, fireAt(subject.clock.now()));
      expect(await runsOf(schedule)).toHaveLength(1);
    });

    test("keep their thread, and leave a firing out when the thread has 100 runs to begin", async () => {
      const { tenantId, create, runsOf } = await start();
      const { firings, schedules } = subject.platform;
      const schedule = await create({ threadId: "daily" });
      const times = Array.from({ length: 100 }, () => subject.clock.now());
      await firings.fire(schedule, () => ({ times, nextAt: later(-1) }));
      const made = await runsOf(schedule);
      expect(made.map(({ seq }) => seq)).toEqual(times.map((_, index) => 100 - index));
      expect(new Set(made.map(({ threadId }) => threadId))).toEqual(new Set(["daily"]));
      const problem = "100 runs of the thread have not begun.";
      expect(await firings.fire(schedule, fireAt(subject.clock.now()))).toEqual({
        runIds: [],
        problem,
      });
      expect(await schedules.get(tenantId, schedule.id)).toMatchObject({
        nextAt: later(60_000),
        lastProblem: problem,
      });
    });

    test("make runs with the labels that their agent asks of workers", async () => {
      const { tenantId, create, runsOf } = await start();
      const definition = { execution_config: { worker_labels: ["gpu"] } };
      const labelled = await subject.platform.agents.create(tenantId, { name: "b", definition });
      const schedule = await create({ agentId: labelled.agentId });
      await subject.platform.firings.fire(schedule, fireAt(subject.clock.now()));
      expect((await runsOf(schedule))[0]!.labels).toEqual(["gpu"]);
    });

    test("have a new thread for each run", async () => {
      const { create, runsOf } = await start();
      const schedule = await create();
      const times = [subject.clock.now(), subject.clock.now()];
      await subject.platform.firings.fire(schedule, () => ({ times, nextAt: null }));
      const [one, two] = await runsOf(schedule);
      expect(one!.threadId).not.toBe(two!.threadId);
    });

    test("leave a firing out while a run of the thread is under way, if they are exclusive", async () => {
      const { create, runsOf } = await start();
      const { firings } = subject.platform;
      const schedule = await create({ threadId: "one", isExclusive: true });
      await firings.fire(schedule, fireAt(subject.clock.now(), later(-1)));
      const second = await firings.fire(schedule, fireAt(subject.clock.now()));
      expect(second).toEqual({ runIds: [], problem: "A run of the thread is queued or running." });
      expect(await runsOf(schedule)).toHaveLength(1);
    });

    test("leave firings out that have a problem, or whose agent is not active", async () => {
      const { tenantId, agent, create, runsOf } = await start();
      const { agents, firings } = subject.platform;
      const schedule = await create();
      const problem = "The quota is used up.";
      const decide = () => ({ times: [subject.clock.now()], nextAt: later(-1), problem });
      expect(await firings.fire(schedule, decide)).toEqual({ runIds: [], problem });
      await agents.deactivate(tenantId, agent.agentId);
      expect(await firings.fire(schedule, fireAt(subject.clock.now()))).toEqual({
        runIds: [],
        problem: "The agent of the schedule is not active.",
      });
      expect(await runsOf(schedule)).toEqual([]);
    });

    test("are found when they are due, enabled, and of a tenant that is served", async () => {
      const { tenantId, create } = await start();
      const { tables, tenants } = subject.platform;
      const due = await create();
      await create({ nextAt: later(1) });
      await create({ enabled: false });
      await create({ nextAt: null });
      const found = async () =>
        (await findDue(tables, { limit: 1_000 })).filter((one) => one.tenantId === tenantId);
      expect(await found()).toEqual([{ kind: "schedule", id: due.id, tenantId }]);
      await tenants.suspend(tenantId);
      expect(await found()).toEqual([]);
    });

    test("fire neither early nor while they are paused", async () => {
      const { create } = await start();
      const { firings } = subject.platform;
      const never = () => expect.unreachable();
      expect(await firings.fire(await create({ nextAt: later(1) }), never)).toBeNull();
      expect(await firings.fire(await create({ enabled: false }), never)).toBeNull();
    });

    test("are bounded in number, and have names that differ", async () => {
      const { tenantId, create } = await start();
      await create({ name: "daily" });
      await expect(create({ name: "daily" })).rejects.toThrow("has this name");
      for (let count = 1; count < 100; count += 1) await create();
      await expect(create()).rejects.toThrow("at most 100 schedules");
      const { schedules } = subject.platform;
      const page = await schedules.list(tenantId, { limit: 60 });
      const rest = await schedules.list(tenantId, { limit: 60, cursor: page.next! });
      expect([page.items.length, rest.items.length, rest.next]).toEqual([60, 40, null]);
      const last = rest.items.at(-1)!;
      const other = page.items[0]!;
      const taken = schedules.update(tenantId, other.id, () => ({ name: last.name }));
      await expect(taken).rejects.toThrow(ConflictError);
    });

    test("are those of their tenant, whatever a statement leaves out", async () => {
      const { create, tenantId } = await start();
      const schedule = await create();
      const { id: other } = await subject.newTenant();
      const { schedules, firings, tables } = subject.platform;
      await expect(schedules.get(other, schedule.id)).rejects.toThrow(NotFoundError);
      await expect(schedules.remove(other, schedule.id)).rejects.toThrow(NotFoundError);
      await expect(firings.runNow(other, schedule.id)).rejects.toThrow(NotFoundError);
      const fired = firings.fire({ tenantId: other, id: schedule.id }, () => expect.unreachable());
      expect(await fired).toBeNull();
      for (const table of ["schedule", "timer", "thread_event"]) {
        const text = `select tenant_id from ${tables.schema}.${table}`;
        const seen = await queryTenant<{ tenant_id: string }>(tables.tenants, other, {
          text,
          values: [],
        });
        expect(seen.rows).toEqual([]);
      }
      const own = { text: `select id from ${tables.schema}.schedule`, values: [] };
      expect((await queryTenant(tables.tenants, tenantId, own)).rows).toEqual([
        { id: schedule.id },
      ]);
      await expect(create({ agentId: (await start()).agent.agentId })).rejects.toThrow(
        NotFoundError,
      );
    });

    test("are found by their next firing, without reading the others", async () => {
      const { tenantId, agent } = await start();
      const { tables } = subject.platform;
      const plan = await withAllTenants(tables.tenants.pool, async (client) => {
        await client.query(
          `insert into ${tables.schema}.schedule (id, tenant_id, agent_id, cron, time_zone, kind, request, missed, max_missed, next_at)
          select gen_random_uuid(), $1::uuid, $2::uuid, '* * * * *', 'UTC', 'turn', '{}', 'once', 1, now() + interval '1 day'
          from generate_series(1, 2000)`,
          [tenantId, agent.agentId],
        );
        await client.query(`analyze ${tables.schema}.schedule`);
        const { rows } = await client.query<Record<string, string>>(
          `explain select id from ${tables.schema}.schedule where enabled and next_at <= now() order by next_at limit 100`,
        );
        await client.query(`delete from ${tables.schema}.schedule where tenant_id = $1::uuid`, [
          tenantId,
        ]);
        return rows.map((row) => row["QUERY PLAN"]).join("\n");
      });
      expect(plan).toContain("Index Scan using schedule_next_at_idx");
    });
  });
}
