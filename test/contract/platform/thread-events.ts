import { describe, expect, test } from "vitest";
import { ConflictError } from "../../../src/storage/platform/errors.ts";
import type { Run } from "../../../src/storage/platform/runs/runs.ts";
import type { ThreadEvent } from "../../../src/storage/platform/time/thread-events.ts";
import { queryAllTenants } from "../../../src/storage/tenant.ts";
import type { PlatformSubject } from "./subject.ts";

/** Events that are sent to threads. */
export function threadEventsContract(subject: PlatformSubject): void {
  const { kind } = subject.database;
  describe.skipIf(!subject.database.available)(`events of threads on ${kind}`, () => {
    const go: ThreadEvent = { name: "go", payload: { at: 1 } };
    const started = async (kindOfRun: "turn" | "graph" = "turn"): Promise<Run> => {
      const { id: tenantId } = await subject.newTenant();
      const { id: instanceId } = await subject.newInstance(tenantId);
      const given = { instanceId, kind: kindOfRun, request: {} };
      const claim = { worker: "w", leaseMs: 60_000 };
      return subject.platform.runs.create(tenantId, given, claim);
    };
    /** The run takes every event with one of the names. */
    const wait = (run: Run, names: readonly string[] = ["go"]) =>
      subject.platform.claims.finish(run, {
        state: "awaiting_event",
        result: {},
        within: async (client) => {
          const decide = (event: ThreadEvent) => resume(event);
          await subject.platform.threadEvents.take(run, { names, decide }, client);
        },
      });
    const resume = ({ payload }: ThreadEvent) => ({ isNewRun: false, request: { payload } });
    const send = (run: Run, event = go, key: string | null = null) =>
      subject.platform.threadEvents.send(run, { event, key, decide: () => resume(event) });
    const read = ({ tenantId, id }: Run) => subject.platform.runs.get(tenantId, id);
    const stored = async ({ tenantId }: Run) => {
      const { tables } = subject.platform;
      const { rows } = await queryAllTenants<{ name: string; delivered: boolean }>(
        tables.tenants.pool,
        {
          text: `select name, delivered_at is not null as delivered from ${tables.schema}.thread_event
            where tenant_id = $1::uuid order by id`,
          values: [tenantId],
        },
      );
      return rows;
    };

    test("are delivered to the run that waits", async () => {
      const run = await started();
      await wait(run);
      expect(await send(run)).toEqual({ was: "delivered", runId: run.id });
      expect(await read(run)).toMatchObject({
        state: "queued",
        kind: "resume",
        request: { payload: { at: 1 } },
      });
      expect(await stored(run)).toEqual([]);
      await subject.platform.runs.requestCancel(run.tenantId, run.id);
    });

    test("are kept in order for waits to come, each for one of them", async () => {
      const run = await started();
      await send(run, { name: "other", payload: 0 });
      await send(run, { name: "go", payload: 1 });
      expect(await send(run, { name: "go", payload: 2 })).toEqual({ was: "kept", runId: null });
      await wait(run);
      expect(await read(run)).toMatchObject({ state: "queued", request: { payload: 1 } });
      const again = await subject.platform.claims.claim({ worker: "w", leaseMs: 60_000 });
      expect(again?.id).toBe(run.id);
      await wait(again!);
      expect(await read(run)).toMatchObject({ state: "queued", request: { payload: 2 } });
      expect(await stored(run)).toEqual([{ name: "other", delivered: false }]);
      await subject.platform.runs.requestCancel(run.tenantId, run.id);
    });

    test("are kept without a payload", async () => {
      const run = await started();
      expect(await send(run, { name: "go", payload: null })).toMatchObject({ was: "kept" });
      await wait(run);
      expect(await read(run)).toMatchObject({ state: "queued", request: { payload: null } });
      await subject.platform.runs.requestCancel(run.tenantId, run.id);
    });

    test("are neither lost nor delivered twice while a run begins to wait", async () => {
      for (let trial = 0; trial < 20; trial += 1) {
        const run = await started();
        const [, sent] = await Promise.all([wait(run), send(run)]);
        const { state, request } = await read(run);
        expect([trial, state, request, await stored(run)]).toEqual([
          trial,
          "queued",
          { payload: { at: 1 } },
          [],
        ]);
        expect(["delivered", "kept"]).toContain(sent.was);
        await subject.platform.runs.requestCancel(run.tenantId, run.id);
      }
    });

    test("are delivered once, however often they are sent with one key", async () => {
      const run = await started();
      await wait(run);
      const sent = await Promise.all(Array.from({ length: 5 }, () => send(run, go, "k")));
      expect(sent).toEqual(sent.map(() => ({ was: "delivered", runId: run.id })));
      expect(await stored(run)).toEqual([{ name: "go", delivered: true }]);
      const kept = await started();
      await Promise.all(Array.from({ length: 5 }, () => send(kept, go, "k")));
      expect(await stored(kept)).toEqual([{ name: "go", delivered: false }]);
      await wait(kept);
      expect((await send(kept, go, "k")).was).toBe("delivered");
      expect((await read(kept)).state).toBe("queued");
      for (const { tenantId, id } of [run, kept])
        await subject.platform.runs.requestCancel(tenantId, id);
    });

    test("leave everything as it was when they are refused", async () => {
      const run = await started();
      await wait(run);
      const refusing = () => {
        throw new Error("does not fit");
      };
      const sent = subject.platform.threadEvents.send(run, {
        event: go,
        key: "k",
        decide: refusing,
      });
      await expect(sent).rejects.toThrow("does not fit");
      expect([(await read(run)).state, await stored(run)]).toEqual(["awaiting_event", []]);
    });

    test("wait for a run of a graph that another run is about to continue", async () => {
      const run = await started("graph");
      await wait(run, []);
      const { instanceId, tenantId } = run;
      const next = { instanceId, kind: "graph" as const, request: {} };
      const answer = await subject.platform.runs.create(tenantId, next);
      expect((await send(run)).was).toBe("kept");
      await subject.platform.runs.requestCancel(tenantId, answer.id);
      const sent = await subject.platform.threadEvents.send(run, {
        event: go,
        key: null,
        decide: () => ({ isNewRun: true, request: { resumed: true } }),
      });
      expect(await subject.platform.runs.get(tenantId, sent.runId!)).toMatchObject({
        kind: "graph",
        seq: 3,
        request: { resumed: true },
      });
      await subject.platform.runs.requestCancel(tenantId, sent.runId!);
    });

    test("are bounded for each thread, and removed after a week", async () => {
      const run = await started();
      const { threadEvents } = subject.platform;
      for (let count = 0; count < 100; count += 1) await send(run);
      await expect(send(run)).rejects.toThrow(ConflictError);
      const other = await started();
      expect((await send(other)).was).toBe("kept");
      subject.clock.advance(7 * 86_400_000);
      expect(await stored(run)).toHaveLength(100);
      await wait(run);
      expect((await read(run)).state).toBe("awaiting_event");
      expect(await threadEvents.sweep()).toBeGreaterThanOrEqual(101);
      expect(await stored(run)).toEqual([]);
    });

    const keep = (run: Run, content: string, key: string | null = null) =>
      subject.platform.threadEvents.keepMessage(run, { content, name: "go", key });
    const messages = async (run: Run) =>
      (await subject.platform.threadEvents.readMessages(run)).map(({ content }) => content);

    test("as messages are kept in order until a run ends that contains them", async () => {
      const run = await started();
      const { threadEvents, claims } = subject.platform;
      expect(await keep(run, "one")).toEqual({ was: "kept", runId: run.id });
      // A server whose clock is behind, and whose ids are smaller.
      const { tables } = subject.platform;
      await queryAllTenants(tables.tenants.pool, {
        text: `update ${tables.schema}.thread_event set id = 'ffffffff-ffff-7fff-8fff-ffffffffffff' where tenant_id = $1::uuid`,
        values: [run.tenantId],
      });
      await keep(run, "two");
      expect(await messages(run)).toEqual(["one", "two"]);
      const [one] = await threadEvents.readMessages(run);
      await claims.finish(run, {
        state: "complete",
        result: {},
        within: (client) => threadEvents.settleMessages(run, [one!.id], client),
      });
      expect(await messages(run)).toEqual(["two"]);
      expect(await keep(run, "three")).toEqual({ was: "kept", runId: null });
      const ids = (await threadEvents.readMessages(run)).map(({ id }) => id);
      // A claim that was lost writes nothing.
      const lost = await claims.finish(run, {
        state: "complete",
        result: {},
        within: (client) => threadEvents.settleMessages(run, ids, client),
      });
      expect([lost, await messages(run)]).toEqual([null, ["two", "three"]]);
    });

    test("as messages are kept once with a key, by any number of senders", async () => {
      const run = await started();
      await Promise.all(Array.from({ length: 5 }, () => keep(run, "Hi", "k")));
      const all = await subject.platform.threadEvents.readMessages(run);
      expect(all).toHaveLength(1);
      await subject.platform.claims.finish(run, {
        state: "complete",
        result: {},
        within: (client) => subject.platform.threadEvents.settleMessages(run, [all[0]!.id], client),
      });
      expect(await keep(run, "Hi", "k")).toEqual({ was: "delivered", runId: run.id });
      expect([await messages(run), await stored(run)]).toEqual([
        [],
        [{ name: "go", delivered: true }],
      ]);
    });

    test("as messages reach no wait, and events are no messages", async () => {
      const run = await started();
      await keep(run, "Hi");
      await send(run, { name: "other", payload: { content: "no" } });
      await wait(run);
      expect((await read(run)).state).toBe("awaiting_event");
      await keep(run, "Hello");
      expect((await read(run)).state).toBe("awaiting_event");
      expect(await messages(run)).toEqual(["Hi", "Hello"]);
      await subject.platform.runs.requestCancel(run.tenantId, run.id);
    });

    test("as messages share the bound and the week of events", async () => {
      const run = await started();
      for (let count = 0; count < 99; count += 1) await keep(run, `${count}`);
      await send(run, { name: "other", payload: 0 });
      await expect(keep(run, "100")).rejects.toThrow(ConflictError);
      await expect(send(run, { name: "other", payload: 0 })).rejects.toThrow(ConflictError);
      expect(await messages(run)).toHaveLength(99);
      subject.clock.advance(7 * 86_400_000);
      expect(await messages(run)).toEqual([]);
      expect(await subject.platform.threadEvents.sweep()).toBeGreaterThanOrEqual(100);
      await subject.platform.runs.requestCancel(run.tenantId, run.id);
    });

    test("as messages of one tenant are not read by another", async () => {
      const run = await started();
      await keep(run, "Hi");
      const { id: tenantId } = await subject.newTenant();
      expect(await messages({ ...run, tenantId })).toEqual([]);
      const all = await subject.platform.threadEvents.readMessages(run);
      const { id: instanceId } = await subject.newInstance(tenantId);
      const claim = { worker: "w", leaseMs: 60_000 };
      const other = await subject.platform.runs.create(
        tenantId,
        { instanceId, request: {} },
        claim,
      );
      await subject.platform.claims.finish(other, {
        state: "complete",
        result: {},
        within: (client) =>
          subject.platform.threadEvents.settleMessages(other, [all[0]!.id], client),
      });
      expect(await messages(run)).toEqual(["Hi"]);
    });

    test("of one tenant reach no run of another on a thread of the same name", async () => {
      const run = await started();
      await wait(run);
      const { id: tenantId } = await subject.newTenant();
      const { id: instanceId } = await subject.newInstance(tenantId, run.threadId);
      const { threadId } = run;
      const sent = await subject.platform.threadEvents.send(
        { tenantId, threadId, instanceId },
        { event: go, key: null, decide: () => expect.unreachable() },
      );
      expect(sent.was).toBe("kept");
      expect((await read(run)).state).toBe("awaiting_event");
    });
  });
}
