import { type DatabasePool, quoteIdentifier } from "../pool.ts";
import {
  bytesOfJson,
  sealedPrefix,
  SealedValueError,
  toSealedJson,
  type ValueCipher,
} from "./value-cipher.ts";

type Row = Readonly<Record<string, unknown>>;

/** A table with a column of values that may be sealed. */
export interface SealedTable {
  /** Of one tenant, or of all. */
  readonly pool: DatabasePool;
  /** As results show it. Counts of tables of one name are added up. */
  readonly name: string;
  /** As SQL, with its schema and quotes. */
  readonly table: string;
  /** The primary key: names of columns and their types as SQL, in order. */
  readonly key: Readonly<Record<string, string>>;
  readonly column: string;
  /** Whether the column is `json`, and a sealed value in it a string. Default: it is `bytea`. */
  readonly isJson?: boolean;
  /** Other columns that `context` and `hash` read. */
  readonly beside?: readonly string[];
  /** Returns what binds the value to its row. */
  readonly context: (row: Row) => string;
  /** A hash of the stored bytes in the same row, which changes with them; `of` returns null for rows that have none. */
  readonly hash?: {
    readonly column: string;
    readonly of: (row: Row, stored: Buffer) => Buffer | null;
  };
}

/** What became of the values of one table. */
export interface ResealCounts {
  readonly table: string;
  /** Values that are sealed by the first key now, and were not before. */
  readonly resealed: number;
  /** Values that were changed by a run or removed meanwhile. */
  readonly passed: number;
  /** Values that are not as they were written: they stay as they are. */
  readonly damaged: number;
}

export interface ResealOptions {
  /** Called after each batch with the values of its table that are done. */
  readonly onProgress?: (progress: { readonly table: string; readonly resealed: number }) => void;
  /** Stops between two batches. What is done stays done. */
  readonly signal?: AbortSignal;
  /** Maximum values of a batch. Default 200. */
  readonly batch?: number;
}

/** Longest beginning of a value that names its key. */
const PREFIX_BYTES = 6 + 32;
/** The characters of base64 that hold it. */
const BASE64_PREFIX = Math.ceil(PREFIX_BYTES / 3) * 4;

/** Bytes of values that are read at a time, about: a batch ends with the value that exceeds them. */
const BATCH_BYTES = 8 * 2 ** 20;

/**
 * Seals every value of a table by the first key, those that are not sealed too. Runs may write meanwhile: a value is
 * replaced only where it is still the one that was read. An interrupted run continues where it ended, since values
 * that the first key has sealed are skipped.
 *
 * @throws MissingEncryptionKeyError when a value is sealed by a key that the cipher has not
 */
export async function resealTable(
  of: SealedTable,
  {
    cipher,
    keyId,
    batch = 200,
    onProgress,
    signal,
  }: ResealOptions & { readonly cipher: ValueCipher; readonly keyId: string },
): Promise<ResealCounts> {
  const { pool } = of;
  const { select, update } = statementsOf(of, batch);
  const prefix = sealedPrefix(keyId);
  const counts = { table: of.name, resealed: 0, passed: 0, damaged: 0 };
  let after: readonly unknown[] | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const { rows }: { rows: Record<string, unknown>[] } = await pool.query(select(after !== null), [
      prefix,
      prefix.byteLength,
      BATCH_BYTES,
      ...(after ?? []),
    ]);
    const last = rows.at(-1);
    if (last === undefined) return counts;
    const values = rows.flatMap((row) => {
      const sealed = resealValue(of, row, cipher);
      return sealed === null ? [] : [{ row, sealed }];
    });
    const columns = [
      ...Object.keys(of.key).map((name) => values.map(({ row }) => row[name])),
      values.map(({ row }) => row[of.column]),
      values.map(({ sealed }) => (of.isJson ? toSealedJson(sealed) : sealed)),
      ...(of.hash ? [values.map(({ row, sealed }) => of.hash!.of(row, sealed))] : []),
    ];
    const rowCount = values.length === 0 ? 0 : await retryDeadlock(pool, update, columns);
    counts.resealed += rowCount;
    counts.passed += values.length - rowCount;
    counts.damaged += rows.length - values.length;
    after = Object.keys(of.key).map((name) => last[name]);
    onProgress?.({ table: of.name, resealed: counts.resealed });
  }
}

