import type { Page, PageOptions } from "../../src/durable-saver.ts";
import type {
  CheckpointSummary,
  PathCheckpoint,
  ThreadListOptions,
  ThreadSummary,
} from "../../src/durable-saver.ts";
import { type Queryable, quoteIdentifier } from "../../src/storage/pool.ts";
import { InvalidPageError } from "../errors.ts";
import { uuidV6Timestamp } from "../config.ts";

/** Characters of a status or an agent's name that the rows of threads hold, as the migration has it. */
const LABEL_LENGTH = 128;

interface SummaryRow {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  metadata: unknown;
  summary: unknown;
  hash: string | null;
  /** When a checkpoint of the stock class was made. */
  stock_at: string | null;
  interrupts: number;
  failures: number;
}

/** @throws {InvalidPageError} */
export async function listSummaries(
  database: Queryable,
  schemaName: string,
  of: { readonly threadId: string; readonly namespace?: string | undefined } & PageOptions,
): Promise<Page<CheckpointSummary>> {
  const schema = quoteIdentifier(schemaName);
  const limit = checkLimit(of.limit);
  const { rows } = await database.query<SummaryRow>(
    `select ${summaryColumns(schema)} from ${schema}.checkpoints c
    where c.thread_id = $1 and c.checkpoint_ns = $2 and ($3::text is null or c.checkpoint_id < $3)
    order by c.checkpoint_id desc limit $4`,
    [of.threadId, of.namespace ?? "", of.cursor ?? null, limit + 1],
  );
  const items = rows.slice(0, limit).map(toSummary);
  return { items, next: rows.length > limit ? items.at(-1)!.id : null };
}

/** Reads metadata alone, of at most `limit` checkpoints in all namespaces of a thread. */
export async function listPath(
  database: Queryable,
  schemaName: string,
  of: { readonly threadId: string; readonly limit: number },
): Promise<readonly PathCheckpoint[]> {
  const schema = quoteIdentifier(schemaName);
  const { rows } = await database.query<SummaryRow>(
    `select ${summaryColumns(schema)} from ${schema}.checkpoints c
    where c.thread_id = $1 order by c.checkpoint_id desc, c.checkpoint_ns desc limit $2`,
    [of.threadId, of.limit],
  );
  return rows.map((row) => {
    const { namespace, id, parentId, step, source, nodes, createdAt, status, ...rest } =
      toSummary(row);
    const { interrupts, failures } = rest;
    const around = Object.entries(fieldsOf(fieldsOf(row.metadata)["parents"]));
    const parents = Object.fromEntries(around.map(([name, value]) => [name, String(value)]));
    const own = { namespace, id, parentId, step, source, nodes, createdAt, status };
    return { ...own, interrupts, failures, parents };
  });
}

function summaryColumns(schema: string): string {
  // Special writes have numbers of their own: -1 errors, -3 interrupts. In the stock table the same.
  const count = (idx: number) => `(select count(distinct w.task_id)::int from (
      select task_id from ${schema}.checkpoint_write_sets s where s.thread_id = c.thread_id and s.checkpoint_ns = c.checkpoint_ns
        and s.checkpoint_id = c.checkpoint_id and s.idx = ${idx}
      union all select task_id from ${schema}.checkpoint_writes t where t.thread_id = c.thread_id and t.checkpoint_ns = c.checkpoint_ns
        and t.checkpoint_id = c.checkpoint_id and t.idx = ${idx}) w)`;
  return `c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.summary,
      encode(c.hash, 'hex') as hash, c.checkpoint ->> 'ts' as stock_at, ${count(-3)} as interrupts, ${count(-1)} as failures`;
}

