import { describe, expect, it } from "vitest";
import { tenantPool, ThreadFences } from "../../src/storage/tenant-pool.ts";
import { withAllTenants, withTenant } from "../../src/storage/tenant.ts";
import { runFenceContract } from "../contract/run-fence.ts";
import { newTenant } from "../contract/memory-store.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");
runFenceContract(database);

describe.skipIf(!database.available)("a transaction whose process was stopped", () => {
  const show = "show idle_in_transaction_session_timeout";
  const tenth = { idle_in_transaction_session_timeout: "10s" };

  it("is ended by the server before the lease of its run", async () => {
    const { pool } = database.shared;
    const own = { pool, role: null };
    const ofTenant = await withTenant(own, newTenant(), (client) => client.query(show));
    const ofAll = await withAllTenants(pool, (client) => client.query(show));
    expect([ofTenant.rows, ofAll.rows]).toEqual([[tenth], [tenth]]);
    await pool.query(
      "create schema fenced; create table fenced.run (id uuid, epoch int, state text)",
    );
    const runId = newTenant();
    await pool.query(`insert into fenced.run values ('${runId}', 1, 'running')`);
    const fences = new ThreadFences("fenced");
    fences.fence("t", { runId, epoch: 1 });
    const client = await tenantPool(own, newTenant(), fences).forThread("t").connect();
    await client.query("begin");
    const { rows } = await client.query(show);
    await client.query("rollback");
    client.release();
    expect(rows).toEqual([tenth]);
  });
});
