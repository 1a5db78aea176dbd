import type { Clock } from "../../clock.ts";
import { sleep } from "../../async.ts";
import { sqlStateOf } from "../errors.ts";
import { quoteIdentifier } from "../pool.ts";
import { queryAllTenants, withAllTenants } from "../tenant.ts";
import { checkCount, timeOfId } from "./checks.ts";
import { InvalidValueError } from "./errors.ts";
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

/** What {@link Partitions.dropBefore} did. */
export interface DroppedDays {
  /** Names of partitions. */
  readonly dropped: readonly string[];
  /** Those that others used each time: the next call tries them again. */
  readonly busy: readonly string[];
}

/** The daily partitions of the platform's tables. Statements run as the user who owns the tables. */
export class Partitions {
  constructor(
    private readonly tables: Pick<PlatformTables, "tenants" | "schema"> & {
      readonly clock: Clock;
    },
  ) {}

  /** Makes the partitions of today and the days after it, unless they are there. `days`: 0 to 366, default 7. */
  async ensure(days = 7): Promise<void> {
    checkCount("days", days, { from: 0, to: 366 });
    await this.#ensureDays(dayOf(this.tables.clock.now()), days);
  }

  /**
   * Runs a transaction that inserts rows of these ids. If the day of one has no partition, the partition is created and the
   * transaction runs once more.
   */
  async withDays<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== NO_PARTITION) throw error;
      for (const day of new Set(ids.map((id) => dayOf(timeOfId(id)))))
        await this.#ensureDays(day, 0);
      return work();
    }
  }

  /**
   * Drops the partitions of a table that hold only days before `day` (`YYYY-MM-DD`, UTC), with all their rows. Each waits at
   * most `lockTimeoutMs` for readers and writers of the table, who wait for it no longer than that.
   *
   * @throws InvalidValueError
   */
  async dropBefore(
    table: PartitionedTable,
    day: string,
    options: { readonly lockTimeoutMs?: number; readonly attempts?: number } = {},
  ): Promise<DroppedDays> {
    if (!/^\d{4}-\d\d-\d\d$/.test(day)) throw new InvalidValueError("day", "a date as YYYY-MM-DD");
    const { lockTimeoutMs = 500, attempts = 5 } = options;
    checkCount("lockTimeoutMs", lockTimeoutMs, { from: 1, to: 60_000 });
    const [dropped, busy]: [string[], string[]] = [[], []];
    for (const name of await this.#daysOf(table)) {
      if (name.slice(-8) >= day.replaceAll("-", "")) continue;
      const isDropped = await this.#drop(name, { lockTimeoutMs, attempts });
      (isDropped ? dropped : busy).push(name);
    }
    return { dropped, busy };
  }

  async #ensureDays(first: string, days: number): Promise<void> {
    const { tenants, schema } = this.tables;
    await queryAllTenants(tenants.pool, {
      text: `select ${schema}.ensure_days(name, $2::integer, $3::date) from unnest($1::text[]) name`,
      values: [partitionedTables, days, first],
    });
  }

  /** Names of a table's partitions, oldest first. */
  async #daysOf(table: PartitionedTable): Promise<readonly string[]> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryAllTenants<{ name: string }>(tenants.pool, {
      text: `select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = $1::regclass and c.relname ~ $2 order by 1`,
      values: [`${schema}.${table}`, `^${table}_\\d{8}$`],
    });
    return rows.map(({ name }) => name);
  }

  async #drop(
    name: string,
    { lockTimeoutMs, attempts }: { readonly lockTimeoutMs: number; readonly attempts: number },
  ): Promise<boolean> {
    const { tenants, schema, clock } = this.tables;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await withAllTenants(tenants.pool, async (client) => {
          await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
          await client.query(`drop table if exists ${schema}.${quoteIdentifier(name)}`);
        });
        return true;
      } catch (error) {
        if (sqlStateOf(error) !== LOCK_TIMEOUT) throw error;
        if (attempt >= attempts) return false;
        await sleep(lockTimeoutMs, { clock });
      }
    }
  }
}

/** A check was violated: no partition takes the row. */
const NO_PARTITION = "23514";
const LOCK_TIMEOUT = "55P03";

/** The day of a time in UTC, as `YYYY-MM-DD`. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