function toSummary(row: SummaryRow): CheckpointSummary {
  const { step, source, definition_hash, forked_from } = fieldsOf(row.metadata);
  const { nodes, status, agent, bytes, at } = fieldsOf(row.summary);
  const { thread_id, checkpoint_id } = fieldsOf(forked_from);
  return {
    threadId: row.thread_id,
    namespace: row.checkpoint_ns,
    id: row.checkpoint_id,
    parentId: row.parent_checkpoint_id,
    step: typeof step === "number" ? step : null,
    source: textOr(source, null),
    nodes: Array.isArray(nodes) ? nodes.filter((node) => typeof node === "string") : [],
    status: textOr(status, null),
    agent: textOr(agent, null),
    createdAt: uuidV6Timestamp(row.checkpoint_id) ?? textOr(at, row.stock_at) ?? "",
    bytes: typeof bytes === "number" ? bytes : 0,
    interrupts: row.interrupts,
    failures: row.failures,
    definitionHash: textOr(definition_hash, null),
    integrityHash: row.hash,
    forkedFrom:
      typeof thread_id === "string" && typeof checkpoint_id === "string"
        ? { threadId: thread_id, checkpointId: checkpoint_id }
        : null,
  };
}

/** Parses unchecked JSON. */
function fieldsOf(json: unknown): Partial<Record<string, unknown>> {
  return typeof json === "object" && json !== null ? { ...json } : {};
}

function textOr<Default>(value: unknown, otherwise: Default): string | Default {
  return typeof value === "string" ? value : otherwise;
}

interface ThreadRow {
  thread_id: string;
  checkpoints: number;
  last_id: string;
  bytes: string;
  definition_hash: unknown;
  summary: unknown;
  stock_at: string | null;
}

/**
 * Reads the rows of threads that triggers maintain, and the newest checkpoint of each thread of the page.
 * @throws {InvalidPageError}
 */
export async function listThreads(
  database: Queryable,
  schemaName: string,
  of: ThreadListOptions,
): Promise<Page<ThreadSummary>> {
  const schema = quoteIdentifier(schemaName);
  const limit = checkLimit(of.limit);
  const values: unknown[] = [limit + 1];
  const conditions = ["last_id is not null"];
  const place = (value: string) => `$${values.push(value)}`;
  for (const column of ["status", "agent"] as const) {
    const label = of[column];
    if (label !== undefined) conditions.push(`${column} = left(${place(label)}, ${LABEL_LENGTH})`);
  }
  if (of.cursor !== undefined) {
    const [lastId, threadId] = splitCursor(of.cursor);
    conditions.push(`(last_id, thread_id) < (${place(lastId)}, ${place(threadId)})`);
  }
  const { rows } = await database.query<ThreadRow>(
    `with page as (
      select thread_id, checkpoints, last_id, bytes from ${schema}.checkpoint_threads
      where ${conditions.join(" and ")} order by last_id desc, thread_id desc limit $1
    )
    select page.*, c.metadata -> 'definition_hash' as definition_hash, c.summary, c.checkpoint ->> 'ts' as stock_at from page
    join ${schema}.checkpoints c on c.thread_id = page.thread_id and c.checkpoint_ns = '' and c.checkpoint_id = page.last_id
    order by page.last_id desc, page.thread_id desc`,
    values,
  );
  const items = rows.slice(0, limit).map((row): ThreadSummary => ({
    threadId: row.thread_id,
    checkpoints: row.checkpoints,
    lastId: row.last_id,
    updatedAt:
      uuidV6Timestamp(row.last_id) ?? textOr(fieldsOf(row.summary)["at"], row.stock_at) ?? "",
    status: textOr(fieldsOf(row.summary)["status"], null),
    agent: textOr(fieldsOf(row.summary)["agent"], null),
    bytes: Number(row.bytes),
    definitionHash: textOr(row.definition_hash, null),
  }));
  const last = items.at(-1);
  return { items, next: rows.length > limit ? `${last!.lastId} ${last!.threadId}` : null };
}

function splitCursor(cursor: string): [id: string, threadId: string] {
  const space = cursor.indexOf(" ");
  if (space < 0) throw new InvalidPageError("cursor", cursor);
  return [cursor.slice(0, space), cursor.slice(space + 1)];
}

function checkLimit(limit = 50): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new InvalidPageError("limit", limit);
  }
  return limit;
}
