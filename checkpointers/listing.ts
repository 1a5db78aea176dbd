import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  CheckpointListOptions,
  CheckpointPendingWrite,
  CheckpointTuple,
  DeltaChannelHistory,
} from "@langchain/langgraph-checkpoint";
import type { ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import type { DatabasePool } from "../src/storage/pool.ts";
import { toJsonb, countersIn } from "./checkpoint-body.ts";
import type { WriteSetName } from "./checkpoint-cache.ts";
import {
  type StoredCheckpointKey,
  type CheckpointReader,
  isStockCheckpoint,
  writeSetsOf,
} from "./checkpoint-reader.ts";
import { checkName } from "./config.ts";
import type { CheckpointQueries, CheckpointRow } from "./queries.ts";
import { damagedRow, readRows, type ReadRows } from "./rows.ts";

/** A first page that costs little to throw away, and larger ones for those who read on. */
const FIRST_PAGE = 16;
const LARGEST_PAGE = 128;

/** Checkpoints newest first, read in pages as they are asked for. */
export async function* listPages(
  config: RunnableConfig,
  { filter, before, limit }: CheckpointListOptions = {},
  reader: Pick<CheckpointReader, "page">,
): AsyncGenerator<CheckpointTuple> {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
  const conditions: [condition: string, value: unknown][] = [];
  const condition = (key: string, text: string, value: unknown) =>
    conditions.push([text, checkName(key, String(value))]);
  if (thread_id) condition("thread_id", "c.thread_id = ?", thread_id);
  if (checkpoint_ns !== undefined && checkpoint_ns !== null) {
    condition("checkpoint_ns", "c.checkpoint_ns = ?", checkpoint_ns);
  }
  if (checkpoint_id) condition("checkpoint_id", "c.checkpoint_id = ?", checkpoint_id);
  if (filter && Object.keys(filter).length > 0) {
    conditions.push(["c.metadata @> ?::jsonb", JSON.stringify(toJsonb(filter))]);
  }
  const beforeId: unknown = before?.configurable?.["checkpoint_id"];
  if (beforeId !== undefined) condition("checkpoint_id", "c.checkpoint_id < ?", beforeId);
  let left = limit === undefined ? Number.POSITIVE_INFINITY : Math.trunc(limit);
  let after: readonly string[] = [];
  for (let size = FIRST_PAGE; left > 0; size = Math.min(2 * size, LARGEST_PAGE)) {
    const wanted = limit === undefined ? size : Math.min(left, LARGEST_PAGE);
    const values = [...conditions.map(([, value]) => value), ...after];
    const texts = conditions.map(([text], at) => text.replace("?", `$${at + 1}`));
    if (after.length > 0) {
      const places = after.map((_, at) => `$${conditions.length + at + 1}`);
      texts.push(`(c.checkpoint_id, c.thread_id, c.checkpoint_ns) < (${places.join(", ")})`);
    }
    const where = texts.length === 0 ? "" : `where ${texts.join(" and ")}`;
    const { rows, load } = await reader.page({ where, values, limit: wanted });
    for (const row of rows) yield await load(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < wanted) return;
    left -= rows.length;
    after = [last.checkpoint_id, last.thread_id, last.checkpoint_ns];
  }
}

interface VisitedRow extends CheckpointRow {
  /** Channels that no newer ancestor had a value of; none for the checkpoint itself. */
  wanted: string[];
  /** Those of them that this one has a value of. */
  found: string[];
}

interface HistoryParts {
  readonly pool: DatabasePool;
  readonly queries: CheckpointQueries;
  readonly reader: CheckpointReader;
  /** Whether bodies are encrypted by the serializer or sealed, and the database cannot look into them. */
  readonly encrypts: boolean;
  readonly seals: boolean;
  readonly cipher: ValueCipher;
}

/** A checkpoint on the way back with all that it refers to. */
interface Visit {
  readonly row: CheckpointRow;
  readonly rows: ReadRows;
  readonly wanted: readonly string[];
  readonly found: readonly string[];
}

/**
 * What LangGraph's delta channels are put together from: of each channel the nearest ancestor's value, and all writes
 * since, oldest first. One statement, however far back that is; where bodies are encrypted, and where a checkpoint of
 * the stock class is on the way, one for each checkpoint.
 *
 * @throws {CorruptCheckpointError} also when a checkpoint or a write is missing without which a channel would be shorter
 */
export async function deltaHistory(
  place: StoredCheckpointKey,
  channels: readonly string[],
  parts: HistoryParts,
): Promise<Record<string, DeltaChannelHistory>> {
  const { reader } = parts;
  // Newest first.
  const visits =
    (await visitAtOnce(place, channels, parts)) ?? (await visit(place, channels, reader));
  await checkChain(visits, channels, reader);
  const writes = new Map<string, CheckpointPendingWrite[]>(channels.map((name) => [name, []]));
  const seeds = new Map<string, unknown>();
  for (const { row, rows, wanted, found } of visits.toReversed()) {
    if (wanted.length === 0) continue;
    const { checkpoint, pendingWrites = [] } =
      found.length > 0 || isStockCheckpoint(row)
        ? await reader.load(row, rows)
        : { checkpoint: null, pendingWrites: await reader.writesOf(row) };
    for (const write of pendingWrites) {
      if (wanted.includes(write[1])) writes.get(write[1])!.push(write);
    }
    for (const channel of found) seeds.set(channel, checkpoint!.channel_values[channel]);
  }
  return Object.fromEntries(
    channels.map((channel) => [
      channel,
      {
        writes: writes.get(channel)!,
        ...(seeds.has(channel) && { seed: seeds.get(channel) }),
      },
    ]),
  );
}

/** @returns null when the database cannot read what is on the way */
async function visitAtOnce(
  place: StoredCheckpointKey,
  channels: readonly string[],
  { pool, queries, encrypts, seals, cipher }: HistoryParts,
): Promise<readonly Visit[] | null> {
  if (encrypts || seals) return null;
  const statement = { name: `${queries.name}-delta-history`, text: queries.deltaHistory };
  const values = [place.threadId, place.namespace, place.id, channels];
  const result = await pool.query({ ...statement, values }).catch((thrown: unknown) => {
    if (isOfData(thrown)) return null;
    throw thrown;
  });
  if (result === null) return null;
  const rows = readRows(result.rows as never, cipher);
  const visited = rows.checkpoints as readonly VisitedRow[];
  if (visited.some(isStockCheckpoint)) return null;
  return visited.map((row) => ({ row, rows, wanted: row.wanted, found: row.found }));
}

/** Walks from parent to parent. */
async function visit(
  place: StoredCheckpointKey,
  channels: readonly string[],
  reader: CheckpointReader,
): Promise<readonly Visit[]> {
  const visits: Visit[] = [];
  const seen = new Set<string>();
  let wanted: readonly string[] = [];
  let id = place.id;
  for (;;) {
    const rows = await reader.rows({ ...place, id });
    const [row] = rows.checkpoints;
    if (row === undefined || seen.has(row.checkpoint_id)) return visits;
    seen.add(row.checkpoint_id);
    const values =
      wanted.length === 0 ? {} : (await reader.load(row, rows)).checkpoint.channel_values;
    const found = wanted.filter((channel) => Object.hasOwn(values, channel));
    visits.push({ row, rows, wanted, found });
    wanted = visits.length === 1 ? channels : wanted.filter((channel) => !found.includes(channel));
    id = row.parent_checkpoint_id;
    if (id === null || wanted.length === 0) return visits;
  }
}

/** @throws {CorruptCheckpointError} */
async function checkChain(
  visits: readonly Visit[],
  channels: readonly string[],
  reader: CheckpointReader,
): Promise<void> {
  for (const [at, { row, wanted, found }] of visits.entries()) {
    if (isStockCheckpoint(row)) continue;
    const { body } = await reader.body(row);
    const left = at === 0 ? channels : wanted.filter((channel) => !found.includes(channel));
    const isNeeded = left.some(
      (channel) => Object.hasOwn(body.channels, channel) || countersIn(row.metadata)?.[channel],
    );
    const parent = visits[at + 1]?.row;
    if (isNeeded && row.parent_checkpoint_id !== null) checkParent(row, parent, body);
  }
}

/**
 * Checks that what the delta channels of a checkpoint are put together from is there.
 * @param parent undefined where it is not there
 * @throws {CorruptCheckpointError}
 */
function checkParent(
  row: CheckpointRow,
  parent: Pick<CheckpointRow, "write_tasks" | "write_idxs"> | undefined,
  { parentWrites = [] }: { readonly parentWrites?: readonly WriteSetName[] },
): void {
  if (parent === undefined) {
    const id = String(row.parent_checkpoint_id);
    throw damagedRow(row, `checkpoint ${id}, which its delta channels need, is missing`);
  }
  const there = writeSetsOf(parent);
  if (parentWrites.some((name) => !there.has(name))) {
    throw damagedRow(row, "writes to its parent, which its delta channels need, are missing");
  }
}

/** Whether a statement failed for the data that it met: SQLSTATE class 22. */
function isOfData(thrown: unknown): boolean {
  const { code } = thrown as { code?: unknown };
  return typeof code === "string" && /^22[0-9A-Z]{3}$/.test(code);
}
