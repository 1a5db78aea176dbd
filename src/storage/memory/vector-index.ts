import { createHash } from "node:crypto";
import { isZero } from "../../memory/check-entry.ts";
import type { MemoryVector } from "../../memory/entry.ts";
import type { NearestEntry } from "../../memory/store.ts";
import { DatabasePermissionError, sqlStateOf } from "../errors.ts";
import { loadMigrations, migrate } from "../migrate.ts";
import { type DatabasePool, quoteIdentifier } from "../pool.ts";
import { conditionOf, fromBytes, Values } from "./rows.ts";
import { bySimilarity, type ScanOptions, scanVectors } from "./scan-vectors.ts";
import type { TenantTransaction, VectorTable } from "./transaction.ts";

/** Entries of the index that a search visits at most, where its filter leaves out many. */
const maxVisited = 100_000;

/** Vectors from before the index that a search adds to it. */
const catchUpPage = 500;

/** Milliseconds to wait for a table, so that making an index does not hold up others behind it. */
const lockTimeout = 2_000;

/** Vectors searched by pgvector, in a table next to that of the entries. */
export class VectorIndex implements VectorTable {
  /** Where each model's vectors of a tenant go: "model/dimensions/tenant". */
  readonly #ready = new Set<string>();
  /** Partitions and models whose index cannot be made now. */
  readonly #given = new Set<string>();
  /** Filters that are known to select many entries. */
  readonly #large = new Set<string>();

  constructor(
    private readonly pool: DatabasePool,
    private readonly names: {
      readonly schema: string;
      readonly extension: string;
      readonly exactUpTo: number;
    },
  ) {}

