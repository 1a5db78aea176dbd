import { isFramed, type ValueCipher } from "../../../src/storage/encryption/value-cipher.ts";
import type { Queryable } from "../../../src/storage/pool.ts";
import { sealContext, writesHash } from "../../integrity.ts";
import { openOrKeep, readSegments } from "../../rows.ts";
import type { SealedTables } from "../../tables.ts";
import {
  type DefinitionLine,
  type ElementLine,
  type StockBlobLine,
  type StockWriteLine,
  toReadable,
} from "./format.ts";

/** Fits nothing. */
const noHash = Buffer.alloc(32);

/** How many elements, values or writes are read at a time. */
const ROWS = 500;

export interface NamespacedCheckpointId {
  readonly namespace: string;
  readonly id: string;
}

/** A checkpoint as it is stored. */
export interface StoredCheckpoint extends NamespacedCheckpointId {
  readonly parentId: string | null;
  readonly type: string | null;
  /** Null for those of the stock class, of which only `checkpoint` is there. */
  readonly body: Buffer | null;
  readonly checkpoint: Record<string, unknown> | null;
  /** `bigint`s come as text. */
  readonly segments: readonly string[] | null;
  readonly hash: Buffer | null;
  readonly parentHash: Buffer | null;
  readonly metadata: Record<string, unknown>;
  readonly summary: Record<string, unknown> | null;
}

export interface StoredWriteSet extends NamespacedCheckpointId {
  readonly taskId: string;
  readonly idx: number;
  readonly body: Buffer;
  readonly hash: Buffer;
}

type StoredElement = Omit<ElementLine, "value"> & { readonly blob: Buffer };

interface ElementRange {
  readonly log: number;
  readonly from: number;
  readonly to: number;
}

/** Reads the tables for one thread, sealed values opened: what was changed while it was sealed has no hash that holds. */
export class ThreadRows {
  private readonly database: Queryable;
  private readonly schema: string;
  private readonly cipher: ValueCipher;

  constructor(
    { pool, schema, cipher }: SealedTables,
    private readonly threadId: string,
  ) {
    this.database = pool;
    this.schema = schema;
    this.cipher = cipher;
  }

  /** All checkpoints, in the order of their ids. */
  async keys(): Promise<(NamespacedCheckpointId & { readonly parentId: string | null })[]> {
    const { rows } = await this.database.query<
      NamespacedCheckpointId & { parentId: string | null }
    >(
      `select checkpoint_ns as namespace, checkpoint_id as id, parent_checkpoint_id as "parentId"
      from ${this.schema}.checkpoints where thread_id = $1 order by checkpoint_id, checkpoint_ns`,
      [this.threadId],
    );
    return rows;
  }

  async definitions(): Promise<DefinitionLine[]> {
    const { rows } = await this.database.query<DefinitionLine>(
      `select hash, definition from ${this.schema}.checkpoint_definitions where hash in (
        select metadata ->> 'definition_hash' from ${this.schema}.checkpoints where thread_id = $1)
      order by hash`,
      [this.threadId],
    );
    return rows;
  }

  /** In the order of `keys`, without those that are not there. */
  async checkpoints(keys: readonly NamespacedCheckpointId[]): Promise<StoredCheckpoint[]> {
    const { rows } = await this.database.query<StoredCheckpoint>(
      `select c.checkpoint_ns as namespace, c.checkpoint_id as id,
        c.parent_checkpoint_id as "parentId", c.type, c.body, c.segments, c.hash,
        c.parent_hash as "parentHash", c.metadata, c.summary,
        case when c.body is null then c.checkpoint end as checkpoint
      from unnest($2::text[], $3::text[]) with ordinality as k (checkpoint_ns, checkpoint_id, place)
      join ${this.schema}.checkpoints c using (checkpoint_ns, checkpoint_id)
      where c.thread_id = $1 order by place`,
      [this.threadId, keys.map(({ namespace }) => namespace), keys.map(({ id }) => id)],
    );
    return rows.map(({ body, ...row }) => {
      const context = sealContext.checkpoint({ ...row, threadId: this.threadId });
      return { ...row, body: body && openOrKeep(this.cipher, body, context) };
    });
  }

