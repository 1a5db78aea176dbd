import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { RunExecutor } from "../../src/engine/run-executor.ts";
import { RunSignals } from "../../src/engine/run-signals.ts";
import { withAllTenants } from "../../src/storage/tenant.ts";
import { useDatabase } from "../helpers/databases.ts";
import { useRunServers } from "../helpers/run-server.ts";

describe.each(["pglite", "postgres"] as const)("the tail of a run on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  /** A run that a worker has claimed, whose execution does not end. */
  async function execute() {
    const api = await start([], { concurrency: 0 });
    const { tenantId } = api;
    const { claims, tables } = api.server.platform;
    const { status } = await api.post(await api.agent(), { input: { message: "Hello." } });
    expect(status).toBe(202);
    const run = (await claims.claim({ worker: "w", leaseMs: 60_000 }))!;
    const signals = new RunSignals(systemClock);
    const executor = new RunExecutor({
      platform: api.server.platform,
      useServices: () => new Promise<never>(() => {}),
      loadAgent: () => Promise.reject(new Error("never called")),
      signals,
      clock: systemClock,
      onError: () => {},
    });
    const lease = new AbortController();
    void executor.execute(run, lease.signal, new AbortController().signal);
    await expect.poll(() => signals.tailOf(tenantId, run.id)?.state).toBe("running");
    const claimElsewhere = () =>
      withAllTenants(tables.tenants.pool, (client) =>
        client.query(`update ${tables.schema}.run set epoch = epoch + 1 where id = '${run.id}'`),
      );
    const tail = signals.tailOf(tenantId, run.id)!;
    return { run, tenantId, tail, signals, executor, lease, claimElsewhere };
  }

  it.skipIf(!database.available)(
    "ends with the lease, however long the execution takes to end",
    async () => {
      const { run, tenantId, tail, signals, lease } = await execute();
      const changed = signals.next(run.id);
      lease.abort(new Error("The lease has ended."));
      expect([tail.state, signals.tailOf(tenantId, run.id)]).toEqual([null, undefined]);
      await changed;
    },
  );

  it.skipIf(!database.available)("ends when the run was claimed again", async () => {
    const { run, tail, executor, claimElsewhere } = await execute();
    await claimElsewhere();
    executor.notice(run.id);
    await expect.poll(() => tail.state).toBeNull();
  });

  it.skipIf(!database.available)("is that of its tenant alone", async () => {
    const { run, tail, signals, tenantId } = await execute();
    expect(signals.tailOf(tenantId, run.id)).toBe(tail);
    expect(signals.tailOf(run.id, run.id)).toBeUndefined();
  });
});
