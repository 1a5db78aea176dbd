import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type PendingWrite, WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import type { ThreadPool } from "../../src/storage/tenant-pool.ts";
import type { DumpedValue } from "../elements/store-value.ts";
import { type CheckpointQueries, pgArray, pgTextArray } from "../queries.ts";

/** A row of `checkpoint_write_sets`, but for its thread. */
export interface WriteSetRow {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string;
  readonly idx: number;
  readonly body: Buffer;
  /** 32 bytes. */
  readonly hash: Buffer;
}

/** Queued writes claimed by a checkpoint `put`, which stores them in its own statement. */
export interface ClaimedWrites {
  readonly rows: readonly WriteSetRow[];
  /** They are in the database. Without effect after the first call of either. */
  written(): void;
  /** They were not written: they go by themselves now. */
  release(): void;
}

interface Waiting {
  readonly rows: readonly WriteSetRow[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What waits for a thread. */
interface Queued {
  readonly writes: Waiting[];
  /**
   * Writes them when the event loop turns; undefined while a put is under way. Cleared when they are taken: each one holds
   * its run's context until then.
   */
  flush: NodeJS.Immediate | undefined;
}

/**
 * Writes of tasks wait until the event loop is free and no checkpoint of the thread is being put: LangGraph puts the
 * checkpoint that follows them in the same turn of it, or when the put before has ended, and one statement then writes
 * both. Without one they go by themselves, those of all tasks together.
 */
export class WriteQueue {
  readonly #waiting = new Map<string, Queued>();
  /** Puts under way, by thread. */
  readonly #puts = new Map<string, number>();
  /** Writes that puts under way store, by thread. */
  readonly #claimed = new Map<string, Set<readonly WriteSetRow[]>>();

  constructor(
    private readonly pool: Pick<ThreadPool, "forThread">,
    private readonly queries: CheckpointQueries,
  ) {}

  /** Resolves when they are in the database. */
  add(threadId: string, rows: readonly WriteSetRow[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const queued = this.#waiting.get(threadId);
      if (queued !== undefined) {
        queued.writes.push({ rows, resolve, reject });
        return;
      }
      const flush = this.#puts.has(threadId) ? undefined : this.#flushSoon(threadId);
      this.#waiting.set(threadId, { writes: [{ rows, resolve, reject }], flush });
    });
  }

  /** Says that a put of the thread is under way, until the returned function is called. */
  beginPut(threadId: string): () => void {
    this.#puts.set(threadId, (this.#puts.get(threadId) ?? 0) + 1);
    return () => {
      const puts = (this.#puts.get(threadId) ?? 0) - 1;
      if (puts > 0) {
        this.#puts.set(threadId, puts);
        return;
      }
      this.#puts.delete(threadId);
      const queued = this.#waiting.get(threadId);
      if (queued !== undefined) queued.flush ??= this.#flushSoon(threadId);
    };
  }

  #flushSoon(threadId: string): NodeJS.Immediate {
    return setImmediate(() => void this.#flush(threadId));
  }

  /** All that waits for a thread; null where nothing does. */
  claim(threadId: string): ClaimedWrites | null {
    const queued = this.#waiting.get(threadId);
    if (queued === undefined) return null;
    const { writes, flush } = queued;
    if (flush !== undefined) clearImmediate(flush);
    this.#waiting.delete(threadId);
    const rows = writes.flatMap((waiting) => waiting.rows);
    const endClaim = this.#beginClaim(threadId, rows);
    return {
      rows,
      written: () => {
        if (endClaim()) for (const { resolve } of writes) resolve();
      },
      release: () => {
        if (endClaim()) void this.#write(threadId, writes);
      },
    };
  }

  /** What was claimed for a thread, and neither written nor released yet. */
  claimedRows(threadId: string): readonly WriteSetRow[] {
    return [...(this.#claimed.get(threadId) ?? [])].flat();
  }

  /** Returns a function that ends the claim, and returns whether it was not ended before. */
  #beginClaim(threadId: string, rows: readonly WriteSetRow[]): () => boolean {
    const claimed = this.#claimed.get(threadId) ?? new Set();
    this.#claimed.set(threadId, claimed.add(rows));
    return () => {
      const isFirst = claimed.delete(rows);
      if (claimed.size === 0 && this.#claimed.get(threadId) === claimed)
        this.#claimed.delete(threadId);
      return isFirst;
    };
  }

  async #flush(threadId: string): Promise<void> {
    const queued = this.#waiting.get(threadId);
    this.#waiting.delete(threadId);
    if (queued !== undefined) await this.#write(threadId, queued.writes);
  }

  async #write(threadId: string, waiting: readonly Waiting[]): Promise<void> {
    try {
      await this.pool.forThread(threadId).query({
        name: `${this.queries.name}-add-writes`,
        text: this.queries.addWrites,
        values: [threadId, ...writeColumns(waiting.flatMap(({ rows }) => rows))],
      });
      for (const { resolve } of waiting) resolve();
    } catch (thrown) {
      for (const { reject } of waiting) reject(thrown);
    }
  }
}

/** Rows as the statements take them: a column each, and all bodies and all hashes in one piece. */
export function writeColumns(rows: readonly WriteSetRow[]): unknown[] {
  let start = 1; // Postgres counts bytes from one.
  const starts = rows.map(({ body }) => {
    start += body.byteLength;
    return start - body.byteLength;
  });
  return [
    pgTextArray(rows.map(({ namespace }) => namespace)),
    pgTextArray(rows.map(({ checkpointId }) => checkpointId)),
    pgTextArray(rows.map(({ taskId }) => taskId)),
    pgArray(rows.map(({ idx }) => idx)),
    pgArray(starts),
    pgArray(rows.map(({ body }) => body.byteLength)),
    Buffer.concat(rows.map(({ body }) => body)),
    Buffer.concat(rows.map(({ hash }) => hash)),
  ];
}

/** A write of a task, as bytes. */
export interface DumpedWrite extends DumpedValue {
  /** Its number among the task's writes; negative for the special ones, of which there is one each. */
  readonly idx: number;
  readonly channel: string;
}

/** Writes that are stored together. */
export interface WriteSet {
  /** The lowest of its writes. */
  readonly idx: number;
  readonly body: Buffer;
}

/** How the writes of one task are stored. */
export interface WriteSetOptions {
  /** Whether they replace what was there. */
  readonly replacing: boolean;
  /** Of the task, as LangGraph writes it: writes of a step are applied in this order. Empty where there is none. */
  readonly taskPath: string;
}

/** The number under which a task's write is stored. */
export function writeIndex([channel]: PendingWrite, at: number): number {
  // A channel may have the name of something that every object inherits.
  return Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel]! : at;
}

/** Whether all are of those that replace what was there: errors, interrupts, answers. */
export function isReplacing(writes: readonly PendingWrite[]): boolean {
  return writes.every(([channel]) => Object.hasOwn(WRITES_IDX_MAP, channel));
}

/** Special writes are kept one by one, since one of them may be there already; the others stay together. */
export function toWriteSets(
  writes: readonly DumpedWrite[],
  { replacing, taskPath }: WriteSetOptions,
): WriteSet[] {
  // Of several with one number the last counts where they replace each other, else the first.
  const byIndex = new Map<number, DumpedWrite>();
  for (const write of writes) {
    if (replacing || !byIndex.has(write.idx)) byIndex.set(write.idx, write);
  }
  const kept = [...byIndex.values()].toSorted((one, other) => one.idx - other.idx);
  const regular = kept.filter(({ idx }) => idx >= 0);
  const special = kept.filter(({ idx }) => idx < 0).map((write) => [write]);
  const groups = regular.length === 0 ? special : [...special, regular];
  return groups.map((group) => ({ idx: group[0]!.idx, body: packWrites(group, taskPath) }));
}

type WriteHead = readonly [idx: number, channel: string, type: string | null, bytes: number];

/**
 * Four bytes with the length of the head, the head as JSON, and the bytes of the writes one after the other; packed. The
 * head is a list of the writes, with the task's path before them where it has one.
 */
function packWrites(writes: readonly DumpedWrite[], taskPath: string): Buffer {
  const heads = writes.map(({ idx, channel, type, blob }): WriteHead => [
    idx,
    channel,
    type,
    blob.byteLength,
  ]);
  const head = Buffer.from(JSON.stringify(taskPath === "" ? heads : [taskPath, ...heads]), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.byteLength);
  const bytes = Buffer.concat([length, head, ...writes.map(({ blob }) => blob)]);
  return pack(bytes, { text: writes.every(({ type }) => type === null) });
}

/** Takes apart what {@link toWriteSets} made; for bytes whose hash was checked. */
export function unpackWrites(body: Buffer): {
  readonly taskPath: string;
  readonly writes: DumpedWrite[];
} {
  const bytes = unpack(body);
  const start = 4 + bytes.readUInt32BE(0);
  const head = JSON.parse(bytes.subarray(4, start).toString("utf8")) as readonly (
    | WriteHead
    | string
  )[];
  const taskPath = typeof head[0] === "string" ? head[0] : "";
  const heads = head.filter((write) => typeof write !== "string");
  let at = start;
  const writes = heads.map(([idx, channel, type, length]) => {
    const blob = bytes.subarray(at, at + length);
    at += length;
    return { idx, channel, type, blob };
  });
  return { taskPath, writes };
}

/** Below that there is little to gain. */
const MIN_BYTES = 256;
const PLAIN = 0;
const DEFLATED = 1;

/** What messages have in common as JSON. Part of the format: bytes that were packed with it need it, letter by letter. */
const DICTIONARY = Buffer.from(
  '"branch:to:"__pregel_tasks"__interrupt__"__resume__"{"lc":2,"type":"undefined"}"reasoning_tokens":"cached_tokens":' +
    '"finish_reason":"stop","model_name":"tool_call_chunks":[],"usage_metadata":{"input_tokens":,"output_tokens":,"total_tokens":,' +
    '"input_token_details":{},"output_token_details":{}}"status":"success","artifact":"name":"type":"text","text":"' +
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"","additional_kwargs":{},"response_metadata":{},"id":"' +
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"id":"","tool_call_id":"call_","content":"","additional_kwargs":{},"response_metadata":{}}}' +
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"id":"","content":"","tool_calls":[{"id":"call_","name":"","args":{"type":"tool_call"}}],' +
    '"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{}}}[[0,"messages",null,',
);
/** Small, since what is packed is short: making a larger window or buffer takes longer than using it. */
const OPTIONS = { dictionary: DICTIONARY, level: 1, windowBits: 13, memLevel: 6, chunkSize: 4096 };

/**
 * Bytes for the database, deflated where they are text and that makes them shorter: rows of one to two kilobytes are
 * too short for the database to compress them.
 */
function pack(bytes: Buffer, { text }: { readonly text: boolean }): Buffer {
  if (text && bytes.byteLength >= MIN_BYTES) {
    const deflated = deflateRawSync(bytes, OPTIONS);
    if (deflated.byteLength < bytes.byteLength) return Buffer.concat([kind(DEFLATED), deflated]);
  }
  return Buffer.concat([kind(PLAIN), bytes]);
}

/** What {@link pack} was given. */
function unpack(packed: Buffer): Buffer {
  const bytes = packed.subarray(1);
  return packed[0] === DEFLATED ? inflateRawSync(bytes, OPTIONS) : bytes;
}

function kind(of: number): Buffer {
  return Buffer.of(of);
}
