import { StratagraphError } from "../../errors.ts";
import { type Queryable, quoteIdentifier } from "../pool.ts";
import { queryAllTenants, queryTenant, withAllTenants, withTenant } from "../tenant.ts";
import { checkCount, checkId } from "./checks.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";
import type { PlatformTables } from "./platform.ts";
import type { Archives } from "../retention/archives.ts";
import { rowLine } from "../retention/stored-rows.ts";

/** Rows by table, in the schema of the platform. */
export type RowCounts = Readonly<Record<string, number>>;

/** Rows of a tenant are still there after they were deleted: something writes them. */
class TenantRowsLeftError extends StratagraphError {
  readonly code = "tenant_rows_left";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    readonly tenantId: string,
    readonly left: RowCounts,
  ) {
    const tables = Object.entries(left).flatMap(([table, rows]) =>
      rows > 0 ? [`${table} (${rows})`] : [],
    );
    super(
      `Rows of tenant ${tenantId} were written while they were deleted: ${tables.join(", ")}. ` +
        "End its runs, then delete it again.",
    );
  }
}

/** Rounds over all tables. Each deletes what was written during the one before. */
const maxRounds = 5;

interface TenantTable {
  readonly name: string;
  /** The column of the tenant's id. */
  readonly column: string;
  /** Type of that column, as SQL. */
  readonly type: string;
}

/**
 * All rows of a tenant, in every table of the schema that has a column `tenant_id`, whatever part of the package made
 * it. For operators.
 */