  /**
   * Makes the index of a model in the tenant's partition after the model's first vectors: it costs a few milliseconds with
   * each vector then, and no write ever waits until many are indexed. Without the right to make it, where the table stays
   * locked, and where making it fails, vectors are compared one by one. It never rejects: the vectors are committed.
   */
  async prepare(tenantId: string, vectors: readonly (MemoryVector | null | undefined)[]) {
    for (const one of vectors) {
      if (!one || isZero(one.vector)) continue;
      const { model, vector } = one;
      const key = `${model}/${vector.length}/${tenantId}`;
      if (this.#ready.has(key)) continue;
      // After a failure, the next vectors try again.
      if (await this.#makeIndex(tenantId, model, vector.length)) this.#ready.add(key);
    }
  }

  /** Returns whether there is nothing left to do. */
  async #makeIndex(tenantId: string, model: string, dimensions: number): Promise<boolean> {
    const { schema, extension } = this.names;
    const client = await this.pool.connect().catch(() => null);
    if (client === null) return false;
    try {
      const { rows } = await client.query<{ partition: string }>(
        `select c.relname as partition from generate_series(0, ${partitions - 1}) remainder
        join pg_class c on c.relname = 'memory_vector_' || remainder
        join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
        where satisfies_hash_partition($2::regclass, ${partitions}, remainder, $3::uuid)`,
        [schema, `${quoteIdentifier(schema)}.memory_vector`, tenantId],
      );
      const { partition } = rows[0]!;
      const hash = createHash("sha256")
        .update(JSON.stringify([model, dimensions]))
        .digest("hex");
      const name = `${partition}_${hash.slice(0, 16)}`;
      if (this.#given.has(name)) return true;
      this.#given.add(name);
      const found = await client.query(
        "select to_regclass($1) as index where to_regclass($1) is not null",
        [`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`],
      );
      if (found.rows.length > 0) return true;
      // The name of a model is any text: the server makes the literal.
      const statement = await client.query<{ sql: string }>(
        `select format('create index if not exists %I on %I.%I using hnsw ((embedding::%I.halfvec(%s)) %I.halfvec_cosine_ops)
          where model = %L and dimensions = %s', $1::text, $2::text, $3::text, $4::text, $5::integer, $4::text, $6::text, $5::integer) as sql`,
        [name, schema, partition, extension, dimensions, model],
      );
      await client.query(
        `begin; set local lock_timeout = ${lockTimeout}; select pg_advisory_xact_lock(${INDEX_LOCK}); ${statement.rows[0]!.sql}; commit`,
      );
      return true;
    } catch (error) {
      await client.query("rollback").catch(() => undefined);
      return error instanceof DatabasePermissionError || expected.has(sqlStateOf(error) ?? "");
    } finally {
      client.release();
    }
  }

  /** Writes the vectors of entries that are there; null removes one. A vector without direction is near to nothing. */
  async write(
    { client, tenantId }: TenantTransaction,
    vectors: ReadonlyMap<string, MemoryVector | null>,
  ): Promise<void> {
    const table = this.#table;
    const removed: string[] = [];
    const rows: object[] = [];
    for (const [id, one] of vectors) {
      if (one === null || isZero(one.vector)) removed.push(id);
      else
        rows.push({
          id,
          model: one.model,
          dimensions: one.vector.length,
          embedding: literalOf(one.vector),
        });
    }
    if (removed.length > 0)
      await client.query(
        `delete from ${table} where tenant_id = $1::uuid and id = any($2::uuid[])`,
        [tenantId, removed],
      );
    for (let from = 0; from < rows.length; from += batch)
      await client.query(
        `insert into ${table} (tenant_id, id, model, dimensions, embedding)
        select $1::uuid, id, model, dimensions, embedding::${this.#type}
        from json_to_recordset($2::json) as v(id uuid, model text, dimensions integer, embedding text)
        on conflict (tenant_id, id) do update
          set model = excluded.model, dimensions = excluded.dimensions, embedding = excluded.embedding`,
        [tenantId, JSON.stringify(rows.slice(from, from + batch))],
      );
  }

  /** The nearest entries. Those from before the index are added to it, some with each search, and compared until then. */
  async nearest(at: TenantTransaction, options: ScanOptions): Promise<readonly NearestEntry[]> {
    if (isZero(options.query.vector)) return [];
    const isBehind = await this.catchUp(at);
    const found = await this.#search(at, options);
    if (!isBehind) return found;
    const others = await scanVectors(at, options, "not e.is_indexed");
    return [...found, ...others].toSorted(bySimilarity).slice(0, options.limit);
  }

  /** Adds vectors that were written without the index. Returns whether there are more. */
  async catchUp(at: TenantTransaction, limit = catchUpPage): Promise<boolean> {
    const { client, schema, tenantId } = at;
    const pending = `from ${schema}.memory_entry e
      where e.tenant_id = $1::uuid and e.embedding is not null and not e.is_indexed`;
    const { rows: some } = await client.query(`select ${pending} limit 1`, [tenantId]);
    if (some.length === 0) return false;
    const { rows } = await client.query<{ id: string; model: string; embedding: Buffer }>(
      `select e.id, e.embedding_model as model, e.embedding ${pending} order by e.id limit ${limit} for update skip locked`,
      [tenantId],
    );
    await this.write(
      at,
      new Map(
        rows.map(({ id, model, embedding }) => [id, { model, vector: fromBytes(embedding) }]),
      ),
    );
    await client.query(
      `update ${schema}.memory_entry set is_indexed = true where tenant_id = $1::uuid and id = any($2::uuid[])`,
      [tenantId, rows.map(({ id }) => id)],
    );
    return (await client.query(`select ${pending} limit 1`, [tenantId])).rows.length > 0;
  }

  async #search(at: TenantTransaction, options: ScanOptions): Promise<readonly NearestEntry[]> {
    const { filter, limit } = options;
    const { namespace, exact, ...rest } = filter;
    const key = Object.values(rest).every((part) => part === undefined)
      ? JSON.stringify([at.tenantId, namespace, exact])
      : undefined;
    if (key === undefined || !this.#large.has(key)) {
      const found = await this.#compareAll(at, options, this.names.exactUpTo);
      if (found) return found;
      if (key !== undefined) this.#large.add(key);
    }
    const found = await this.#searchIndex(at, options);
    if (found.length === limit) return found;
    // The filter left out too much of what the index has near the vector.
    return (await this.#compareAll(at, options, 2 ** 31 - 2)) ?? found;
  }

  /** Compares with all entries that a filter selects; undefined if they are more than `most`. */
  async #compareAll(
    { client, schema, tenantId, now }: TenantTransaction,
    { filter, query, limit }: ScanOptions,
    most: number,
  ): Promise<readonly NearestEntry[] | undefined> {
    const values = new Values();
    const where = conditionOf(filter, { tenantId, now }, values);
    const { dimensions, distance } = this.#distance(query, values);
    const { rows } = await client.query<{ entries: number } & (NearestEntry | { id: null })>(
      `with candidate as materialized (
        select e.tenant_id, e.id from ${schema}.memory_entry e where ${where} and e.is_indexed
          and e.embedding_model = ${values.add(query.model, "text")} and e.dimensions = ${dimensions}
        limit ${most + 1}
      )
      select size.entries, hit.id, hit.similarity from (select count(*)::integer as entries from candidate) size
      left join lateral (
        select v.id, 1 - (${distance}) as similarity from candidate c
        join ${this.#table} v on v.tenant_id = c.tenant_id and v.id = c.id
        where size.entries <= ${most} order by 2 desc, 1 limit ${values.add(limit, "integer")}
      ) hit on true order by hit.similarity desc, hit.id`,
      values.list,
    );
    if (rows[0]!.entries > most) return undefined;
    return rows.flatMap((row) =>
      row.id === null ? [] : [{ id: row.id, similarity: row.similarity }],
    );
  }

  async #searchIndex(
    { client, schema, tenantId, now }: TenantTransaction,
    { filter, query, limit }: ScanOptions,
  ): Promise<readonly NearestEntry[]> {
    // Iterative: continues until the filter has let enough through. The planner does not know what a distance costs.
    await client.query(
      `set local hnsw.iterative_scan = strict_order; set local hnsw.max_scan_tuples = ${maxVisited};
      set local hnsw.ef_search = ${Math.min(1_000, Math.max(100, limit * 2))};
      set local enable_sort = off; set local enable_hashjoin = off; set local enable_mergejoin = off`,
    );
    const values = new Values();
    const where = conditionOf(filter, { tenantId, now }, values);
    const { dimensions, distance } = this.#distance(query, values);
    const { rows } = await client.query<NearestEntry>(
      `select v.id, 1 - (${distance}) as similarity from ${this.#table} v
      join ${schema}.memory_entry e on e.tenant_id = v.tenant_id and e.id = v.id
      where ${where} and e.is_indexed and v.tenant_id = ${values.add(tenantId, "uuid")}
        and v.model = ${values.add(query.model, "text")} and v.dimensions = ${dimensions}
      order by ${distance} limit ${values.add(limit, "integer")}`,
      values.list,
    );
    await client.query(
      "set local enable_sort = on; set local enable_hashjoin = on; set local enable_mergejoin = on",
    );
    return rows;
  }

