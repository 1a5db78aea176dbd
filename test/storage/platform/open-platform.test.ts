import { describe, expect, test } from "vitest";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

const postgres = useDatabase("postgres");
const pglite = useDatabase("pglite");

test.each([pglite, postgres])(
  "opens in a schema of any name, once for a pool",
  async (database) => {
    if (!database.available) return;
    const schema = `it's "odd" {schema} $$ %I`;
    const [platform, again] = await Promise.all([
      openPlatform(database.shared, { schema }),
      openPlatform(database.shared, { schema }),
    ]);
    expect(again.tables.tenants).toBe(platform.tables.tenants);
    const { id } = await platform.tenants.create({ name: "a" });
    await platform.audit.append(id, { actor: "operator", action: "a", subject: "s" });
    expect((await again.tenantRows.delete(id))["audit_log"]).toBe(1);
  },
);

describe.skipIf(!postgres.available)("several processes", () => {
  const schema = "several";

  test("open the platform at the same time", async () => {
    const databases = await Promise.all(Array.from({ length: 4 }, () => postgres.open()));
    const opened = await Promise.all(databases.map((one) => openPlatform(one, { schema })));
    const { id } = await opened[0]!.tenants.create({ name: "raced" });
    for (const { tenants } of opened) expect((await tenants.get(id)).name).toBe("raced");
  });

  test("claim each run once, and one run of a thread at a time", async () => {
    const clock = new ManualClock(new Date().toISOString());
    const databases = await Promise.all(Array.from({ length: 4 }, () => postgres.open()));
    const workers = await Promise.all(
      databases.map((one) => openPlatform(one, { schema: "claims", clock })),
    );
    const [{ tenants, instances, runs, tables }] = workers as [(typeof workers)[0]];
    const { id: tenantId } = await tenants.create({ name: "busy" });
    for (let thread = 0; thread < 5; thread += 1) {
      const { id: instanceId } = await instances.create(tenantId, {
        threadId: `t${thread}`,
        agent: "a",
      });
      for (let seq = 0; seq < 8; seq += 1)
        await runs.create(tenantId, { instanceId, request: {}, priority: (thread * seq) % 3 });
    }
    const claimed: string[] = [];
    const running = new Map<string, number>();
    const isEmpty = async () => {
      const { rows } = await tables.tenants.pool.query(
        `select from ${tables.schema}.run where state in ('queued', 'running')`,
      );
      return rows.length === 0;
    };
    await Promise.all(
      workers.flatMap(({ claims }, at) =>
        Array.from({ length: 3 }, async () => {
          for (;;) {
            const run = await claims.claim({ worker: `w${at}`, leaseMs: 1_000 });
            if (run === null) {
              if (await isEmpty()) return;
              continue;
            }
            claimed.push(run.id);
            expect(running.has(run.threadId)).toBe(false);
            running.set(run.threadId, run.seq);
            await claims.renew(run, { leaseMs: 1_000 });
            running.delete(run.threadId);
            expect(await claims.finish(run, { state: "complete", result: null })).toEqual([]);
          }
        }),
      ),
    );
    expect(claimed).toHaveLength(40);
    expect(new Set(claimed).size).toBe(40);
    const { items } = await runs.list(tenantId, { limit: 200 });
    expect(items.map(({ epoch }) => epoch)).toEqual(Array(40).fill(1));
  });

  test("leave a partition in use where it is until it is not used", async () => {
    const platform = await openPlatform(postgres.shared, { schema });
    await platform.tables.tenants.pool.query(
      `select ${platform.tables.schema}.ensure_days('turn', 0, '2020-01-02')`,
    );
    const reader = await postgres.shared.pool.connect();
    const drop = () =>
      platform.partitions.dropBefore("turn", "2020-01-03", { lockTimeoutMs: 5, attempts: 2 });
    try {
      await reader.query(`begin; select from ${platform.tables.schema}.turn`);
      expect(await drop()).toEqual({ dropped: [], busy: ["turn_20200102"] });
    } finally {
      await reader.query("rollback");
      reader.release();
    }
    expect(await drop()).toEqual({ dropped: ["turn_20200102"], busy: [] });
  });
});
