import { beforeEach } from "vitest";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";
import { withAllTenants } from "../../src/storage/tenant.ts";
import type { TestDatabase } from "./databases.ts";

/** Ends before each test what runs, timers and schedules tests before it have left, which a server would execute with its own model. */
export function useEmptyQueue(database: TestDatabase): void {
  beforeEach(async () => {
    if (!database.available) return;
    const { tables } = await openPlatform(database.shared);
    await withAllTenants(tables.tenants.pool, async (client) => {
      await client.query(
        `update ${tables.schema}.run set state = 'cancelled', ended_at = now() where state in ('queued', 'running')`,
      );
      await client.query(`delete from ${tables.schema}.timer`);
      await client.query(`delete from ${tables.schema}.schedule`);
    });
  });
}
