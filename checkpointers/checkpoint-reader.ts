import type { RunnableConfig } from "@langchain/core/runnables";
import {
  maxChannelVersion,
  TASKS,
  type Checkpoint,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import type { DatabasePool } from "../src/storage/pool.ts";
import { nextChannelVersion } from "./config.ts";
import { fromStoredBody, loadMetadata, type StoredBody } from "./checkpoint-body.ts";
import {
  damagedRow,
  ElementCache,
  openOrKeep,
  readRows,
  type ReadRows,
  readSegments,
  readWrites,
} from "./rows.ts";
import type { ValueLayout } from "./elements/store-value.ts";
import {
  DamagedValue,
  loadValue,
  reusableSegments,
  valueOf,
  type LoadPort,
  type ReadElement,
} from "./elements/load-value.ts";
import type { Reviver } from "./elements/revive.ts";
import { checkpointHash, sealContext } from "./integrity.ts";
import {
  threadKey,
  writeSetName,
  type CachedCheckpoint,
  type CheckpointCache,
  type WriteSetName,
} from "./checkpoint-cache.ts";
import { CorruptCheckpointError } from "./errors.ts";
import type { LogPositions } from "./writing/log-positions.ts";
import { type CheckpointQueries, type CheckpointRow, pgArray } from "./queries.ts";

export interface ReaderDeps {
  readonly pool: DatabasePool;
  readonly queries: CheckpointQueries;
  readonly serde: SerializerProtocol;
  readonly known: CheckpointCache;
  readonly tails: LogPositions;
  readonly revive: Reviver;
  readonly cipher: ValueCipher;
  readonly freeze: (item: object) => boolean;
  readonly cacheBytes: number;
  /** How the stock class reads what it wrote. */
  readonly readStock: (config: RunnableConfig) => Promise<CheckpointTuple | undefined>;
}

/** Which checkpoint; `id` null for the thread's newest. */
export interface StoredCheckpointKey {
  readonly threadId: string;
  readonly namespace: string;
  readonly id: string | null;
}

/** Reads checkpoints back, checks them, and remembers them for what is put on top of them. */
export class CheckpointReader {
  readonly #parts: ReaderDeps;
  readonly #cache: ElementCache;

  constructor(parts: ReaderDeps) {
    this.#parts = parts;
    this.#cache = new ElementCache(parts.cacheBytes);
  }

  /**
   * Reads a checkpoint. Elements that this process has read before are not read again: the row and its hashes decide
   * whether they are the right ones.
   *
   * @throws {CorruptCheckpointError}
   */
  async read(place: StoredCheckpointKey): Promise<CheckpointTuple | undefined> {
    const base = this.#parts.known.closest(threadKey(place), place.id);
    const rows = await this.rows(place, base);
    const [row] = rows.checkpoints;
    if (row === undefined) return undefined;
    if (base === undefined) return this.load(row, rows);
    return this.load(row, rows, base).catch(async (thrown: unknown) => {
      if (!(thrown instanceof CorruptCheckpointError)) throw thrown;
      // What another process did may have moved elements, or the database holds them no more.
      const all = await this.rows({ ...place, id: row.checkpoint_id });
      const [again] = all.checkpoints;
      return again && this.load(again, all);
    });
  }

  /**
   * The row of a checkpoint, if there is one, with all that it refers to but for what can be taken from `base`. Nothing is
   * checked yet.
   */
  async rows(place: StoredCheckpointKey, base?: CachedCheckpoint): Promise<ReadRows> {
    const { threadId, namespace, id } = place;
    const { queries, pool } = this.#parts;
    const known = [...(base?.layouts.values() ?? [])].flatMap(reusableSegments);
    const columns = [
      pgArray(known.map(({ log }) => log)),
      pgArray(known.map(({ from }) => from)),
      pgArray(known.map(({ to }) => to)),
    ];
    const result =
      id === null
        ? await pool.query({
            name: `${queries.name}-latest`,
            text: queries.latest,
            values: [threadId, namespace, ...columns],
          })
        : await pool.query({
            name: `${queries.name}-by-id`,
            text: queries.byId,
            values: [threadId, namespace, id, ...columns],
          });
    return readRows(result.rows as never, this.#parts.cipher);
  }

  /** What is known of a checkpoint, which is read where it is not; undefined where there is none. */
  async getOrRead(
    place: StoredCheckpointKey & { id: string },
  ): Promise<CachedCheckpoint | undefined> {
    const key = threadKey(place);
    const known = this.#parts.known.get(key, place.id);
    if (known !== undefined) return known;
    await this.read(place);
    return this.#parts.known.get(key, place.id);
  }

  /** Checkpoints newest first, with the means to load each of them. */
  async page(of: { where: string; values: readonly unknown[]; limit: number }): Promise<{
    rows: readonly CheckpointRow[];
    load: (row: CheckpointRow) => Promise<CheckpointTuple>;
  }> {
    const { queries, pool } = this.#parts;
    const result = await pool.query({ text: queries.page(of.where, of.limit), values: of.values });
    const read = readRows(result.rows as never, this.#parts.cipher);
    return { rows: read.checkpoints, load: (row) => this.load(row, read) };
  }

  /**
   * The newest checkpoint of a thread that `fits`, where it is neither the one that is known nor its parent.
   * @throws {CorruptCheckpointError} when none fits, and there is one of which that cannot be told
   */
  async find(
    { threadId, namespace }: Pick<StoredCheckpointKey, "threadId" | "namespace">,
    fits: (checkpoint: Pick<CachedCheckpoint, "versions">) => boolean,
  ): Promise<CachedCheckpoint | undefined> {
    const { queries, pool } = this.#parts;
    const bodies = await pool.query<Pick<CheckpointRow, "checkpoint_id" | "type" | "body">>(
      queries.bodies,
      [threadId, namespace],
    );
    let damaged: CorruptCheckpointError | undefined;
    for (const { checkpoint_id: id, type, body: stored } of bodies.rows) {
      if (stored === null) continue;
      const body = this.#open(stored, { threadId, namespace, id });
      try {
        const parsed = await this.#parse(type, body).catch((cause: unknown) => {
          throw new CorruptCheckpointError(threadId, namespace, id, "it cannot be read", { cause });
        });
        const { channel_versions: versions } = fromStoredBody(id, parsed);
        if (fits({ versions })) return await this.getOrRead({ threadId, namespace, id });
      } catch (thrown) {
        if (!(thrown instanceof CorruptCheckpointError)) throw thrown;
        damaged ??= thrown; // Another may have the same.
      }
    }
    if (damaged !== undefined) throw damaged;
    return undefined;
  }

  /** @throws {CorruptCheckpointError} */
  async load(
    row: CheckpointRow,
    rows: ReadRows,
    base?: CachedCheckpoint,
  ): Promise<CheckpointTuple> {
    const place = {
      threadId: row.thread_id,
      namespace: row.checkpoint_ns,
      id: row.checkpoint_id,
    };
    const configurable = (id: string) => ({
      thread_id: place.threadId,
      checkpoint_ns: place.namespace,
      checkpoint_id: id,
    });
    const config = { configurable: configurable(place.id) };
    const writes = await this.writesOf(row);
    if (isStockCheckpoint(row)) return this.#loadStock(row, config, writes);
    const { body, hash } = await this.body(row);
    const { layouts, bytes } = await this.#layouts(row, body, rows, base);
    const checkpoint = fromStoredBody(place.id, body);
    checkpoint.channel_values = Object.fromEntries(
      [...layouts].map(([channel, image]) => [channel, valueOf(image)]),
    );
    if (checkpoint.v < 4) await this.#takePendingSends(checkpoint, place, row.parent_checkpoint_id);
    const same = base?.hash?.equals(hash) === true ? base : undefined;
    this.#parts.known.add(threadKey(place), {
      id: place.id,
      parentId: row.parent_checkpoint_id,
      parentHash: row.parent_hash,
      hash,
      versions: checkpoint.channel_versions,
      seen: checkpoint.versions_seen,
      layouts,
      unstored: null,
      scalarLog: same?.scalarLog ?? null,
      writeSets: writeSetsOf(row),
      bytes: same?.bytes ?? bytes,
    });
    return {
      config,
      checkpoint,
      metadata: await loadMetadata(row.metadata),
      ...(row.parent_checkpoint_id !== null && {
        parentConfig: { configurable: configurable(row.parent_checkpoint_id) },
      }),
      pendingWrites: writes,
    };
  }

  async #loadStock(
    row: CheckpointRow,
    config: { configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string } },
    writes: CheckpointPendingWrite[],
  ): Promise<CheckpointTuple> {
    const tuple = await this.#parts.readStock(config).catch((thrown: unknown) => {
      // The stock class does not check what it reads.
      if (thrown instanceof TypeError) throw damagedRow(row, "it cannot be read", thrown);
      throw thrown;
    });
    if (tuple === undefined) throw damagedRow(row, "it was removed while it was read");
    const { checkpoint, parentConfig, ...rest } = tuple;
    const { thread_id: threadId, checkpoint_ns: namespace } = config.configurable;
    this.#parts.known.add(threadKey({ threadId, namespace }), {
      id: checkpoint.id,
      parentId: (parentConfig?.configurable?.["checkpoint_id"] as string | undefined) ?? null,
      parentHash: null,
      hash: null,
      versions: checkpoint.channel_versions,
      seen: checkpoint.versions_seen,
      layouts: new Map(),
      unstored: checkpoint.channel_values,
      scalarLog: null,
      writeSets: writeSetsOf(row),
      bytes: 0,
    });
    return {
      ...rest,
      checkpoint,
      ...(parentConfig && { parentConfig }),
      pendingWrites: [...(tuple.pendingWrites ?? []), ...writes],
    };
  }

  /** Until version 4 LangGraph kept sends with the writes of the checkpoint before. */
  async #takePendingSends(
    checkpoint: Checkpoint,
    { threadId, namespace }: StoredCheckpointKey,
    parentId: string | null,
  ): Promise<void> {
    const parent =
      parentId === null ? null : await this.read({ threadId, namespace, id: parentId });
    const sends = (parent?.pendingWrites ?? []).filter(([, channel]) => channel === TASKS);
    if (sends.length === 0) return;
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends.map(([, , send]) => send);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : nextChannelVersion(undefined);
  }

  /**
   * The body of a checkpoint of ours, checked.
   * @throws {CorruptCheckpointError}
   */
  async body(row: CheckpointRow): Promise<{ body: StoredBody; hash: Buffer }> {
    const { body, hash } = this.check(row);
    return { body: await this.#parse(row.type, body), hash };
  }

  /**
   * Checks all of a checkpoint but its elements.
   * @throws {CorruptCheckpointError}
   */
  check(row: CheckpointRow): { body: Buffer; hash: Buffer } {
    const { hash, body: stored, type } = row;
    if (stored === null) throw damagedRow(row, "its content is missing");
    if (hash === null) throw damagedRow(row, "its hash is missing");
    const key = { threadId: row.thread_id, namespace: row.checkpoint_ns, id: row.checkpoint_id };
    const body = this.#open(stored, key);
    const expected = checkpointHash({
      ...key,
      parentId: row.parent_checkpoint_id,
      parentHash: row.parent_hash,
      type,
      body,
      segments: (row.segments ?? []).map(Number),
      metadata: row.metadata,
      summary: row.summary,
    });
    if (!expected.equals(hash))
      throw damagedRow(row, "its content does not have the hash it was given");
    return { body, hash };
  }

  #open(body: Buffer, key: { threadId: string; namespace: string; id: string }): Buffer {
    return openOrKeep(this.#parts.cipher, body, sealContext.checkpoint(key));
  }

  async #parse(type: string | null, body: Buffer): Promise<StoredBody> {
    if (type === null) return JSON.parse(body.toString("utf8")) as StoredBody;
    return (await this.#parts.serde.loadsTyped(type, body)) as StoredBody;
  }

  async #layouts(
    row: CheckpointRow,
    body: StoredBody,
    rows: ReadRows,
    base?: CachedCheckpoint,
  ): Promise<{ layouts: Map<string, ValueLayout>; bytes: number }> {
    const segments = readSegments(row.segments);
    if (segments === null) throw damagedRow(row, "its places of elements cannot be read");
    const layouts = new Map<string, ValueLayout>();
    let bytes = base?.bytes ?? row.body?.byteLength ?? 0;
    const port: LoadPort = {
      element: (log, idx) => {
        const element = rows.element(log, idx);
        bytes += element?.blob.byteLength ?? 0;
        return element;
      },
      revive: (type, blob) => this.#parts.revive(type ?? "json", blob),
      reviveUnit: (element) => this.#reviveUnit(element),
      freeze: this.#parts.freeze,
      tailOf: (last) => this.#parts.tails.after(last, row.newest),
    };
    try {
      for (const [channel, stored] of Object.entries(body.values)) {
        layouts.set(channel, await loadValue(stored, segments, port, base?.layouts.get(channel)));
      }
    } catch (thrown) {
      if (!(thrown instanceof DamagedValue)) throw thrown;
      throw damagedRow(row, thrown.message, thrown);
    }
    return { layouts, bytes };
  }

  #reviveUnit(element: ReadElement): readonly unknown[] | Promise<readonly unknown[]> {
    const cached = this.#cache.get(element);
    if (cached !== undefined) return cached;
    const revived = this.#parts.revive(element.type ?? "json", element.blob);
    const keep = (unit: unknown): readonly unknown[] => {
      const items = unit as readonly unknown[];
      const { freeze } = this.#parts;
      if (items.every((item) => typeof item !== "object" || item === null || freeze(item))) {
        this.#cache.add(element, items);
      }
      return items;
    };
    return revived instanceof Promise ? revived.then(keep) : keep(revived);
  }

  /** @throws {CorruptCheckpointError} */
  writesOf(row: CheckpointRow): Promise<CheckpointPendingWrite[]> {
    return readWrites(row, this.#parts);
  }
}

/** The names of the sets of writes that were read with a checkpoint. */
export function writeSetsOf({
  write_tasks: tasks,
  write_idxs: idxs,
}: Pick<CheckpointRow, "write_tasks" | "write_idxs">): Set<WriteSetName> {
  const names = (tasks ?? []).map((taskId, at) => writeSetName({ taskId, idx: idxs![at]! }));
  return new Set(names.filter((name) => name !== null));
}

/** Of what is added to the columns of the stock class none is there. */
export function isStockCheckpoint({
  body,
  segments,
  hash,
  summary,
}: Record<"body" | "segments" | "hash" | "summary", unknown>): boolean {
  return body === null && segments === null && hash === null && summary === null;
}
