import { createHash } from "node:crypto";
import { quoteIdentifier, type Queryable } from "../../../src/storage/pool.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import type { Database } from "../../../src/storage/database.ts";
import { type Knowledge, markersIn, type TenantName } from "./knowledge.ts";

/** Tables whose rows of an idle tenant may change: sums that are written late, and deliveries that are tried again. */
const upkeepTables = new Set(["usage_day", "webhook_delivery"]);

export interface StoredRows {
  /** Rows that hold texts of another tenant, or refer to a row of it. */
  readonly misplaced: readonly string[];
  /** Hashes of the rows of one tenant, by table. */
  readonly rowsOf: (tenant: TenantName) => Readonly<Record<string, readonly string[]>>;
  readonly count: number;
}

interface Table {
  readonly schema: string;
  readonly name: string;
  /** Of the tenant's id. */
  readonly column: string | null;
  /** Other columns of ids, which refer to rows. */
  readonly ids: readonly string[];
}

/** Reads all rows of all tables as the user who owns them. `tenants`: names by id. */
export async function readRows(
  { pool }: Pick<Database, "pool">,
  tenants: ReadonlyMap<string, TenantName>,
  knowledge: Knowledge,
): Promise<StoredRows> {
  const misplaced: string[] = [];
  const rows = new Map<TenantName, Record<string, string[]>>();
  let count = 0;
  await withAllTenants(pool, async (client) => {
    for (const table of await tablesOf(client)) {
      const name = `${table.schema}.${table.name}`;
      for await (const { owner, line } of linesOf(client, table)) {
        count += 1;
        const tenant = owner === null ? undefined : tenants.get(owner);
        const row = JSON.parse(line) as Record<string, unknown>;
        const owners = table.ids.flatMap((id) => knowledge.ownerOf(String(row[id])) ?? []);
        if ([...storedMarkers(line), ...owners].some((of) => of !== tenant))
          misplaced.push(`${name} of ${owner ?? "all tenants"}: ${line.slice(0, 1500)}`);
        if (tenant === undefined || upkeepTables.has(table.name)) continue;
        const own = rows.get(tenant) ?? {};
        rows.set(tenant, own);
        (own[name] ??= []).push(createHash("sha256").update(line).digest("base64url"));
      }
    }
  });
  const sorted = (tables: Record<string, string[]>) =>
    Object.fromEntries(
      Object.entries(tables).map(([name, hashes]) => [name, hashes.toSorted()] as const),
    );
  return { misplaced, count, rowsOf: (tenant) => sorted(rows.get(tenant) ?? {}) };
}

/** Tenants whose texts are in a row. A column of bytes is hexadecimal there. */
function storedMarkers(line: string): TenantName[] {
  const bytes = [...line.matchAll(/6d61726b6572(6[123])/g)].map(
    ([, hex = ""]) => String.fromCodePoint(Number.parseInt(hex, 16)) as TenantName,
  );
  return [...markersIn(line).map(({ tenant }) => tenant), ...bytes];
}

async function tablesOf(client: Queryable): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `select n.nspname::text as schema, c.relname::text as name, (select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and not a.attisdropped and a.attname = case when c.relname = 'tenant' then 'id' else 'tenant_id' end) as "column",
      array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and not a.attisdropped
        and a.atttypid = 'uuid'::regtype and a.attname <> 'tenant_id') as ids
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|information_schema)' order by 1, 2`,
  );
  return rows;
}

async function* linesOf(
  client: Queryable,
  { schema, name, column }: Table,
): AsyncGenerator<{ owner: string | null; line: string }> {
  const owner = column === null ? "null" : `e.${quoteIdentifier(column)}::text`;
  await client.query(
    `declare fuzz_rows no scroll cursor for select ${owner} as owner, row_to_json(e)::text as line
    from ${quoteIdentifier(schema)}.${quoteIdentifier(name)} e`,
  );
  for (;;) {
    const { rows } = await client.query<{ owner: string | null; line: string }>(
      "fetch 500 from fuzz_rows",
    );
    yield* rows;
    if (rows.length === 0) break;
  }
  await client.query("close fuzz_rows");
}
