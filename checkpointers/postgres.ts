import type {
  CheckpointSummary,
  DurableSaver,
  Page,
  PageOptions,
  PruneOptions,
  PruneResult,
  ThreadListOptions,
  ThreadSummary,
  ThreadVerification,
  VerifyOptions,
} from "../src/durable-saver.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { Database } from "../src/storage/database.ts";
import { createValueCipher, type ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import type { SealedTable } from "../src/storage/encryption/reseal.ts";
import { StorageOptionError } from "../src/storage/errors.ts";
import { type DatabasePool, type Queryable, quoteIdentifier } from "../src/storage/pool.ts";
import { defaultTenant } from "../src/storage/tenant.ts";
import { type ThreadFences, tenantPool } from "../src/storage/tenant-pool.ts";
import { dumpMetadata } from "./checkpoint-body.ts";
import { CheckpointCache, NewestTuples } from "./checkpoint-cache.ts";
import { DatabaseBlobs } from "./blobs.ts";
import { CheckpointReader } from "./checkpoint-reader.ts";
import type { WriterDeps } from "./writing/checkpoint-draft.ts";
import { CheckpointWriter } from "./writing/checkpoint-writer.ts";
import { checkCursor, checkName, nextChannelVersion, parseCheckpointKey } from "./config.ts";
import { freezeElement, isDeeplyFrozen } from "./elements/freeze.ts";
import { keepData } from "./elements/revive.ts";
import {
  asksForNewestId,
  CheckpointConfigError,
  CorruptCheckpointError,
  damagedTuple,
} from "./errors.ts";
import { checkDefinition } from "./integrity.ts";
import { deltaHistory, listPages } from "./listing.ts";
import { LogIds, LogPositions } from "./writing/log-positions.ts";
import { checkpointQueries } from "./queries.ts";
import { asPgPool, checkpointTablesOpener, type SealedTables } from "./tables.ts";
import { type ForkedThread, forkThread, putForked } from "./threads/fork-thread.ts";
import { deleteThread, prune, removeCheckpoints } from "./threads/prune.ts";
import { readPendingWrites, rollBackRun } from "./threads/roll-back.ts";
import { listPath, listSummaries, listThreads } from "./threads/summaries.ts";
import { exportThread } from "./threads/transfer/export-thread.ts";
import { type ImportOptions, importThread } from "./threads/transfer/import-thread.ts";
import { sealedTables } from "./threads/sealed-tables.ts";
import { verifyThread } from "./threads/verify-thread.ts";
import { WriteTracker } from "./writing/write-tracker.ts";

export interface PostgresCheckpointerOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `public`. */
  schema?: string;
  /** The tenant whose threads these are: a UUID in lower case. Default: that of a single tenant. */
  tenantId?: string;
  /** Claims under which threads are written. Default: none is checked. */
  fences?: ThreadFences;
  /** How values become bytes, and so the place for encryption. Default: LangGraph's. */
  serde?: SerializerProtocol;
  /** Seals what is stored, below hashes and sharing. Default: one without keys, which seals nothing. */
  cipher?: ValueCipher;
  /**
   * How it is known that an element of a list, or a value of an object, was not changed since it was stored.
   * `freeze` (default): what is stored or read is frozen, plain data and messages all the way down, so that changing it
   * in place is a TypeError where it is tried, and the same object is the same value: a step costs what it adds.
   * `compare`: nothing is frozen; whatever could have changed is serialised again with each checkpoint that its channel
   * is new in, so a step costs time in proportion to the state. What cannot be frozen (dates, maps, class instances) is
   * always compared.
   */
  elements?: "freeze" | "compare";
  /** Bytes of stored values, about, that are remembered between steps and readings. Default 64 MiB. */
  cacheBytes?: number;
}

/**
 * A LangGraph checkpointer on Postgres (14 or newer) or PGlite. Checkpoints share what they have in common, are checked
 * by hashes whenever they are read, and are right after time travel. It reads and continues threads that the stock
 * saver wrote; the stock saver cannot read its threads.
 *
 * The tables are created by the first call that needs them, or by `setup()` at a time of the caller's
 * choosing, any number of times and by any number of processes at once. The pool stays the caller's: `end()` closes it
 * for all its users.
 *
 * Reading throws {@link CorruptCheckpointError} for a checkpoint that is not as it was written.
 */
