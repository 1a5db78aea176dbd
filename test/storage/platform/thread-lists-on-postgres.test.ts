import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../../src/storage/database.ts";
import { loadMigrations, migrate } from "../../../src/storage/migrate.ts";
import { usePlatform } from "../../contract/platform/subject.ts";
import { threadListsContract } from "../../contract/platform/thread-lists.ts";
import { useDatabase } from "../../helpers/databases.ts";

const database = useDatabase("postgres");

threadListsContract(usePlatform(database));

describe.skipIf(!database.available)("the migration of lists of threads", () => {
  test("writes the agents of stored threads as an owner who is no superuser", async () => {
    const { pool } = database.shared;
    const role = `stratagraph_test_${randomBytes(6).toString("hex")}`;
    await pool.query(`create role ${role} login; create schema owned authorization ${role}`);
    const url = new URL(database.options.url!);
    url.username = role;
    const owner = await openDatabase({ ...database.options, url: url.toString() });
    try {
      const folder = new URL("../../../src/storage/platform/migrations", import.meta.url);
      const all = await loadMigrations(folder);
      const given = { schema: "owned", name: "platform" };
      const before = all.filter(({ number }) => number < 14);
      await migrate(owner.pool, { ...given, migrations: before });
      const [tenant, agent, version] = ["a", "b", "c"].map(
        (one) => `${one.repeat(8)}-0000-7000-8000-000000000000`,
      );
      await pool.query(
        `insert into owned.tenant (id, name) values ('${tenant}', 't');
        insert into owned.agent_definition (id, tenant_id, agent_id, name, version, definition)
          values ('${version}', '${tenant}', '${agent}', 'a', '1.0.0', '{}');
        insert into owned.agent_instance (id, tenant_id, definition_id, agent, thread_id)
          values ('${version}', '${tenant}', '${version}', 'a', 't')`,
      );
      await migrate(owner.pool, { ...given, migrations: all });
      const { rows } = await pool.query("select agent_id from owned.agent_instance");
      expect(rows).toEqual([{ agent_id: agent }]);
    } finally {
      await owner.close();
      await pool.query(`drop schema owned cascade; drop owned by ${role}; drop role ${role}`);
    }
  });
});
