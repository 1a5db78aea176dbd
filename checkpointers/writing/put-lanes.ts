import type { QueryConfig } from "../../src/storage/pool.ts";
import type { ThreadPool } from "../../src/storage/tenant-pool.ts";
import {
  type CheckpointQueries,
  conflicts,
  DIVISION_BY_ZERO,
  UNIQUE_VIOLATION,
} from "../queries.ts";

/** A put that waits for its turn. */
export interface QueuedPut {
  readonly namespace: string;
  readonly checkpointId: string;
  /** Inserts one row, or none where what it refers to has changed. */
  readonly statement: QueryConfig;
  readonly bytes: number;
  /** The round in which it was drafted. */
  readonly round: number;
  /** Whose put it is: once one has failed, nothing that builds on it is stored. */
  readonly run: {
    readonly failure: { readonly error: unknown } | null;
    fail(error: unknown): void;
  };
  /** Drafts and puts the checkpoint anew, by itself. */
  readonly redo: () => Promise<void>;
}

interface Waiting extends QueuedPut {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The puts of a thread. */
interface Lane {
  readonly waiting: Waiting[];
  /** Of all that is not stored yet. */
  readonly pending: Set<Promise<void>>;
  bytes: number;
}

/** Puts that a run may be ahead of the database. */
const maxAhead = 16;
const maxAheadBytes = 2 ** 20;

/**
 * Stores the puts of each thread in order. Those that come while others of the thread are on their way are stored
 * together, in one transaction.
 */
export class PutLanes {
  readonly #lanes = new Map<string, Lane>();
  /** Counts the times that drafts became worthless: they build on puts that had to be made anew. */
  #round = 0;

  constructor(
    private readonly pool: Pick<ThreadPool, "forThread">,
    private readonly queries: Pick<CheckpointQueries, "name" | "allPut">,
  ) {}

  /** The round in which what is drafted now may be put. */
  get round(): number {
    return this.#round;
  }

  /**
   * Queues a put.
   *
   * @returns `stored` settles when it is in the database, or not; `hasRoom` when the next put may come
   */
  add(threadId: string, put: QueuedPut): { stored: Promise<void>; hasRoom: Promise<unknown> } {
    const existing = this.#lanes.get(threadId);
    const lane = existing ?? { waiting: [], pending: new Set(), bytes: 0 };
    this.#lanes.set(threadId, lane);
    const stored = new Promise<void>((resolve, reject) => {
      lane.waiting.push({ ...put, resolve, reject });
    });
    const settled = stored.then(
      () => undefined,
      () => undefined,
    );
    lane.pending.add(settled);
    lane.bytes += put.bytes;
    void settled.then(() => {
      lane.pending.delete(settled);
      lane.bytes -= put.bytes;
    });
    const isFull = lane.pending.size >= maxAhead || lane.bytes >= maxAheadBytes;
    if (existing === undefined) void this.#run(threadId, lane);
    return { stored, hasRoom: isFull ? settled : Promise.resolve() };
  }

  /** Waits until the puts that were added for a thread are stored, or not. */
  async settled(threadId: string): Promise<void> {
    const { pending } = this.#lanes.get(threadId) ?? {};
    if (pending !== undefined) await Promise.all(pending);
  }

  async #run(threadId: string, lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) await this.#store(threadId, lane);
    this.#lanes.delete(threadId);
  }

  async #store(threadId: string, lane: Lane): Promise<void> {
    const puts = lane.waiting.splice(0);
    if (puts.some(({ run }) => run.failure !== null)) return this.#redo(puts);
    const isCurrent = puts.every(({ round }) => round === this.#round);
    try {
      if (isCurrent && (await this.#together(threadId, puts))) {
        for (const { resolve } of puts) resolve();
        return;
      }
    } catch (thrown) {
      if (!isRepeatable(thrown)) for (const { run } of puts) run.fail(thrown);
    }
    await this.#redo([...puts, ...lane.waiting.splice(0)]);
  }

  async #redo(puts: readonly Waiting[]): Promise<void> {
    this.#round += 1;
    for (const { run, redo, resolve, reject } of puts) {
      if (run.failure === null) {
        await redo().catch((error: unknown) => run.fail(error));
        // What was drafted meanwhile may build on the draft before.
        this.#round += 1;
      }
      if (run.failure === null) resolve();
      else reject(run.failure.error);
    }
  }

  async #together(threadId: string, puts: readonly QueuedPut[]): Promise<boolean> {
    const pool = this.pool.forThread(threadId);
    const statements = puts.map(({ statement }) => statement);
    if (statements.length === 1) return (await pool.query(statements[0]!)).rowCount === 1;
    // A put that inserted nothing must not leave behind those that build on it.
    const allPut = {
      name: `${this.queries.name}-all-put`,
      text: this.queries.allPut,
      values: [
        threadId,
        puts.map(({ namespace }) => namespace),
        puts.map(({ checkpointId }) => checkpointId),
      ],
    };
    await pool.queryTogether([...statements, allPut]);
    return true;
  }
}

function isRepeatable(thrown: unknown): boolean {
  const { code } = thrown as { code?: unknown };
  return code === UNIQUE_VIOLATION || code === DIVISION_BY_ZERO || conflicts.includes(code);
}