export class PostgresCheckpointer extends PostgresSaver implements DurableSaver {
  readonly blobs: DatabaseBlobs;
  readonly #parts: Omit<WriterDeps, "logIds"> & { readonly schema: string };
  readonly #tables: SealedTables;
  readonly #reader: CheckpointReader;
  readonly #writer: CheckpointWriter;
  readonly #writes = new WriteTracker();
  readonly #newest: NewestTuples;
  readonly #open: () => Promise<unknown>;

  constructor(database: DatabasePool, options: PostgresCheckpointerOptions = {}) {
    const { schema = "public", tenantId = defaultTenant } = options;
    const role = checkpointTablesOpener(database, schema);
    const pool = tenantPool({ pool: database, role }, tenantId, options.fences);
    const serde = keepData(options.serde);
    super(asPgPool(pool), serde, { schema: schema.replaceAll('"', '""') }); // The stock saver writes the quotes around it.
    const { cacheBytes = 64 * 2 ** 20, cipher = createValueCipher([]) } = options;
    if (!(cacheBytes >= 0)) {
      throw new StorageOptionError("cacheBytes", "a number of bytes, 0 or more", cacheBytes);
    }
    const parts = {
      pool,
      schema,
      serde,
      queries: checkpointQueries(schema),
      known: new CheckpointCache(cacheBytes / 2),
      tails: new LogPositions(),
      freeze: options.elements === "compare" ? isDeeplyFrozen : freezeElement,
      encrypts: options.serde !== undefined,
      cipher,
      seals: options.cipher !== undefined,
    };
    this.#open = role;
    this.#newest = new NewestTuples(pool, this.#writes);
    const tables = { pool, schema: quoteIdentifier(schema), cipher };
    this.#tables = tables;
    this.blobs = new DatabaseBlobs({ ...tables, serde });
    this.#reader = new CheckpointReader({
      ...parts,
      revive: serde.revive,
      cacheBytes: cacheBytes / 2,
      readStock: (config) => super.getTuple(config),
    });
    this.#parts = { ...parts, reader: this.#reader };
    this.#writer = new CheckpointWriter({ ...this.#parts, logIds: new LogIds(pool, schema) });
  }

  // The base class is declared for numbers, and LangGraph takes either; its own Postgres saver for Python has text too.
  override getNextVersion(current: number | undefined): number {
    return nextChannelVersion(current) as unknown as number;
  }

  /** @throws {NewerDatabaseError} when a newer version of this package set up the tables */
  override async setup(): Promise<void> {
    await this.#open();
  }

  /**
   * Before a run from a named checkpoint LangGraph loads the newest, and compares the ids alone. Of a damaged newest one it
   * gets the id then, and the error as soon as it reads anything else.
   *
   * @throws {CorruptCheckpointError}
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id } = config.configurable ?? {};
    if (thread_id === undefined || thread_id === null) return undefined;
    const { threadId, namespace, checkpointId: id } = parseCheckpointKey(config);
    if (namespace === "") this.#writes.resetFailures(threadId);
    const key = { threadId, namespace, id };
    const read = this.#newest.read(key, async () => {
      await this.#writer.settled(threadId);
      return this.#reader.read(key);
    });
    if (!asksForNewestId(config)) return read;
    return read.catch((thrown: unknown) => {
      if (thrown instanceof CorruptCheckpointError) return damagedTuple(thrown);
      throw thrown;
    });
  }

  /** @throws {CorruptCheckpointError} at the checkpoint that is damaged */
  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    const threadId: unknown = config.configurable?.["thread_id"];
    if (typeof threadId === "string") await this.#writer.settled(threadId);
    yield* listPages(config, options, this.#reader);
  }

  /** @throws {CheckpointConfigError} without a thread id */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { threadId, namespace, checkpointId } = parseCheckpointKey(config);
    const definition: unknown = config.configurable?.["__definition_hash"];
    const place = { threadId, namespace, parentId: checkpointId };
    const stamp = { definition, runId: config.metadata?.["run_id"] };
    const run = this.#writes.runAhead(threadId);
    await this.#newest.write(threadId, async (goOn) => {
      const stamped = await dumpMetadata(metadata, stamp);
      const of = { metadata: stamped, newVersions, ...(run && { ahead: { run, goOn } }) };
      await this.#writer.put(place, checkpoint, of);
    });
    const { id } = checkpoint;
    return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id } };
  }

  /** @throws {CheckpointConfigError} without a thread id or a checkpoint id */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { threadId, namespace, checkpointId } = parseCheckpointKey(config);
    if (checkpointId === null) throw new CheckpointConfigError("checkpoint_id");
    const place = { threadId, namespace, checkpointId, taskId, taskPath };
    await this.#newest.write(threadId, () => this.#writer.putWrites(place, writes));
  }

  /**
   * What delta channels are put together from, in one statement. A thread that the stock saver began, or whose values are
   * encrypted, is walked checkpoint by checkpoint.
   *
   * @throws {CorruptCheckpointError}
   */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options;
    if (channels.length === 0 || config.configurable?.["thread_id"] === undefined) return {};
    const { threadId, namespace, checkpointId: id } = parseCheckpointKey(config);
    await this.#writer.settled(threadId);
    return deltaHistory({ threadId, namespace, id }, channels, this.#parts);
  }

  /** Removes a thread and what no other thread shares with it. One that is not there is fine. */
  override async deleteThread(threadId: string): Promise<void> {
    checkName("thread_id", threadId);
    await this.#writes.drain(threadId);
    await deleteThread(this.#tables, threadId);
    this.#parts.known.forgetThread(threadId);
  }

  /** Removes checkpoints of a thread, and what only they needed. */
  async prune(options: PruneOptions): Promise<PruneResult> {
    checkName("thread_id", options.threadId);
    await this.#writes.drain(options.threadId);
    return prune(this.#tables, options);
  }

  /** Removes checkpoints of the thread itself, not of its subgraphs, and what only they needed. */
  async removeCheckpoints(
    of: Parameters<DurableSaver["removeCheckpoints"]>[0],
  ): Promise<PruneResult> {
    for (const id of of.checkpointIds) checkName("checkpoint_id", id);
    checkName("thread_id", of.threadId);
    await this.#writes.drain(of.threadId);
    return removeCheckpoints(this.#tables, of);
  }

  async readPendingWrites(of: Parameters<DurableSaver["readPendingWrites"]>[0]) {
    await this.drain(of.threadId);
    return readPendingWrites(this.#tables, of);
  }

  /** Removes the checkpoints of a run, under the claim that fences its thread. @throws LeaseLostError */
  async rollBackRun(of: Parameters<DurableSaver["rollBackRun"]>[0]): Promise<number> {
    const [{ threadId }, { pool, schema: schemaName, known }] = [of, this.#parts];
    await this.drain(threadId);
    const tables = { ...this.#tables, pool: pool.forThread(threadId) };
    const rollBack = () => rollBackRun(tables, { ...of, schemaName });
    return this.#newest.change(threadId, rollBack).finally(() => known.forgetThread(threadId));
  }

  /** Checkpoints without their values, newest first. @throws {InvalidPageError} */
  async listSummaries(
    of: { readonly threadId: string; readonly namespace?: string } & PageOptions,
  ): Promise<Page<CheckpointSummary>> {
    checkName("thread_id", of.threadId);
    checkName("checkpoint_ns", of.namespace ?? "");
    checkCursor(of.cursor);
    return listSummaries(this.#parts.pool, this.#parts.schema, of);
  }

  async listPath(of: Parameters<DurableSaver["listPath"]>[0]) {
    checkName("thread_id", of.threadId);
    return listPath(this.#parts.pool, this.#parts.schema, of);
  }

  /** The threads there are, the most recently updated first. @throws {InvalidPageError} */
  async listThreads(of: ThreadListOptions = {}): Promise<Page<ThreadSummary>> {
    checkCursor(of.cursor);
    return listThreads(this.#parts.pool, this.#parts.schema, of);
  }

  /**
   * Begins a thread at a checkpoint of another, which keeps its id. The past is shared: only the checkpoint itself, its
   * pending writes and the state of its subgraphs are written.
   *
   * @throws {NoCheckpointError} {@link ThreadExistsError} {@link CorruptCheckpointError}
   */
  async forkThread(of: ForkedThread): Promise<void> {
    const { threadId, newThreadId, checkpointId } = of;
    for (const id of [threadId, newThreadId]) checkName("thread_id", id);
    checkName("checkpoint_id", checkpointId);
    for (const { namespace, id } of await forkThread(this.#tables, of)) {
      const configurable = { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id };
      await putForked(this, (await this.getTuple({ configurable }))!, newThreadId);
    }
  }

  /**
   * A whole thread as lines of JSON, each element once.
   *
   * @throws {NoCheckpointError} {@link CorruptCheckpointError}
   */
  async *exportThread(threadId: string): AsyncGenerator<string> {
    checkName("thread_id", threadId);
    await this.#writes.drain(threadId);
    yield* exportThread({ ...this.#tables, serde: this.serde }, threadId);
  }

  /**
   * Makes a thread of the lines that {@link exportThread} gave, here or in another database: all of it, or nothing.
   *
   * @throws {InvalidExportError} {@link ThreadExistsError}
   */
  async importThread(
    lines: AsyncIterable<string> | Iterable<string>,
    options: ImportOptions = {},
  ): Promise<{ threadId: string; checkpoints: number }> {
    const logIds = (client: Queryable) => new LogIds(client, this.#parts.schema);
    return importThread({ ...this.#tables, serde: this.serde, logIds }, lines, options);
  }

  /** Reads every checkpoint of a thread, each stored value once, and says which are not as they were written. */
  async verifyThread(threadId: string, options: VerifyOptions = {}): Promise<ThreadVerification> {
    checkName("thread_id", threadId);
    const parts = { ...this.#tables, serde: keepData(this.serde), reader: this.#reader };
    return verifyThread(parts, threadId, options);
  }

  /**
   * Keeps what a definition hash stands for, with the first checkpoint that is made under it.
   * @param hash SHA-256 (hex) of the definition's canonical JSON
   */
  rememberDefinition(hash: string, definition: unknown): void {
    this.#writer.rememberDefinition(hash, definition);
  }

  /**
   * What was remembered for a hash; undefined where nothing was.
   * @throws {CorruptDefinitionError} when what is stored does not have the hash
   */
  async definitionOf(hash: string): Promise<unknown> {
    const { pool, queries } = this.#parts;
    const { rows } = await pool.query<{ definition: unknown }>(queries.definition, [hash]);
    const [row] = rows;
    return row && checkDefinition(hash, row.definition);
  }

  /** The tables of values that the cipher seals, for counting and resealing. */
  sealedTables(): Promise<readonly SealedTable[]> {
    return this.setup().then(() => sealedTables(this.#tables));
  }

  /** Resolves when all that was begun to be put for the thread has been put, or failed. */
  drain(threadId: string): Promise<void> {
    return this.#writes.drain(threadId);
  }

  /** Resolves when all that the thread's run has put so far is in the database; throws what went wrong with it. */
  flush(threadId: string): Promise<void> {
    return this.#writes.flush(threadId);
  }

  /**
   * Watches a run: until the returned function is called, the first failure of the thread's `put`s and `putWrites` is reported
   * to `onFailure`, and nothing more of the run is written. They resolve all the same, since LangGraph leaves puts that
   * are under way without a handler, and a rejection would end the process. Puts of a run that may be ahead resolve when
   * they are queued; at most 16 of a thread, and about 1 MiB, are not stored yet.
   */
  watchRun(...watch: Parameters<DurableSaver["watchRun"]>): () => void {
    return this.#writes.watch(...watch);
  }

  /** Has a watched run write nothing more, as if that had failed with `error`. */
  refuseRun(threadId: string, error: unknown): void {
    this.#writes.refuse(threadId, error);
  }
}

/** The checkpointer of an open database. It touches the database when it is first used, and leaves closing it to the opener. */
export async function openCheckpointer(
  database: Pick<Database, "pool">,
  options?: PostgresCheckpointerOptions,
): Promise<PostgresCheckpointer> {
  return new PostgresCheckpointer(database.pool, options);
}
