import { describe, expect, test } from "vitest";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { findDue } from "../../../src/storage/platform/time/due.ts";
import type { Run } from "../../../src/storage/platform/runs/runs.ts";
import { queryAllTenants, withTenant } from "../../../src/storage/tenant.ts";
import type { PlatformSubject } from "./subject.ts";

/** Timers of runs that wait. */
export function timersContract(subject: PlatformSubject): void {
  const { kind } = subject.database;
  describe.skipIf(!subject.database.available)(`timers on ${kind}`, () => {
    const later = (ms: number) => new Date(subject.clock.now().getTime() + ms).toISOString();

    /** A run that waits, with a timer; of a tenant of its own. */
    const waiting = async (
      dueAt = later(1_000),
      kindOfRun: "turn" | "graph" = "turn",
    ): Promise<Run> => {
      const { claims, runs, timers } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const { id: instanceId } = await subject.newInstance(tenantId);
      const claim = { worker: "w", leaseMs: 60_000 };
      const given = { instanceId, kind: kindOfRun, request: { turn_id: "t" } };
      const run = await runs.create(tenantId, given, claim);
      await claims.finish(run, {
        state: "awaiting_human",
        result: {},
        within: (client) => timers.set(run, dueAt, client),
      });
      return runs.get(tenantId, run.id);
    };
    const timerOf = async ({ id }: Run) => {
      const { tables } = subject.platform;
      const { rows } = await queryAllTenants<{ due_at: Date }>(tables.tenants.pool, {
        text: `select due_at from ${tables.schema}.timer where run_id = $1::uuid`,
        values: [id],
      });
      return rows[0]?.due_at.toISOString() ?? null;
    };
    const resume = () => ({ isNewRun: false, request: { turn_id: "t", resumed: true } });
    const read = ({ tenantId, id }: Run) => subject.platform.runs.get(tenantId, id);

    test("resume their run once, however many processes look at once", async () => {
      const run = await waiting();
      const early = await subject.platform.timers.fire(run, resume);
      subject.clock.advance(1_000);
      const { tables } = subject.platform;
      const due = { kind: "timer", id: run.id, tenantId: run.tenantId };
      expect(await findDue(tables, { limit: 1_000 })).toContainEqual(due);
      const fired = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const platform = await openPlatform(subject.database.shared, { clock: subject.clock });
          return platform.timers.fire(run, resume);
        }),
      );
      expect([early, fired.filter(Boolean).length]).toEqual([false, 1]);
      expect(await read(run)).toMatchObject({
        state: "queued",
        kind: "resume",
        request: { turn_id: "t", resumed: true },
        attempts: 0,
      });
      expect(await timerOf(run)).toBeNull();
    });

    test("are due again if the process dies within the transaction", async () => {
      const run = await waiting(later(-1));
      const dying = () => {
        throw new Error("killed");
      };
      await expect(subject.platform.timers.fire(run, dying)).rejects.toThrow("killed");
      expect((await read(run)).state).toBe("awaiting_human");
      expect(await subject.platform.timers.fire(run, resume)).toBe(true);
    });

    test("are not set by a worker that has lost its run", async () => {
      const { claims, runs, timers } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const { id: instanceId } = await subject.newInstance(tenantId);
      const claim = { worker: "w", leaseMs: 60_000 };
      const run = await runs.create(tenantId, { instanceId, request: {} }, claim);
      const ended = await claims.finish(
        { ...run, epoch: run.epoch - 1 },
        {
          state: "awaiting_human",
          result: {},
          within: (client) => timers.set(run, later(0), client),
        },
      );
      expect([ended, await timerOf(run)]).toEqual([null, null]);
    });

    test("are removed by an answer, a cancellation and a run that continues the turn", async () => {
      const { claims, runs, tables } = subject.platform;
      const answered = await waiting();
      await runs.requeue(answered.tenantId, { runId: answered.id, kind: "resume", request: {} });
      const cancelled = await waiting();
      await runs.requestCancel(cancelled.tenantId, cancelled.id);
      const continued = await waiting();
      const next = { ...continued, seq: continued.seq + 1 };
      await withTenant(tables.tenants, continued.tenantId, (client) =>
        claims.endWaiting(next, client),
      );
      for (const run of [answered, cancelled, continued]) expect(await timerOf(run)).toBeNull();
      subject.clock.advance(2_000);
      expect(await subject.platform.timers.fire(answered, resume)).toBe(false);
    });

    test("give a run of a graph a new run that goes on, unless an answer is under way", async () => {
      const { platform, clock } = subject;
      const run = await waiting(later(-1), "graph");
      const { tenantId, instanceId } = run;
      const given = { instanceId, kind: "graph" as const, request: { answer: 1 } };
      const answer = await platform.runs.create(tenantId, given);
      const goOn = () => ({ isNewRun: true, request: { turn_id: "t", input: null } });
      expect(await platform.timers.fire(run, goOn)).toBe(false);
      expect(await timerOf(run)).not.toBeNull();
      await platform.runs.requestCancel(tenantId, answer.id);
      expect(await platform.timers.fire(run, goOn)).toBe(true);
      expect(await platform.timers.fire(run, goOn)).toBe(false);
      const { items } = await platform.runs.list(tenantId, { state: "queued" });
      expect(items).toMatchObject([
        { kind: "graph", seq: 3, createdAt: clock.now().toISOString() },
      ]);
      expect((await read(run)).state).toBe("awaiting_human");
    });

    test("give a new run the labels that its version asks of workers", async () => {
      const { agents, runs, timers } = subject.platform;
      const run = await waiting(later(-1), "graph");
      const definition = { execution_config: { worker_labels: ["gpu"] } };
      const { tenantId } = run;
      const { id: definitionId } = await agents.create(tenantId, { name: "labelled", definition });
      await timers.fire(run, () => ({ isNewRun: true, definitionId, request: {} }));
      const { items } = await runs.list(tenantId, { state: "queued" });
      expect(items[0]!.labels).toEqual(["gpu"]);
    });

    test("fire for their tenant alone", async () => {
      const run = await waiting(later(-1));
      const { id: tenantId } = await subject.newTenant();
      const fired = subject.platform.timers.fire({ tenantId, id: run.id }, () =>
        expect.unreachable(),
      );
      expect(await fired).toBe(false);
      expect(await timerOf(run)).not.toBeNull();
    });
  });
}
