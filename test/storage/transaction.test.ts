import { expect, it } from "vitest";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { defaultTenant, queryTenant, withTenant } from "../../src/storage/tenant.ts";
import { TransactionFailedError } from "../../src/storage/transaction.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");

/** A pool whose sessions refuse to begin, as those of a pooler without a free one do, and take what follows. */
function refusing(pool: DatabasePool): Pick<DatabasePool, "connect"> {
  return {
    async connect() {
      const client = await pool.connect();
      return {
        pipelines: true,
        release: (error) => client.release(error),
        async query(query, values) {
          if (typeof query === "string" && query.startsWith("begin")) throw new Error("no session");
          return client.query(query, values);
        },
      };
    },
  };
}

it.skipIf(!database.available)(
  "a transaction that did not begin is an error, whatever its statements did",
  async () => {
    const pool = refusing(database.shared.pool) as DatabasePool;
    const statement = { text: "select $1::int as one", values: [1] };
    const whole = withTenant({ pool, role: null }, defaultTenant, (client) =>
      client.query(statement),
    );
    await expect(whole).rejects.toThrow("no session");
    const alone = queryTenant({ pool, role: null }, defaultTenant, statement);
    await expect(alone).rejects.toThrow("no session");
  },
);

it.skipIf(!database.available)(
  "a transaction whose failed statement was overlooked is an error",
  async () => {
    const whole = withTenant(
      { pool: database.shared.pool, role: null },
      defaultTenant,
      async (client) => {
        await client.query("select nonsense").catch(() => undefined);
      },
    );
    await expect(whole).rejects.toThrow(TransactionFailedError);
  },
);
