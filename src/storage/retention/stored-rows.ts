import { z } from "zod";
import { StratagraphError } from "../../errors.ts";
import type { PartitionedTable } from "../platform/partitions.ts";
import type { PlatformTables } from "../platform/platform.ts";
import { type Queryable, quoteIdentifier } from "../pool.ts";
import { withTenant } from "../tenant.ts";

/** Tables of which rows are archived: those of days, and the calls of threads. */
export type ArchivedTable = PartitionedTable | "tool_journal";

/** A row with its values as the database writes them, so that it comes back byte for byte. */
export interface StoredRow {
  readonly table: ArchivedTable;
  readonly row: Readonly<Record<string, string | null>>;
  /** SHA-256 of the whole row as text, in hex. */
  readonly hash: string;
}

const archivedTables = [
  "turn",
  "tool_call",
  "llm_call",
  "run_event",
  "audit_log",
  "tool_journal",
] as const;

/** A line of an archive that holds a row. */
export const rowLine = z.strictObject({
  table: z.enum(archivedTables),
  row: z.record(z.string(), z.string().nullable()),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** A row of an archive cannot be stored in the tables as they are now. */
class ArchivedRowError extends StratagraphError {
  readonly code = "archived_row";
  override readonly kind = "run";

  constructor(
    readonly table: string,
    readonly column: string,
  ) {
    super(
      `Expected the table ${table} to have the column ${JSON.stringify(column)}, as a row of an archive does. ` +
        "Restore it with the version of the package that wrote it.",
    );
  }
}

/** What names a row, in the order of an index. The tenant's id comes before. */
const keys: Readonly<Record<ArchivedTable, readonly string[]>> = {
  turn: ["at", "id"],
  tool_call: ["at", "id"],
  llm_call: ["at", "id"],
  run_event: ["at", "id"],
  audit_log: ["at", "id"],
  tool_journal: ["thread_id", "run", "step", "call_id"],
};

/** Rows that are read, deleted or inserted with one statement. */
const batch = 100;

/** The rows of one day, or of one thread. */
export type RowScope =
  | { readonly table: PartitionedTable; /** `YYYY-MM-DD`, UTC. */ readonly day: string }
  | { readonly table: "tool_journal"; readonly threadId: string };

/** Rows of tenants as texts, on their way into archives and back. */
export class StoredRows {
  constructor(private readonly tables: Pick<PlatformTables, "tenants" | "schema">) {}

  /** Yields rows in the order of their keys, at most `most`. Each portion is as it was at one moment. */
  async *read(
    tenantId: string,
    scope: RowScope,
    most = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<StoredRow> {
    const { table } = scope;
    let after: readonly (string | null | undefined)[] | undefined;
    for (let left = most; left > 0;) {
      const limit = Math.min(left, batch);
      const found = await this.#inTenant(tenantId, async (client) => {
        const columns = await this.#columns(client, table);
        if (columns.size === 0) return [];
        const names = keys[table].map(quoteIdentifier);
        const scoped = scopeSql(scope);
        const places = keys[table].map(
          (name, at) => `$${at + 1 + scoped.values.length}::${columns.get(name)}`,
        );
        const texts = [...columns.keys()].map(
          (name) => `t.${quoteIdentifier(name)}::text as ${quoteIdentifier(name)}`,
        );
        const { rows } = await client.query<Record<string, string | null>>(
          `select ${hashSql} as "#hash", ${texts.join(", ")} from ${this.#name(table)} t where ${scoped.text}
          ${after === undefined ? "" : `and (${names.map((name) => `t.${name}`).join(", ")}) > (${places.join(", ")})`}
          order by ${names.map((name) => `t.${name}`).join(", ")} limit ${limit}`,
          [...scoped.values, ...(after ?? [])],
        );
        return rows;
      });
      for (const { "#hash": hash, ...row } of found) yield { table, row, hash: hash ?? "" };
      const last = found.at(-1);
      if (last === undefined || found.length < limit) return;
      after = keys[table].map((name) => last[name]);
      left -= found.length;
    }
  }

  /** Deletes the rows that are still as they were read, and returns how many were. */
  async delete(tenantId: string, scope: RowScope, rows: AsyncIterable<StoredRow>): Promise<number> {
    const { table } = scope;
    let deleted = 0;
    for await (const portion of portions(rows)) {
      deleted += await this.#inTenant(tenantId, async (client) => {
        const columns = await this.#columns(client, table);
        const scoped = scopeSql(scope);
        const given = [...keys[table], "#hash"];
        const params = given.map((_, at) => `$${at + 1 + scoped.values.length}::text[]`);
        const same = keys[table].map(
          (name) => `t.${quoteIdentifier(name)} = g.${quoteIdentifier(name)}::${columns.get(name)}`,
        );
        const { rowCount } = await client.query(
          `delete from ${this.#name(table)} t using unnest(${params.join(", ")}) g(${given.map(quoteIdentifier).join(", ")})
          where ${scoped.text} and ${same.join(" and ")} and ${hashSql} = g."#hash"`,
          [
            ...scoped.values,
            ...keys[table].map((name) => portion.map(({ row }) => row[name])),
            portion.map(({ hash }) => hash),
          ],
        );
        return rowCount ?? 0;
      });
    }
    return deleted;
  }

  /**
   * Inserts rows, in the caller's transaction of the tenant.
   *
   * @throws ArchivedRowError, and the database's error for a row that is there
   */
  async insert(client: Queryable, rows: AsyncIterable<StoredRow>): Promise<number> {
    await client.query(exactTexts);
    let inserted = 0;
    for await (const portion of portions(rows)) {
      const table = portion[0]!.table;
      const columns = await this.#columns(client, table);
      const names = Object.keys(portion[0]!.row);
      const unknown = names.find((name) => !columns.has(name));
      if (unknown !== undefined) throw new ArchivedRowError(table, unknown);
      const quoted = names.map(quoteIdentifier);
      const params = names.map((_, at) => `$${at + 1}::text[]`);
      const values = names.map((name, at) => `g.${quoted[at]}::${columns.get(name)}`);
      const { rowCount } = await client.query(
        `insert into ${this.#name(table)} (${quoted.join(", ")})
        select ${values.join(", ")} from unnest(${params.join(", ")}) g(${quoted.join(", ")})`,
        names.map((name) => portion.map(({ row }) => row[name] ?? null)),
      );
      inserted += rowCount ?? 0;
    }
    return inserted;
  }

  /** Runs `work` as the tenant, with times as exact texts. */
  async #inTenant<T>(tenantId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    return withTenant(this.tables.tenants, tenantId, async (client) => {
      await client.query(exactTexts);
      return work(client);
    });
  }

  /** Columns and their types as SQL; none for a table that is not there. */
  async #columns(client: Queryable, table: ArchivedTable): Promise<ReadonlyMap<string, string>> {
    const { rows } = await client.query<{ name: string; type: string }>(
      `select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum`,
      [this.#name(table)],
    );
    return new Map(rows.map(({ name, type }) => [name, type]));
  }

  #name(table: ArchivedTable): string {
    return `${this.tables.schema}.${quoteIdentifier(table)}`;
  }
}

const exactTexts =
  "set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local extra_float_digits = 1; set local bytea_output = 'hex'";

const hashSql = "encode(sha256(convert_to(t::text, 'UTF8')), 'hex')";

function scopeSql(scope: RowScope): { readonly text: string; readonly values: readonly string[] } {
  if (scope.table === "tool_journal") return { text: "t.thread_id = $1", values: [scope.threadId] };
  // The session is in UTC.
  return {
    text: "t.at >= $1::date::timestamptz and t.at < ($1::date + 1)::timestamptz",
    values: [scope.day],
  };
}

/** Rows of one table, with the same columns, as many as one statement takes. */
async function* portions(rows: AsyncIterable<StoredRow>): AsyncGenerator<readonly StoredRow[]> {
  let portion: StoredRow[] = [];
  for await (const row of rows) {
    const [first] = portion;
    const isSame =
      first === undefined ||
      (first.table === row.table && Object.keys(first.row).join() === Object.keys(row.row).join());
    if (!isSame || portion.length === batch) {
      yield portion;
      portion = [];
    }
    portion.push(row);
  }
  if (portion.length > 0) yield portion;
}