  async writeSets(keys: readonly NamespacedCheckpointId[]): Promise<StoredWriteSet[]> {
    const { rows } = await this.database.query<StoredWriteSet>(
      `select w.checkpoint_ns as namespace, w.checkpoint_id as id, w.task_id as "taskId", w.idx, w.body, w.hash
      from unnest($2::text[], $3::text[]) as k (checkpoint_ns, checkpoint_id)
      join ${this.schema}.checkpoint_write_sets w using (checkpoint_ns, checkpoint_id)
      where w.thread_id = $1 order by w.task_id, w.idx`,
      [this.threadId, keys.map(({ namespace }) => namespace), keys.map(({ id }) => id)],
    );
    return rows.map((row) => this.#openSet(row));
  }

  /** The hash of a set that is sealed covers the sealed bytes: an opened set gets that of its own. */
  #openSet(set: StoredWriteSet): StoredWriteSet {
    const { namespace, id: checkpointId, taskId, idx, body: stored } = set;
    const name = { threadId: this.threadId, namespace, checkpointId, taskId, idx };
    const body = openOrKeep(this.cipher, stored, sealContext.writes(name));
    if (!isFramed(stored)) return set;
    const isWhole = body.byteLength < stored.byteLength;
    const hasHash = writesHash({ ...name, body: stored }).equals(set.hash);
    return { ...set, body, hash: isWhole && hasHash ? writesHash({ ...name, body }) : noHash };
  }

  /** Elements in the ranges, as many as there are. */
  async *elements(ranges: readonly ElementRange[]): AsyncGenerator<StoredElement> {
    for (let page of pagesOf(ranges)) {
      for (;;) {
        const { rows } = await this.database.query<Omit<StoredElement, "log"> & { log: string }>(
          `select e.log_id as log, e.idx, e.type, e.blob
          from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as r (log_id, start, stop)
          cross join lateral (
            select * from ${this.schema}.checkpoint_elements e
            where e.log_id = r.log_id and e.idx >= r.start and e.idx < r.stop
            order by e.idx limit ${ROWS}
          ) as e`,
          [page.map(({ log }) => log), page.map(({ from }) => from), page.map(({ to }) => to)],
        );
        for (const { blob: stored, ...row } of rows) {
          const log = Number(row.log);
          const blob = openOrKeep(this.cipher, stored, sealContext.element(log, row.idx));
          yield { ...row, log, blob };
        }
        const [range, last] = [page[0]!, rows.at(-1)];
        if (page.length > 1 || rows.length < ROWS || last === undefined) break;
        page = [{ ...range, from: last.idx + 1 }];
      }
    }
  }

  async *stockBlobs(): AsyncGenerator<StockBlobLine> {
    let after: readonly string[] = ["", "", ""];
    for (;;) {
      const { rows } = await this.database.query<
        Omit<StockBlobLine, "value"> & { blob: Buffer | null }
      >(
        `select checkpoint_ns as namespace, channel, version, type, blob
        from ${this.schema}.checkpoint_blobs
        where thread_id = $1 and (checkpoint_ns, channel, version) > ($2, $3, $4)
        order by checkpoint_ns, channel, version limit ${ROWS}`,
        [this.threadId, ...after],
      );
      for (const { blob, ...row } of rows) yield { ...row, value: blob && toReadable(blob) };
      const last = rows.at(-1);
      if (last === undefined) return;
      after = [last.namespace, last.channel, last.version];
    }
  }

