import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { usePlatform } from "../../contract/platform/subject.ts";
import { tenantDataContract } from "../../contract/platform/tenant-data.ts";
import { type Database, openDatabase } from "../../../src/storage/database.ts";
import { type TestDatabase, useDatabase } from "../../helpers/databases.ts";

tenantDataContract(usePlatform(useDatabase("postgres")));

describe("for a user who owns the tables and reads no rows without a tenant", () => {
  const database = useDatabase("postgres", { hasTables: false });
  const user = `stratagraph_test_${randomBytes(6).toString("hex")}`;
  let owned: Database;

  beforeAll(async () => {
    if (!database.available) return;
    const url = new URL(database.options.url!);
    const name = url.pathname.slice(1);
    await database.shared.pool.query(
      `create role ${user} login; grant create on database ${name} to ${user}`,
    );
    url.username = user;
    owned = await openDatabase({ ...database.options, url: url.toString() });
  });
  afterAll(async () => {
    if (!database.available) return;
    await owned.close();
    await database.shared.pool.query(`drop owned by ${user}; drop role ${user}`);
  });

  const asOwner: TestDatabase = {
    kind: "postgres",
    available: database.available,
    open: () => database.open(),
    get options() {
      return database.options;
    },
    get shared() {
      return owned;
    },
  };
  tenantDataContract(usePlatform(asOwner, { administrator: database }));
});