/** @returns null for a value that is not as it was written */
function resealValue(of: SealedTable, row: Row, cipher: ValueCipher): Buffer | null {
  const stored = of.isJson ? bytesOfJson(String(row[of.column])) : (row[of.column] as Buffer);
  const context = of.context(row);
  // A new hash must not make a changed value whole.
  const expected = of.hash?.of(row, stored);
  const hash = of.hash && row[of.hash.column];
  if (expected && !(Buffer.isBuffer(hash) && expected.equals(hash))) return null;
  try {
    return cipher.sealBytes(cipher.openBytes(stored, context), context);
  } catch (thrown) {
    if (thrown instanceof SealedValueError) return null;
    throw thrown;
  }
}

/** The first bytes of a value, as SQL: as many as name its key, if it is sealed; of `json`, none of others. */
function headOf(value: string, isJson: boolean): string {
  if (!isJson) return `substring(${value} from 1 for ${PREFIX_BYTES})`;
  // Only characters of base64, and whole groups of four: it never fails.
  return `(select decode(left(h, length(h) / 4 * 4), 'base64')
    from coalesce(substring(left(${value}::text, 80) from '^"sealed:([A-Za-z0-9+/]{0,${BASE64_PREFIX}})'), '') h)`;
}

function statementsOf(
  { table, key, column, isJson = false, beside = [], hash }: SealedTable,
  batch: number,
) {
  const names = Object.keys(key).map(quoteIdentifier);
  const value = quoteIdentifier(column);
  const [read, bytes] = isJson
    ? [`${value}::text`, `octet_length(${value}::text)`]
    : [value, `octet_length(${value})`];
  const type = isJson ? "text" : "bytea";
  const places = Object.values(key).map((keyType, at) => `$${at + 4}::${keyType}`);
  const columns = [...names, `${read} as ${value}`, ...beside.map(quoteIdentifier)];
  if (hash) columns.push(quoteIdentifier(hash.column));
  const types = [...Object.values(key), type, type, ...(hash ? ["bytea"] : [])];
  const given = types.map((one, at) => `$${at + 1}::${one}[]`).join(", ");
  const same = names.map((name) => `t.${name} = v.${name}`).join(" and ");
  return {
    // Rows are in the order of their key, so the sum of bytes ends a batch and leaves none out.
    select: (continued: boolean) => `select * from (
        select ${columns.join(", ")}, sum(${bytes}) over (order by ${names.join(", ")}) - ${bytes} as bytes_before
        from (select * from ${table}
          where ${value} is not null and substring(${headOf(value, isJson)} from 1 for $2::int) <> $1::bytea
          ${continued ? `and (${names.join(", ")}) > (${places.join(", ")})` : ""}
          order by ${names.join(", ")} limit ${batch}) page
      ) page where bytes_before <= $3::bigint order by ${names.join(", ")}`,
    update: `update ${table} t set ${value} = v.new_value${isJson ? "::json" : ""}
      ${hash ? `, ${quoteIdentifier(hash.column)} = v.new_hash` : ""}
      from unnest(${given}) v(${names.join(", ")}, old_value, new_value${hash ? ", new_hash" : ""})
      where ${same} and t.${read} = v.old_value`,
  };
}

/** Runs an update of several rows again where it and a run waited for each other. Returns the rows that it changed. */
async function retryDeadlock(
  pool: DatabasePool,
  statement: string,
  values: readonly unknown[],
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await pool.query(statement, values)).rowCount ?? 0;
    } catch (thrown) {
      const { code } = thrown as { code?: unknown };
      if ((code !== "40P01" && code !== "40001") || attempt === 20) throw thrown;
    }
  }
}

/** How many values of a table a key has sealed; `keyId` null for those that are not sealed. */
export interface SealedCount {
  readonly table: string;
  readonly keyId: string | null;
  readonly values: number;
}

/** Counts the values of a table by key. Reads the beginning of each value, so it takes a scan of the table. */
export async function countSealed({
  pool,
  name,
  table,
  column,
  isJson = false,
}: SealedTable): Promise<readonly SealedCount[]> {
  const value = quoteIdentifier(column);
  const { rows } = await pool.query<{ head: Buffer; values: string }>(
    `select head, count(*) as values from (
      select case when substring(head from 1 for 5) = $1::bytea then
        substring(head from 1 for 6 + get_byte(head || '\\x00'::bytea, 5)) else ''::bytea end as head
      from (select ${headOf(value, isJson)} as head from ${table} where ${value} is not null) beginnings
    ) heads group by head order by head`,
    [sealedPrefix("").subarray(0, 5)],
  );
  return rows.map(({ head, values }) => ({
    table: name,
    keyId: head.byteLength === 0 ? null : head.subarray(6).toString(),
    values: Number(values),
  }));
}
