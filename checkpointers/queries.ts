import { quoteIdentifier } from "../src/storage/pool.ts";
import { sha256 } from "./integrity.ts";

/** A row of `checkpoints` with what belongs to it. Of the columns after `summary` each is there where it was asked for. */
export interface CheckpointRow {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  type: string | null;
  /** Null for rows of the stock class. */
  body: Buffer | null;
  /** `bigint`s come as text. */
  segments: string[] | null;
  hash: Buffer | null;
  parent_hash: Buffer | null;
  metadata: Record<string, unknown>;
  summary: Record<string, unknown> | null;
  /** Hash of the parent's row; null where the row is not there. */
  parent_row_hash: Buffer | null;
  newest: boolean;
  write_tasks: string[] | null;
  write_idxs: number[] | null;
  write_lengths: number[] | null;
  write_bodies: Buffer | null;
  write_hashes: Buffer | null;
}

/** Elements next to each other in a log. */
export interface ElementsRow {
  log: string;
  idxs: number[];
  lengths: number[];
  types: (string | null)[];
  blobs: Buffer;
}

/** The saver's statements for one schema. */
export interface CheckpointQueries {
  /** Begins the names of prepared statements. */
  readonly name: string;
  /** A checkpoint and its elements, but for those in the segments that come as the last three values. */
  readonly latest: string;
  readonly byId: string;
  /** A new checkpoint. Unlike `replace` it fails where there is one of that id, and runs no trigger of updates. */
  readonly put: string;
  /** A checkpoint, in the place of one of the same id if there is one. */
  readonly replace: string;
  /** Fails with a division by zero unless all checkpoints of a thread are there. */
  readonly allPut: string;
  /** A checkpoint and its ancestors up to those that have a value of each channel asked for, newest first. */
  readonly deltaHistory: string;
  readonly putDefinition: string;
  readonly definition: string;
  /** Bodies alone, newest first. */
  readonly bodies: string;
  /** Sets of writes of one thread, as `writeColumns` has them; what is there stays. */
  readonly addWrites: string;
  /** Returns the statement that replaces a number of write sets. */
  replaceWrites(sets: number): string;
  /** Checkpoints for `where`, newest first, and all elements they refer to. */
  page(where: string, limit: number): string;
}

const CHECKPOINT_COLUMNS = `c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.type, c.body, c.segments, c.hash, c.parent_hash, c.metadata, c.summary`;

