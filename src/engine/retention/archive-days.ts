import type { PartitionedTable } from "../../storage/platform/partitions.ts";
import type { PlatformTables } from "../../storage/platform/platform.ts";
import type { Archive, ArchiveLine, Archives } from "../../storage/retention/archives.ts";
import type { StoredRows } from "../../storage/retention/stored-rows.ts";
import { queryTenant } from "../../storage/tenant.ts";
import { archivedRows } from "./archive-threads.ts";

export interface DayArchiveParts {
  readonly tables: PlatformTables;
  readonly archives: Archives;
  readonly rows: StoredRows;
}

/** The rows of a tenant in a table on one day. */
export interface DueDay {
  readonly table: PartitionedTable;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
}

/** Rows of one archive. A day with more has several. */
const mostRows = 20_000;

/**
 * The first day of a tenant's rows that is over before a time, after a day. What was restored is left out while it is held
 * back.
 */
export async function nextDay(
  { tenants, schema, clock }: PlatformTables,
  tenantId: string,
  of: { readonly table: PartitionedTable; readonly before: Date; readonly after: string | null },
): Promise<DueDay | null> {
  // The day of the limit is not over.
  const end = of.before.toISOString().slice(0, 10);
  const { rows } = await queryTenant<{ day: string }>(tenants, tenantId, {
    text: `select ((at at time zone 'UTC')::date)::text as day from ${schema}.${of.table}
      where tenant_id = $1::uuid and at < ($2::date)::timestamp at time zone 'UTC'
        and ($3::date is null or at >= ($3::date + 1)::timestamp at time zone 'UTC')
        and not exists (select from ${schema}.archive a where a.tenant_id = $1::uuid and a.subject = $4
          and a.day = (at at time zone 'UTC')::date and a.state = 'restored' and a.hold_until > $5)
      order by at limit 1`,
    values: [tenantId, end, of.after, of.table, clock.now()],
  });
  const [row] = rows;
  return row === undefined ? null : { table: of.table, day: row.day };
}

/** Moves rows of a day into an archive, as many as one takes; null if there are none left. */
export async function archiveDay(
  parts: DayArchiveParts,
  tenantId: string,
  { table, day }: DueDay,
): Promise<Archive | null> {
  const stored = await parts.archives.write(
    tenantId,
    { subject: table, day },
    dayLines(parts, tenantId, { table, day }),
  );
  if (stored === null) return null;
  await settleDay(parts, stored);
  return stored;
}

/** Deletes the rows that a `stored` archive holds. Those that have changed since stay, and are archived anew. */
export async function settleDay(
  { rows, archives }: DayArchiveParts,
  archive: Archive,
): Promise<void> {
  const { subject, day, tenantId } = archive;
  if (subject === "thread" || day === null) throw new TypeError("an archive of a thread");
  await rows.delete(tenantId, { table: subject, day }, archivedRows(archives, archive));
  await archives.setState(archive, "archived");
}

/** Deletes the rows of a day without an archive, and returns how many there were. */
export async function deleteDay(
  { tables }: DayArchiveParts,
  tenantId: string,
  { table, day }: DueDay,
): Promise<number> {
  const { tenants, schema } = tables;
  for (let deleted = 0; ;) {
    const { rowCount } = await queryTenant(tenants, tenantId, {
      text: `delete from ${schema}.${table} t using (
          select at, id from ${schema}.${table} where tenant_id = $1::uuid
            and at >= ($2::date)::timestamp at time zone 'UTC' and at < ($2::date + 1)::timestamp at time zone 'UTC' limit $3
        ) old where t.tenant_id = $1::uuid and t.at = old.at and t.id = old.id`,
      values: [tenantId, day, mostRows],
    });
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < mostRows) return deleted;
  }
}

async function* dayLines(
  { rows }: Pick<DayArchiveParts, "rows">,
  tenantId: string,
  of: DueDay,
): AsyncGenerator<ArchiveLine> {
  for await (const stored of rows.read(tenantId, of, mostRows)) {
    const { id, at } = stored.row;
    yield {
      text: JSON.stringify(stored),
      row: { ...(id && { id }), ...(at && { at: timeOf(at) }) },
    };
  }
}

/** A time as Postgres writes it in UTC: `2026-01-02 03:04:05.678901+00`. */
function timeOf(text: string): Date {
  return new Date(text.replace(" ", "T").replace(/\+00$/, "Z"));
}
