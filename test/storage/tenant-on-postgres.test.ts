import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { DatabasePermissionError } from "../../src/storage/errors.ts";
import { openDatabaseMemory } from "../../src/storage/memory/database-memory.ts";
import { openTenantPool, TenantIsolationError, withTenant } from "../../src/storage/tenant.ts";
import { type IsolationSubject, tenantIsolationContract } from "../contract/tenant-isolation.ts";
import { threadIsolationContract } from "../contract/thread-isolation.ts";
import { newTenant } from "../contract/memory-store.ts";
import { useDatabase } from "../helpers/databases.ts";
import { hasPgvector } from "../helpers/pgvector.ts";

const database = useDatabase("postgres");
const elsewhere = useDatabase("postgres");
const available = database.available && (await hasPgvector());
const opened: Database[] = [];
const roles: string[] = [];

/** A user of this file alone, and the database as that user. */
async function openAs(attributes: string, rights = "create"): Promise<[Database, string]> {
  const user = `stratagraph_test_${randomBytes(6).toString("hex")}`;
  const name = new URL(database.options.url!).pathname.slice(1);
  await database.shared.pool.query(
    `create role ${user} login ${attributes}; grant ${rights} on database ${name} to ${user}`,
  );
  roles.push(user);
  const url = new URL(database.options.url!);
  url.username = user;
  const own = await openDatabase({ ...database.options, url: url.toString() });
  opened.push(own);
  return [own, user];
}

afterAll(async () => {
  await Promise.all(opened.map((own) => own.close()));
  for (const role of roles) {
    for (const { available: isThere, shared } of [database, elsewhere])
      if (isThere) await shared.pool.query(`drop owned by ${role}`);
    await database.shared.pool.query(`drop role ${role}`);
  }
});

const subjects: readonly IsolationSubject[] = [
  {
    name: "of a superuser",
    available,
    database: async () => database.shared,
    hasRole: true,
  },
  {
    name: "of a user who owns the tables and has no role for them",
    available,
    database: async () => {
      const [own] = await openAs("");
      return own;
    },
    hasRole: false,
  },
];
for (const subject of subjects) {
  tenantIsolationContract(subject);
  threadIsolationContract(subject);
}

threadIsolationContract({
  name: "of a user who bypasses row-level security",
  available: database.available,
  database: async () => {
    const [own, user] = await openAs("bypassrls");
    // Made here where no other file has made it on this server.
    await new PostgresCheckpointer(database.shared.pool, { schema: "first" }).setup();
    await database.shared.pool.query(`grant stratagraph_tenant to ${user}`);
    return own;
  },
  hasRole: true,
});

describe.skipIf(!available)("the role of tenants", () => {
  const schema = "roles";
  const tables = ["memory_entry"];

  test("is made once, though users of two databases race for it", async () => {
    const role = `stratagraph_test_${randomBytes(6).toString("hex")}`;
    const databases = [
      database.shared,
      elsewhere.shared,
      await database.open(),
      await elsewhere.open(),
    ];
    await Promise.all(databases.map((one) => openDatabaseMemory(one, { schema }).setup()));
    const opening = databases.map(({ pool }) => openTenantPool(pool, { schema, tables, role }));
    expect((await Promise.all(opening)).map((one) => one.role)).toEqual([role, role, role, role]);
    roles.push(role);
  });

  test("is used by a user who bypasses row-level security and was given it, and by no other", async () => {
    await openDatabaseMemory(database.shared, { schema }).setup();
    const [own, user] = await openAs("bypassrls", "connect");
    const isolation = openTenantPool(own.pool, { schema, tables });
    await expect(isolation).rejects.toThrow(TenantIsolationError);
    await expect(isolation).rejects.toThrow(`grant "stratagraph_tenant" to "${user}"`);
    await database.shared.pool.query(`grant stratagraph_tenant to ${user}`);
    const tenants = await openTenantPool(own.pool, { schema, tables });
    expect(tenants.role).toBe("stratagraph_tenant");
    await withTenant(tenants, newTenant(), (client) =>
      client.query("select from roles.memory_entry"),
    );
  });

  test("is not needed to forget what was never remembered", async () => {
    const [own] = await openAs("", "connect");
    const store = openDatabaseMemory(own, { schema: "nowhere" }).forTenant(newTenant());
    expect(await store.forget({ threadId: "t" })).toMatchObject({ entries: 0, archived: 0 });
    await expect(store.count({})).rejects.toThrow(DatabasePermissionError);
  });

  test("is refused if row-level security does not hold for it", async () => {
    const role = `stratagraph_test_${randomBytes(6).toString("hex")}`;
    await database.shared.pool.query(`create role ${role} bypassrls`);
    roles.push(role);
    await openDatabaseMemory(database.shared, { schema }).setup();
    await expect(openTenantPool(database.shared.pool, { schema, tables, role })).rejects.toThrow(
      "does as well",
    );
  });
});
