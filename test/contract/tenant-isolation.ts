import { beforeAll, describe, expect, test } from "vitest";
import { openDatabaseMemory } from "../../src/storage/memory/database-memory.ts";
import type { Database } from "../../src/storage/database.ts";
import { DatabasePermissionError } from "../../src/storage/errors.ts";
import {
  InvalidTenantError,
  openTenantPool,
  type TenantPool,
  withAllTenants,
  withTenant,
} from "../../src/storage/tenant.ts";
import { TransactionFailedError } from "../../src/storage/transaction.ts";
import { newTenant, vectorAt } from "./memory-store.ts";

const tables = [
  "memory_entry",
  "memory_archive",
  "memory_use",
  "memory_model",
  "memory_vector",
] as const;

export interface IsolationSubject {
  readonly name: string;
  readonly available: boolean;
  /** The database, as a user who owns the tables. */
  readonly database: () => Promise<Database>;
  /** Whether statements of tenants run as a role of their own. */
  readonly hasRole: boolean;
}

/** Statements without any condition read and write rows of their tenant alone. */
export function tenantIsolationContract(subject: IsolationSubject): void {
  describe.skipIf(!subject.available)(`tenants ${subject.name}`, () => {
    const schema = `it's "${subject.name.slice(0, 30)}" {schema} $$ %I`;
    let database: Database;
    let tenants: TenantPool;
    const table = (name: string) => `"${schema.replaceAll('"', '""')}".${name}`;
    const fill = async (tenant: string) => {
      const store = openDatabaseMemory(database, { schema }).forTenant(tenant);
      const embedding = { model: "m", vector: vectorAt(0) };
      const namespace = ["a"];
      const stored = await store.add(
        ["a", "b", "c"].map((content) => ({ namespace, content, embedding })),
      );
      const [first, second] = stored.map(({ id }) => id) as [string, string];
      await store.recordUses([{ id: first, run: "r", threadId: "t", score: 1 }]);
      const [entry] = await store.get([second]);
      await store.consolidating({ namespace, threadId: null }, (apply) =>
        apply([{ kind: "evict", id: second, readAt: entry!.updated_at, archive: true }]),
      );
    };
    /** Rows of a tenant in a table, as upkeep sees them. */
    const rowsOf = (name: string, tenant: string) =>
      withAllTenants(database.pool, async (client) => {
        const { rows } = await client.query<{ row: string }>(
          `select e::text as row from ${table(name)} e where tenant_id = $1::uuid order by 1`,
          [tenant],
        );
        return rows.map(({ row }) => row);
      });

    beforeAll(async () => {
      if (!subject.available) return;
      database = await subject.database();
      await openDatabaseMemory(database, { schema }).setup();
      tenants = await openTenantPool(database.pool, { schema, tables });
    });

    test("run as a role of their own where the user could read all rows", () => {
      expect(tenants.role).toBe(subject.hasRole ? "stratagraph_tenant" : null);
    });

    test.each(tables)(
      "have %s for themselves, though no statement has a condition",
      async (name) => {
        const [mine, other] = [newTenant(), newTenant()];
        await fill(mine);
        await fill(other);
        const others = await rowsOf(name, other);
        expect(others.length).toBeGreaterThan(0);
        const read = await withTenant(tenants, mine, (client) =>
          client.query<{ tenant_id: string }>(`select tenant_id from ${table(name)}`),
        );
        expect(new Set(read.rows.map((row) => row.tenant_id))).toEqual(new Set([mine]));
        const updated = await withTenant(tenants, mine, (client) =>
          client.query(`update ${table(name)} set tenant_id = tenant_id`),
        );
        expect(updated.rowCount).toBe(read.rows.length);
        const deleted = await withTenant(tenants, mine, (client) =>
          client.query(`delete from ${table(name)}`),
        );
        expect(deleted.rowCount).toBe(read.rows.length);
        expect(await rowsOf(name, mine)).toEqual([]);
        expect(await rowsOf(name, other)).toEqual(others);
      },
    );

    test.each(tables)("cannot write rows of another tenant into %s", async (name) => {
      const [mine, other] = [newTenant(), newTenant()];
      await fill(mine);
      const before = await rowsOf(name, mine);
      const asOther = (statement: string) =>
        withTenant(tenants, other, (client) => client.query(statement, [mine]));
      const forged = `insert into ${table(name)} select (json_populate_record(e, json_build_object('tenant_id', $1::uuid))).* from ${table(name)} e`;
      await expect(asOther(forged)).resolves.toMatchObject({ rowCount: 0 });
      await fill(other);
      await expect(asOther(forged)).rejects.toThrow(DatabasePermissionError);
      await expect(asOther(`update ${table(name)} set tenant_id = $1::uuid`)).rejects.toThrow(
        DatabasePermissionError,
      );
      expect(await rowsOf(name, mine)).toEqual(before);
    });

    test.each(tables)("have nothing of %s without a tenant", async (name) => {
      await fill(newTenant());
      const client = await database.pool.connect();
      try {
        for (const setting of ["", "set local app.tenant = '';"]) {
          const role = tenants.role === null ? "" : `set local role ${tenants.role};`;
          await client.query(`begin; ${role} ${setting}`);
          expect((await client.query(`select from ${table(name)}`)).rows).toEqual([]);
          await client.query("rollback");
        }
      } finally {
        client.release();
      }
    });

    test("have nothing of a partition, by whatever way", async () => {
      const tenant = newTenant();
      await fill(tenant);
      for (const partition of ["memory_entry_", "memory_vector_"].flatMap((name) =>
        Array.from({ length: 8 }, (_, at) => name + at),
      )) {
        const read = await withTenant(tenants, tenant, (client) =>
          client.query(`select from ${table(partition)}`),
        ).catch((error: unknown) => error);
        const nothing = { rows: [] };
        expect(read).toMatchObject(subject.hasRole ? { sqlState: "42501" } : nothing);
      }
    });

    test("keep what a transaction wrote only if all of it went well", async () => {
      const tenant = newTenant();
      const model = `insert into ${table("memory_model")} values ($1::uuid, 'm', 1)`;
      const count = async () => (await rowsOf("memory_model", tenant)).length;
      await expect(
        withTenant(tenants, tenant, async (client) => {
          await client.query(model, [tenant]);
          throw new RangeError("changed its mind");
        }),
      ).rejects.toThrow(RangeError);
      await expect(
        withTenant(tenants, tenant, async (client) => {
          await client.query(model, [tenant]);
          await client.query("select 1 / 0").catch(() => undefined);
        }),
      ).rejects.toThrow(TransactionFailedError);
      expect(await count()).toBe(0);
      await withTenant(tenants, tenant, (client) => client.query(model, [tenant]));
      expect(await count()).toBe(1);
    });

    test.each(["", "' or true; --", "00000000-0000-0000-0000-00000000000A"])(
      "cannot be named %j",
      async (id) => {
        await expect(withTenant(tenants, id, async () => 1)).rejects.toThrow(InvalidTenantError);
      },
    );
  });
}