export function checkpointQueries(schemaName: string): CheckpointQueries {
  const schema = quoteIdentifier(schemaName);
  const parentHash = `(select p.hash from ${schema}.checkpoints p
    where p.thread_id = c.thread_id and p.checkpoint_ns = c.checkpoint_ns and p.checkpoint_id = c.parent_checkpoint_id) as parent_row_hash`;
  const newest = `not exists (select from ${schema}.checkpoints n
    where n.thread_id = c.thread_id and n.checkpoint_ns = c.checkpoint_ns and n.checkpoint_id > c.checkpoint_id) as newest`;
  const writes = `left join lateral (
      select array_agg(w.task_id) as write_tasks, array_agg(w.idx) as write_idxs, array_agg(octet_length(w.body)) as write_lengths,
        string_agg(w.body, ''::bytea) as write_bodies, string_agg(w.hash, ''::bytea) as write_hashes
      from (select * from ${schema}.checkpoint_write_sets s
        where s.thread_id = c.thread_id and s.checkpoint_ns = c.checkpoint_ns and s.checkpoint_id = c.checkpoint_id
        order by s.task_id collate "C", s.idx) w
    ) w on true`;
  // OFFSET 0 keeps the planner from joining all logs at once: each range is a scan of its own in the primary key.
  const elementsOf = (range: { log: string; from: string; to: string }) => `(
      select array_agg(x.idx) as idxs, array_agg(octet_length(x.blob)) as lengths, array_agg(x.type) as types, string_agg(x.blob, ''::bytea) as blobs
      from (select e.idx, e.type, e.blob from ${schema}.checkpoint_elements e
        where e.log_id = ${range.log} and e.idx >= ${range.from} and e.idx < ${range.to} order by e.idx offset 0) x
    )`;
  // What is known here of the start of a range is not read again.
  const one = (where: string, firstKnown: number) => {
    const known = `unnest($${firstKnown}::bigint[], $${firstKnown + 1}::bigint[], $${firstKnown + 2}::bigint[]) k(log, first, last)`;
    return `with c as materialized (
    select ${CHECKPOINT_COLUMNS}, ${parentHash}, ${newest} from ${schema}.checkpoints c ${where}
  ), ranges as (
    select r.log, greatest(r.first, (select max(k.last) from ${known} where k.log = r.log and k.first <= r.first)) as first, r.last from (
      select c.segments[n] as log, c.segments[n + 1] as first, c.segments[n + 2] as last from c, generate_series(1, cardinality(c.segments), 3) n
    ) r
  )
  select c.*, w.*, null::bigint as log, null::int[] as idxs, null::int[] as lengths, null::text[] as types, null::bytea as blobs from c ${writes}
  union all
  select ${nulls(CHECKPOINT_TYPES)}, r.log, e.* from ranges r cross join lateral ${elementsOf({ log: "r.log", from: "r.first", to: "r.last" })} e
  where r.first < r.last`;
  };
  // The limit keeps the planner from joining: without statistics it would read the whole thread for each checkpoint.
  const oneOf = (namespace: string, id: string) => `(select * from ${schema}.checkpoints one
    where one.thread_id = $1 and one.checkpoint_ns = ${namespace} and one.checkpoint_id = ${id} limit 1)`;
  // Of the stock class it is not known here, and the walk goes no further.
  const hasValue = `(c.body is null or (convert_from(c.body, 'UTF8')::json -> 'values' -> channel) is not null)`;
  // The count below ends the walk where damaged rows name each other as parents.
  const isOnTheWay = `(chain.depth = 0 or cardinality(chain.wanted) > 0)`;
  const addWritesFrom = (first: number) => {
    const [namespaces, checkpoints, tasks, idxs, starts, lengths, bodies, hashes] = places(
      first,
      8,
    ).split(", ");
    return `insert into ${schema}.checkpoint_write_sets (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, body, hash)
      select $1, w.namespace, w.checkpoint, w.task, w.idx,
        substring(${bodies}::bytea from w.start for w.length), substring(${hashes}::bytea from 32 * w.n::int - 31 for 32)
      from unnest(${namespaces}::text[], ${checkpoints}::text[], ${tasks}::text[], ${idxs}::int[], ${starts}::int[], ${lengths}::int[])
        with ordinality w(namespace, checkpoint, task, idx, start, length, n)
      on conflict do nothing`;
  };
  // One row at a time: the plan is made when the table is small and kept when it is large, and must not read it whole.
  // Whose elements this one refers to is held until that is committed, so that a prune cannot free them. Where one of
  // them is gone, or was replaced by another process, nothing is written.
  const put = `with writes as (
    ${addWritesFrom(22)}
  ), held as (
    select from unnest($20::text[], $21::bytea[]) h(id, hash) cross join lateral (
      select from ${schema}.checkpoints c
      where c.thread_id = $1 and c.checkpoint_ns = $2 and c.checkpoint_id = h.id and c.hash = h.hash limit 1 for key share
    ) found
  ), go as materialized (
    select from (select count(*) as found from held) h where h.found = cardinality($20::text[])
  ), uses as (
    insert into ${schema}.checkpoint_log_uses (log_id, thread_id)
    select l.log, $1 from go, unnest($13::bigint[]) l(log) on conflict do nothing
  ), elements as (
    insert into ${schema}.checkpoint_elements (log_id, idx, type, blob)
    select e.log, e.idx, e.type, substring($19::bytea from e.start for e.length)
    from go, unnest($14::bigint[], $15::int[], $16::int[], $17::int[], $18::text[]) e(log, idx, start, length, type)
  )
  insert into ${schema}.checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, type, body, segments, hash, parent_hash, metadata, summary)
  select $1, $2, $3, $4, $5::jsonb, $6, $7::bytea, $8::bigint[], $9::bytea, $10::bytea, $11::jsonb, $12::jsonb from go`;
  return {
    name: `checkpoints-${sha256(schema).toString("hex").slice(0, 12)}`,
    latest: one(
      `where c.thread_id = $1 and c.checkpoint_ns = $2 order by c.checkpoint_id desc limit 1`,
      3,
    ),
    byId: one(`where c.thread_id = $1 and c.checkpoint_ns = $2 and c.checkpoint_id = $3`, 4),
    page: (where, limit) => `with c as materialized (
      select ${CHECKPOINT_COLUMNS}, ${parentHash}, ${newest} from ${schema}.checkpoints c ${where} order by c.checkpoint_id desc, c.thread_id desc, c.checkpoint_ns desc limit ${limit}
    ), ranges as (
      select c.segments[n] as log, min(c.segments[n + 1]) as first, max(c.segments[n + 2]) as last
      from c, generate_series(1, cardinality(c.segments), 3) n group by 1
    )
    select * from (
      select c.*, w.*, null::bigint as log, null::int[] as idxs, null::int[] as lengths, null::text[] as types, null::bytea as blobs from c ${writes}
      order by c.checkpoint_id desc, c.thread_id desc, c.checkpoint_ns desc) listed
    union all
    select ${nulls(CHECKPOINT_TYPES)}, r.log, e.* from ranges r cross join lateral ${elementsOf({ log: "r.log", from: "r.first", to: "r.last" })} e`,
    put,
    replace: `${put}
    on conflict (tenant_id, thread_id, checkpoint_ns, checkpoint_id) do update set
      parent_checkpoint_id = excluded.parent_checkpoint_id, checkpoint = excluded.checkpoint, type = excluded.type, body = excluded.body,
      segments = excluded.segments, hash = excluded.hash, parent_hash = excluded.parent_hash, metadata = excluded.metadata, summary = excluded.summary`,
    allPut: `select 1 / (count(*) = cardinality($2::text[]))::int from unnest($2::text[], $3::text[]) put(ns, id)
      cross join lateral ${oneOf("put.ns", "put.id")} c`,
    deltaHistory: `with recursive chain as (
      select * from (select c.checkpoint_id as id, 0 as depth, array[]::text[] as wanted from ${schema}.checkpoints c
        where c.thread_id = $1 and c.checkpoint_ns = $2 and ($3::text is null or c.checkpoint_id = $3)
        order by c.checkpoint_id desc limit 1) target
      union all
      select c.parent_checkpoint_id, chain.depth + 1,
        case chain.depth when 0 then $4::text[] else array(select channel from unnest(chain.wanted) channel where not ${hasValue}) end
      from chain cross join lateral ${oneOf("$2", "chain.id")} c
      where ${isOnTheWay} and chain.depth <= (select count(*) from ${schema}.checkpoints n where n.thread_id = $1 and n.checkpoint_ns = $2)
    ), visited as (
      select chain.*, array(select channel from unnest(chain.wanted) channel where ${hasValue}) as found
      from chain cross join lateral ${oneOf("$2", "chain.id")} c
      where ${isOnTheWay}
    ), c as materialized (
      select ${CHECKPOINT_COLUMNS}, ${parentHash}, false as newest, v.depth, v.wanted, v.found
      from visited v cross join lateral ${oneOf("$2", "v.id")} c
    ), ranges as (
      select c.segments[n] as log, min(c.segments[n + 1]) as first, max(c.segments[n + 2]) as last
      from c, generate_series(1, cardinality(c.segments), 3) n where cardinality(c.found) > 0 group by 1
    )
    select * from (
      select c.*, w.*, null::bigint as log, null::int[] as idxs, null::int[] as lengths, null::text[] as types, null::bytea as blobs from c ${writes}
      order by c.depth) listed
    union all
    select ${nulls(CHECKPOINT_TYPES.replace("boolean", "boolean int text[] text[]"))}, r.log, e.*
    from ranges r cross join lateral ${elementsOf({ log: "r.log", from: "r.first", to: "r.last" })} e`,
    putDefinition: `insert into ${schema}.checkpoint_definitions as stored (hash, definition) values ($1, $2::jsonb) ${REPLACE_DEFINITION}`,
    definition: `select definition from ${schema}.checkpoint_definitions where hash = $1`,
    bodies: `select checkpoint_id, type, body from ${schema}.checkpoints
      where thread_id = $1 and checkpoint_ns = $2 order by checkpoint_id desc`,
    addWrites: addWritesFrom(2),
    replaceWrites: (sets) => `insert into ${schema}.checkpoint_write_sets
      (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, body, hash)
    values ${Array.from({ length: sets }, (_, set) => `(${places(7 * set + 1, 7)})`).join(", ")}
    on conflict (tenant_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    do update set body = excluded.body, hash = excluded.hash`,
  };
}