  async *stockWrites(): AsyncGenerator<StockWriteLine> {
    let after: readonly (string | number)[] = ["", "", "", 0];
    for (;;) {
      const { rows } = await this.database.query<Omit<StockWriteLine, "value"> & { blob: Buffer }>(
        `select checkpoint_ns as namespace, checkpoint_id as "checkpointId", task_id as "taskId", idx, channel, type, blob
        from ${this.schema}.checkpoint_writes
        where thread_id = $1 and (checkpoint_ns, checkpoint_id, task_id, idx) > ($2, $3, $4, $5)
        order by checkpoint_ns, checkpoint_id, task_id, idx limit ${ROWS}`,
        [this.threadId, ...after],
      );
      for (const { blob, ...row } of rows) yield { ...row, value: toReadable(blob) };
      const last = rows.at(-1);
      if (last === undefined) return;
      after = [last.namespace, last.checkpointId, last.taskId, last.idx];
    }
  }
}

/** Splits ranges into portions of a maximum number of elements; a wider range is alone in its portion. */
function* pagesOf(ranges: readonly ElementRange[]): Generator<readonly ElementRange[]> {
  let page: ElementRange[] = [];
  let room = ROWS;
  for (const range of ranges) {
    const width = range.to - range.from;
    if (width > room && page.length > 0) {
      yield page;
      [page, room] = [[], ROWS];
    }
    page.push(range);
    room -= width;
  }
  if (page.length > 0) yield page;
}

/** How many checkpoints are read at a time. */
const CHECKPOINTS = 32;

export type StoredPart =
  | { readonly element: StoredElement }
  | { readonly checkpoint: StoredCheckpoint; readonly writeSets: readonly StoredWriteSet[] }
  /** A checkpoint that was removed meanwhile. */
  | { readonly gone: NamespacedCheckpointId };

/**
 * The checkpoints with these keys in their order, each after the elements that it is the first to refer to. An element
 * is read once, so the time is in proportion to what is stored. A few hundred rows are held at a time.
 */
export async function* storedParts(
  rows: ThreadRows,
  keys: readonly NamespacedCheckpointId[],
): AsyncGenerator<StoredPart> {
  const read = new ReadRanges();
  for (let start = 0; start < keys.length; start += CHECKPOINTS) {
    const portion = keys.slice(start, start + CHECKPOINTS);
    const found = new Map(
      (await rows.checkpoints(portion)).map((checkpoint) => [placeOf(checkpoint), checkpoint]),
    );
    const writeSets = new Map<string, StoredWriteSet[]>();
    for (const set of await rows.writeSets(portion)) {
      const place = placeOf(set);
      writeSets.set(place, [...(writeSets.get(place) ?? []), set]);
    }
    const ranges = [...found.values()].flatMap(({ segments }) =>
      (readSegments(segments) ?? []).flatMap((range) => read.add(range)),
    );
    for await (const element of rows.elements(ranges)) yield { element };
    for (const key of portion) {
      const checkpoint = found.get(placeOf(key));
      if (checkpoint === undefined) yield { gone: key };
      else yield { checkpoint, writeSets: writeSets.get(placeOf(key)) ?? [] };
    }
  }
}

function placeOf({ namespace, id }: NamespacedCheckpointId): string {
  return `${namespace}\n${id}`;
}

/** Ranges that were asked for, joined where they meet. */
class ReadRanges {
  /** By log, ascending. */
  readonly #ranges = new Map<number, ElementRange[]>();

  /** @returns the parts of it that were not in it before */
  add({ log, from, to }: ElementRange): ElementRange[] {
    const ranges = this.#ranges.get(log) ?? [];
    const missing: ElementRange[] = [];
    const apart: ElementRange[] = [];
    let [start, end, at] = [from, to, from];
    for (const range of ranges) {
      if (range.to < from || range.from > to) {
        apart.push(range);
        continue;
      }
      if (range.from > at) missing.push({ log, from: at, to: range.from });
      at = Math.max(at, range.to);
      start = Math.min(start, range.from);
      end = Math.max(end, range.to);
    }
    if (at < to) missing.push({ log, from: at, to });
    const joined = [...apart, { log, from: start, to: end }];
    this.#ranges.set(
      log,
      joined.toSorted((a, b) => a.from - b.from),
    );
    return missing;
  }
}
