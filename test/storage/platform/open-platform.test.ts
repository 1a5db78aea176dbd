import { expect, test } from "vitest";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { useDatabase } from "../../helpers/databases.ts";

for (const kind of ["pglite", "postgres"] as const) {
  const database = useDatabase(kind);
  test.skipIf(!database.available)(`opens on ${kind}`, async () => {
    for (const schema of [undefined, `it's "odd" {schema} $$ %I`]) {
      const options = schema === undefined ? {} : { schema };
      const platform = await openPlatform(database.shared, options);
      await Promise.all([platform.partitions.ensure(), platform.partitions.ensure(12)]);
      const { rows } = await database.shared.pool.query(
        "select relname::text from pg_class where relnamespace = (select oid from pg_namespace where nspname = $1) and relname like 'turn_2%' and relkind = 'r'",
        [schema ?? "stratagraph"],
      );
      expect(rows.length).toBe(13);
    }
  });
}
