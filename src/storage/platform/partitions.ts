import { withAllTenants } from "../tenant.ts";
import type { PlatformTables } from "./platform.ts";

/** Tables with a partition for each day in UTC. */
export const partitionedTables = [
  "turn",
  "tool_call",
  "llm_call",
  "run_event",
  "audit_log",
] as const;

export type PartitionedTable = (typeof partitionedTables)[number];

/** The daily partitions of the platform's tables. Statements run as the user who owns the tables. */
export class Partitions {
  constructor(private readonly tables: Pick<PlatformTables, "tenants" | "schema" | "clock">) {}

  /** Makes the partitions of today and the days after it, unless they are there. `days`: 0 to 366, default 7. */
  async ensure(days = 7): Promise<void> {
    const { tenants, schema, clock } = this.tables;
    await withAllTenants(tenants.pool, (client) =>
      client.query(
        `select ${schema}.ensure_days(name, $2::integer, $3::date) from unnest($1::text[]) name`,
        [partitionedTables, days, dayOf(clock.now())],
      ),
    );
  }
}

/** The day of a time in UTC, as `YYYY-MM-DD`. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