/** Puts a definition that has its hash in the place of one that has not; the table has the name `stored`. */
export const REPLACE_DEFINITION = `on conflict (tenant_id, hash) do update set definition = excluded.definition
  where stored.definition <> excluded.definition`;

/** Numbers of parameters. */
function places(first: number, count: number): string {
  return Array.from({ length: count }, (_, at) => `$${first + at}`).join(", ");
}

/** Of {@link CheckpointRow}, in order. */
const CHECKPOINT_TYPES =
  "text text text text text bytea bigint[] bytea bytea jsonb jsonb bytea boolean text[] int[] int[] bytea bytea";

function nulls(types: string): string {
  return types
    .split(" ")
    .map((type) => `null::${type}`)
    .join(", ");
}

/** Numbers as Postgres reads an array of them. */
export function pgArray(numbers: readonly number[]): string {
  return `{${numbers.join(",")}}`;
}

/** Texts, and null. */
export function pgTextArray(texts: readonly (string | null)[]): string {
  const quoted = texts.map((text) =>
    text === null ? "NULL" : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
  );
  return `{${quoted.join(",")}}`;
}

/** An element stands where another was to go, or a checkpoint has the id already. */
export const UNIQUE_VIOLATION = "23505";
/** What a statement fails with that expects other rows than there are. */
export const DIVISION_BY_ZERO = "22012";

/** States of statements that are sent again. */
export const conflicts: readonly unknown[] = [
  "40001", // serialization_failure
  "40P01", // deadlock_detected
];
/** Far more than sessions that write one thread. */
const maxAttempts = 100;

/**
 * Runs `work`, a statement or a transaction, again where the server refused it for what others did at the same time. Puts
 * of one thread write one row, the thread's: where transactions are stricter than `read committed` by default, the second
 * of two is refused.
 */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (thrown) {
      const { code } = thrown as { code?: unknown };
      if (!conflicts.includes(code) || attempt === maxAttempts) throw thrown;
    }
  }
}
