import type { DatabasePool } from "../src/storage/pool.ts";
import { pgArray, pgTextArray } from "./pg-array.ts";
import type { CheckpointQueries } from "./queries.ts";

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

/** Writes that somebody took upon himself to write. */
export interface TakenWrites {
  readonly rows: readonly WriteSetRow[];
  written(): void;
  /** They were not written: they go by themselves now. */
  giveBack(): void;
}

interface Waiting {
  readonly rows: readonly WriteSetRow[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What waits for a thread. */
interface Queued {
  readonly writes: Waiting[];
  /** Writes them when the event loop turns. Cleared when they are taken: each one holds its run's context until then. */
  readonly flush: NodeJS.Immediate;
}

/**
 * Writes of tasks wait until the event loop is free: LangGraph puts the checkpoint that follows them in the same turn of
 * it, and one statement then writes both. Without one they go by themselves, those of all tasks together.
 */
export class WriteQueue {
  readonly #waiting = new Map<string, Queued>();

  constructor(
    private readonly pool: DatabasePool,
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
      const flush = setImmediate(() => void this.#flush(threadId));
      this.#waiting.set(threadId, { writes: [{ rows, resolve, reject }], flush });
    });
  }

  /** All that waits for a thread; null where nothing does. */
  take(threadId: string): TakenWrites | null {
    const queued = this.#waiting.get(threadId);
    if (queued === undefined) return null;
    const { writes, flush } = queued;
    clearImmediate(flush);
    this.#waiting.delete(threadId);
    return {
      rows: writes.flatMap(({ rows }) => rows),
      written: () => {
        for (const { resolve } of writes) resolve();
      },
      giveBack: () => void this.#write(threadId, writes),
    };
  }

  async #flush(threadId: string): Promise<void> {
    const queued = this.#waiting.get(threadId);
    this.#waiting.delete(threadId);
    if (queued !== undefined) await this.#write(threadId, queued.writes);
  }

  async #write(threadId: string, waiting: readonly Waiting[]): Promise<void> {
    try {
      await this.pool.query({
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