export class TenantRows {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
    private readonly archives: Pick<Archives, "list" | "lines" | "removeTenant">,
  ) {}

  /** Counts the rows of a tenant in each table. */
  async count(tenantId: string): Promise<RowCounts> {
    const id = checkId("tenant", tenantId);
    // Not as upkeep: some tables show no rows to their owner without a tenant.
    return withTenant(this.tables.tenants, id, async (client) => {
      const counts: Record<string, number> = {};
      for (const table of await this.#find(client)) {
        const { rows } = await client.query<{ rows: string }>(
          `select count(*) as rows from ${this.#from(table)}`,
          [id],
        );
        counts[table.name] = Number(rows[0]?.rows ?? 0);
      }
      return counts;
    });
  }

  /**
   * Deletes a tenant with everything of it, archives included, in transactions of at most `batch` rows (1 to 100,000, default 5,000). It
   * suspends the tenant first, and reads every table at the end. Returns how many rows were deleted; all 0 for an unknown
   * tenant. After an interruption the next call deletes the rest.
   *
   * @throws TenantRowsLeftError if rows were written all the time; NoArchiveTargetError, ArchiveTargetError
   */
  async delete(tenantId: string, { batch = 5_000 } = {}): Promise<RowCounts> {
    const id = checkId("tenant", tenantId);
    checkCount("batch", batch, { from: 1, to: 100_000 });
    const { tenants, schema, clock } = this.tables;
    await queryAllTenants(tenants.pool, {
      text: `update ${schema}.tenant set suspended_at = coalesce(suspended_at, $2) where id = $1::uuid`,
      values: [id, clock.now()],
    });
    // Before the manifests that name them.
    await this.archives.removeTenant(id);
    const deleted: Record<string, number> = {};
    for (let round = 0; round < maxRounds; round += 1) {
      const found = await withAllTenants(tenants.pool, (client) => this.#find(client));
      for (const table of found) {
        deleted[table.name] ??= 0;
        for (let rows = batch; rows >= batch;) {
          rows = await this.#deleteSome(table, id, batch);
          deleted[table.name]! += rows;
        }
      }
      const left = await this.count(id);
      if (Object.values(left).some((rows) => rows > 0)) continue;
      // What a round that was under way has written meanwhile.
      await this.archives.removeTenant(id);
      return deleted;
    }
    throw new TenantRowsLeftError(id, await this.count(id));
  }

  /**
   * Writes all rows of a tenant as lines of JSON, `{"table":…,"row":…}` each, with sealed values opened, and without the
   * values of secrets. Each table is read as it was at one moment. Lines of archives follow, with the id of their archive:
   * `{"archive":…,"table":…,"row":…}` for rows and calls, `{"archive":…,"thread":…}` for the lines of an exported thread.
   * Returns how many rows of tables were written.
   *
   * @throws NoArchiveTargetError, DamagedArchiveError
   */
  async export(tenantId: string, write: (line: string) => Promise<void>): Promise<RowCounts> {
    const id = checkId("tenant", tenantId);
    const { tenants } = this.tables;
    const found = await withAllTenants(tenants.pool, (client) => this.#find(client));
    const counts: Record<string, number> = {};
    for (const table of found.toReversed()) {
      counts[table.name] = 0;
      await withTenant(tenants, id, async (client) => {
        await client.query(
          `declare tenant_rows no scroll cursor for select row_to_json(e)::text as line from ${this.#from(table)}`,
          [id],
        );
        for (;;) {
          const { rows } = await client.query<{ line: string }>("fetch 200 from tenant_rows");
          for (const { line } of rows) await write(this.#line(table.name, line));
          counts[table.name]! += rows.length;
          if (rows.length === 0) return;
        }
      });
    }
    await this.#exportArchives(id, write);
    return counts;
  }

  async #exportArchives(tenantId: string, write: (line: string) => Promise<void>): Promise<void> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await this.archives.list(tenantId, { limit: 50, ...(cursor && { cursor }) });
      for (const archive of page.items) {
        // Others have objects that are not whole, or rows that are in the tables as well.
        if (archive.state !== "archived" && archive.state !== "restoring") continue;
        for await (const line of this.archives.lines(archive)) {
          const isThread = line.startsWith('{"thread":');
          await write(
            isThread
              ? `{"archive":"${archive.id}",${line.slice(1)}\n`
              : this.#archivedLine(archive.id, line),
          );
        }
      }
      cursor = page.next;
    }
  }

  #archivedLine(archive: string, line: string): string {
    const { table, row: texts } = rowLine.parse(JSON.parse(line));
    const row = Object.entries(texts).map(([column, text]) => {
      const isSealed = text?.startsWith('"sealed:') ?? false;
      return [column, isSealed ? this.values.openJson(JSON.parse(text ?? "null")) : text];
    });
    return `${JSON.stringify({ archive, table, row: Object.fromEntries(row) as unknown })}\n`;
  }

  #line(table: string, text: string): string {
    const row = JSON.parse(text) as Record<string, unknown>;
    // Secrets of tenants are used, and never read.
    if (table === "secret") row["value"] = null;
    for (const [column, value] of Object.entries(row)) {
      if (typeof value === "string" && value.startsWith("sealed:"))
        row[column] = this.values.openJson(value);
    }
    return `${JSON.stringify({ table, row })}\n`;
  }

  /** Tables of tenants. Those that reference others come first, as they were made after them. */
  async #find(client: Queryable): Promise<readonly TenantTable[]> {
    const { rows } = await client.query<TenantTable>(
      `select c.relname::text as name, a.attname::text as "column", format_type(a.atttypid, a.atttypmod) as type
      from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
        and a.attname = case when c.oid = $1::regclass then 'id' else 'tenant_id' end
      where c.relkind in ('r', 'p') and not c.relispartition
        and c.relnamespace = (select relnamespace from pg_class where oid = $1::regclass)
      order by c.oid desc`,
      [`${this.tables.schema}.tenant`],
    );
    return rows;
  }

  #from({ name, column, type }: TenantTable): string {
    return `${this.tables.schema}.${quoteIdentifier(name)} e where e.${quoteIdentifier(column)} = $1::${type}`;
  }

  async #deleteSome(table: TenantTable, tenantId: string, batch: number): Promise<number> {
    const from = this.#from(table);
    const { rowCount } = await queryTenant(this.tables.tenants, tenantId, {
      text: `delete from ${from} and (e.tableoid, e.ctid) in (select e.tableoid, e.ctid from ${from} limit ${batch})`,
      values: [tenantId],
    });
    return rowCount ?? 0;
  }
}