  get #table(): string {
    return `${quoteIdentifier(this.names.schema)}.memory_vector`;
  }

  get #type(): string {
    return `${quoteIdentifier(this.names.extension)}.halfvec`;
  }

  /** The cosine distance to a vector, as indexes have it. */
  #distance({ vector }: MemoryVector, values: Values) {
    const type = `${this.#type}(${vector.length})`;
    const operator = `operator(${quoteIdentifier(this.names.extension)}.<=>)`;
    const distance = `v.embedding::${type} ${operator} ${values.add(literalOf(vector), type)}`;
    return { dimensions: String(vector.length), distance };
  }
}

/** Partitions of the table, as its migration makes them. */
const partitions = 8;
const batch = 500;

/** Any number; the same in every process that makes an index. */
const INDEX_LOCK = 6_045_318_279;
/** A table that stays locked; an index that another process made meanwhile. */
const expected = new Set(["55P03", "23505", "42P07"]);

/** Half precision has three digits and a half; more would only be parsed. */
function literalOf(vector: Float32Array): string {
  return `[${Array.from(vector, (part) => part.toFixed(7)).join(",")}]`;
}

/** Iterative scans, without which filters starve, came with this version. */
const oldest = [0, 8];

interface Extension {
  readonly version: string | null;
  readonly schema: string | null;
}

/** Why vectors are compared one by one, said once in a process. */
const said = new Set<string>();

/**
 * Makes the table of vectors where the server has pgvector. Returns undefined, and says why, where it does not, or where
 * the user may not make what is missing.
 */
export async function openVectorIndex(
  pool: DatabasePool,
  { schema, exactUpTo }: { readonly schema: string; readonly exactUpTo: number },
): Promise<{ readonly index: VectorIndex; readonly extension: string } | undefined> {
  const because = (reason: string): undefined => {
    if (said.has(reason)) return;
    said.add(reason);
    process.emitWarning(`Memory compares vectors one by one: ${reason}.`, {
      type: "StratagraphWarning",
      code: "STRATAGRAPH_NO_VECTOR_INDEX",
    });
  };
  try {
    let found = await readExtension(pool);
    if (!found) return because("the server does not have the extension pgvector");
    if (found.version === null) {
      await createExtension(pool);
      found = await readExtension(pool);
    }
    const { version, schema: extension } = found ?? {};
    if (!version || !extension) return because("the extension pgvector could not be created");
    if (isOlder(version))
      return because(
        `pgvector is ${version}, expected ${oldest.join(".")} or later; run "alter extension vector update"`,
      );
    const migrations = await loadMigrations(new URL("vector-migrations", import.meta.url));
    const name = quoteIdentifier(extension);
    await migrate(pool, {
      schema,
      name: "memory_vector",
      migrations: migrations.map(({ number, sql }) => ({
        number,
        sql: sql.replaceAll("{vector}", () => name),
      })),
    });
    return { index: new VectorIndex(pool, { schema, extension, exactUpTo }), extension };
  } catch (error) {
    if (!(error instanceof DatabasePermissionError)) throw error;
    return because(
      `the user may not create the extension pgvector or its table (an administrator can: create extension vector)`,
    );
  }
}

async function readExtension(pool: DatabasePool): Promise<Extension | undefined> {
  const { rows } = await pool.query<Extension>(
    `select e.extversion as version, n.nspname as schema from pg_available_extensions a
    left join pg_extension e on e.extname = a.name left join pg_namespace n on n.oid = e.extnamespace
    where a.name = 'vector'`,
  );
  return rows[0];
}

async function createExtension(pool: DatabasePool): Promise<void> {
  try {
    await pool.query("create extension if not exists vector");
  } catch (error) {
    // Another process was faster.
    if (!expected.has(sqlStateOf(error) ?? "")) throw error;
  }
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < oldest[0]! || (major === oldest[0] && minor < oldest[1]!);
}
