import type { Clock } from "../../clock.ts";
import { sleep } from "../../async.ts";
import { DatabasePermissionError, sqlStateOf } from "../errors.ts";
import { type Queryable, quoteIdentifier } from "../pool.ts";
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

interface DropOptions {
  readonly lockTimeoutMs?: number;
  readonly attempts?: number;
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
    options: DropOptions = {},
  ): Promise<DroppedDays> {
    checkDay(day);
    const { lockTimeoutMs = 500, attempts = 5 } = options;
    checkCount("lockTimeoutMs", lockTimeoutMs, { from: 1, to: 60_000 });
    const [dropped, busy]: [string[], string[]] = [[], []];
    for (const name of await this.#daysOf(table)) {
      if (name.slice(-8) >= day.replaceAll("-", "")) continue;
      const isDropped = await this.#drop(name, { lockTimeoutMs, attempts });
      (isDropped === false ? busy : dropped).push(name);
    }
    return { dropped, busy };
  }

  /** Makes the partitions of one day (`YYYY-MM-DD`, UTC), unless they are there. @throws InvalidValueError */
  async ensureDay(day: string): Promise<void> {
    await this.#ensureDays(checkDay(day), 0);
  }

  /**
   * Drops the partitions of a table that are older than yesterday and have no row of any tenant. Only the owner of the
   * tables can: other users drop nothing.
   */
  async dropEmpty(
    table: PartitionedTable,
    { lockTimeoutMs = 500, attempts = 5 }: DropOptions = {},
  ): Promise<DroppedDays> {
    const [dropped, busy]: [string[], string[]] = [[], []];
    const yesterday = dayOf(new Date(this.tables.clock.now().getTime() - 86_400_000));
    for (const name of await this.#daysOf(table)) {
      if (name.slice(-8) >= yesterday.replaceAll("-", "")) continue;
      if (!(await this.#isEmpty(table, name))) continue;
      const isEmpty = (client: Queryable) => this.#isEmpty(table, name, client);
      const isDropped = await this.#drop(name, { lockTimeoutMs, attempts, isEmpty });
      if (isDropped !== null) (isDropped ? dropped : busy).push(name);
    }
    return { dropped, busy };
  }

  /** Reads through the table: a partition itself shows no rows. */
  async #isEmpty(table: PartitionedTable, name: string, client?: Queryable): Promise<boolean> {
    const { tenants, schema } = this.tables;
    const day = name.slice(-8);
    const statement = {
      text: `select from ${schema}.${table} where at >= ($1::date)::timestamp at time zone 'UTC'
        and at < ($1::date + 1)::timestamp at time zone 'UTC' limit 1`,
      values: [day],
    };
    const { rows } = await (client?.query(statement) ?? queryAllTenants(tenants.pool, statement));
    return rows.length === 0;
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

  /**
   * Returns false for a partition that is in use.
   *
   * @param of.isEmpty asked while no one else can write to it; null is returned for one with rows, and for one that the
   *   user does not own
   */
  async #drop(
    name: string,
    {
      lockTimeoutMs,
      attempts,
      isEmpty,
    }: Required<DropOptions> & { readonly isEmpty?: (client: Queryable) => Promise<boolean> },
  ): Promise<boolean | null> {
    const { tenants, schema, clock } = this.tables;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await withAllTenants(tenants.pool, async (client) => {
          const partition = `${schema}.${quoteIdentifier(name)}`;
          await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
          if (isEmpty !== undefined) {
            await client.query(`lock table ${partition} in access exclusive mode`);
            if (!(await isEmpty(client))) return null;
          }
          await client.query(`drop table if exists ${partition}`);
          return true;
        });
      } catch (error) {
        if (isEmpty !== undefined && isOfOthers(error)) return null;
        if (sqlStateOf(error) !== LOCK_TIMEOUT) throw error;
        if (attempt >= attempts) return false;
        await sleep(lockTimeoutMs, { clock });
      }
    }
  }
}

/** The partition belongs to another user, or another process has dropped it. */
function isOfOthers(error: unknown): boolean {
  const state = error instanceof DatabasePermissionError ? error.sqlState : sqlStateOf(error);
  return state === "42501" || state === "42P01";
}

/** @throws InvalidValueError */
function checkDay(day: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day))) return day;
  throw new InvalidValueError("day", "a date as YYYY-MM-DD");
}

/** A check was violated: no partition takes the row. */
const NO_PARTITION = "23514";
const LOCK_TIMEOUT = "55P03";

/** The day of a time in UTC, as `YYYY-MM-DD`. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
