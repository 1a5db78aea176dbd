import { randomBytes } from "node:crypto";
import type { ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import { canonicalHash } from "../src/values/json.ts";
import { type CheckpointQueries, pgArray, retryConflicts } from "./queries.ts";
import type {
  ChannelVersions,
  Checkpoint,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { ThreadPool } from "../src/storage/tenant-pool.ts";
import type { CheckpointReader } from "./checkpoint-reader.ts";
import { checkpointSummary, toJsonb, toStoredBody } from "./checkpoint-body.ts";
import { checkpointHash, sealContext, writesHash } from "./integrity.ts";
import { ElementBatch, elementColumns, type LogIds, type LogPositions } from "./log-positions.ts";
import { countsDeltas } from "./listing.ts";
import { type ValueLayout, segmentsOf, toStoredValue } from "./elements/stored-value.ts";
import { storeForeign, storeValue, type DumpedValue } from "./elements/store-value.ts";
import {
  threadKey,
  withoutElements,
  writeSetName,
  type CachedCheckpoint,
  type CheckpointCache,
  type WriteSetName,
} from "./checkpoint-cache.ts";
import {
  isReplacing,
  type DumpedWrite,
  toWriteSets,
  writeColumns,
  writeIndex,
  WriteQueue,
} from "./pending-writes.ts";

export interface WriterDeps {
  readonly pool: ThreadPool;
  readonly queries: CheckpointQueries;
  readonly serde: SerializerProtocol;
  readonly known: CheckpointCache;
  readonly tails: LogPositions;
  readonly logIds: LogIds;
  readonly reader: CheckpointReader;
  readonly freeze: (item: object) => boolean;
  /** Whether the serializer is not LangGraph's own: bodies pass through it then. */
  readonly encrypts: boolean;
  readonly cipher: ValueCipher;
  /** Whether the cipher has a key to seal with. */
  readonly seals: boolean;
}

export interface NewCheckpointKey {
  readonly threadId: string;
  readonly namespace: string;
  readonly parentId: string | null;
}

interface Stored {
  /** By channel. */
  readonly layouts: ReadonlyMap<string, ValueLayout>;
  /** The checkpoints whose elements it may share. */
  readonly held: readonly CachedCheckpoint[];
}

/** An element stands where another was to go, or a checkpoint has the id already. */
const UNIQUE_VIOLATION = "23505";
/** Each attempt begins logs of its own, so a second one fails only where ids are not unique. */
const ATTEMPTS = 3;

/** Puts checkpoints and pending writes, one statement each. */
export class CheckpointWriter {
  readonly #parts: WriterDeps;
  /** By hash, those that are not in the database yet as far as is known here. */
  readonly #definitions = new Map<unknown, unknown>();

  readonly #queue: WriteQueue;

  constructor(parts: WriterDeps) {
    this.#parts = parts;
    this.#queue = new WriteQueue(parts.pool, parts.queries);
  }

  async put(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    of: { readonly metadata: Record<string, unknown>; readonly newVersions: ChannelVersions },
  ): Promise<void> {
    const endPut = this.#queue.beginPut(place.threadId);
    try {
      await this.#put(place, checkpoint, of);
    } finally {
      endPut();
    }
  }

  async #put(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    { metadata, newVersions }: Parameters<CheckpointWriter["put"]>[2],
  ): Promise<void> {
    const { threadId, namespace, parentId } = place;
    await this.#keepDefinition(threadId, metadata);
    let parent =
      parentId === null
        ? undefined
        : await this.#parts.reader.getOrRead({ threadId, namespace, id: parentId });
    for (let attempt = 1; ; attempt += 1) {
      const draft = new ElementBatch(
        {
          dump: (value) => this.#dump(value),
          freeze: this.#parts.freeze,
          newTail: async () => this.#parts.tails.begin(await this.#parts.logIds.take()),
        },
        parent?.scalarLog ?? null,
      );
      const stored = await this.#store(place, checkpoint, newVersions, parent, draft);
      try {
        const known = await this.#insert(place, checkpoint, { metadata, parent, draft, ...stored });
        if (known !== null) {
          this.#parts.known.add(threadKey(place), known);
          return;
        }
        // The parent was removed or replaced: this checkpoint must hold all of its values itself.
        this.#parts.known.withoutElements(threadKey(place));
        if (parent === undefined) continue;
        parent = { ...withoutElements(parent), hash: null };
        this.#parts.known.add(threadKey(place), parent);
      } catch (thrown) {
        if (!isTaken(thrown) || attempt === ATTEMPTS) throw thrown;
        draft.closeLogs(this.#parts.tails.all());
      }
    }
  }

  async putWrites(
    place: {
      readonly threadId: string;
      readonly namespace: string;
      readonly checkpointId: string;
      readonly taskId: string;
      readonly taskPath: string;
    },
    writes: PendingWrite[],
  ): Promise<void> {
    const dumped: DumpedWrite[] = [];
    for (const [at, write] of writes.entries()) {
      const { type, blob } = await this.#dump(write[1]);
      dumped.push({ idx: writeIndex(write, at), channel: write[0], type, blob });
    }
    const replacing = isReplacing(writes);
    const { threadId, namespace, checkpointId, taskId, taskPath } = place;
    const rows = toWriteSets(dumped, { replacing, taskPath }).map(({ idx, body: packed }) => {
      const body = this.#parts.cipher.sealBytes(packed, sealContext.writes({ ...place, idx }));
      const hash = writesHash({ ...place, idx, body });
      return { namespace, checkpointId, taskId, idx, body, hash };
    });
    if (rows.length === 0) return;
    if (!replacing) {
      await this.#queue.add(threadId, rows);
      this.#parts.known.addWrites(threadKey(place), checkpointId, setNames(rows));
      return;
    }
    const { queries, pool } = this.#parts;
    await pool.forThread(threadId).query({
      ...(rows.length === 1 && { name: `${queries.name}-replace-writes` }),
      text: queries.replaceWrites(rows.length),
      values: rows.flatMap(({ idx, body, hash }) => [
        threadId,
        namespace,
        checkpointId,
        taskId,
        idx,
        body,
        hash,
      ]),
    });
  }

  /** What a definition hash stands for, once for each. */
  async #keepDefinition(
    threadId: string,
    { definition_hash: hash }: Record<string, unknown>,
  ): Promise<void> {
    const definition = this.#definitions.get(hash);
    if (definition === undefined) return;
    const { queries, pool } = this.#parts;
    const stored = toJsonb(definition);
    // One that `jsonb` cannot hold exactly is not kept: under its hash no other may stand.
    if (canonicalHash(stored) === hash) {
      await pool.forThread(threadId).query(queries.putDefinition, [hash, JSON.stringify(stored)]);
    }
    this.#definitions.delete(hash);
  }

  /** To be kept with the first checkpoint that was made under it. */
  rememberDefinition(hash: string, definition: unknown): void {
    this.#definitions.set(hash, definition);
  }

  #dump(value: unknown): DumpedValue | Promise<DumpedValue> {
    const { serde } = this.#parts;
    return serde.dumpsTyped(value).then(([type, blob]) => ({
      type: type === "json" ? null : type,
      blob,
    }));
  }

  /** Of what is new in this checkpoint, and of what it takes over. */
  async #store(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    newVersions: ChannelVersions,
    parent: CachedCheckpoint | undefined,
    draft: ElementBatch,
  ): Promise<Stored> {
    const layouts = new Map<string, ValueLayout>();
    const holders = new Set<CachedCheckpoint>(parent && [parent]);
    const values = checkpoint.channel_values;
    for (const [channel, version] of Object.entries(checkpoint.channel_versions ?? {})) {
      const base = parent?.layouts.get(channel) ?? null;
      // Channels of LangGraph's own hold what came in and what is sent, objects of those who call.
      const store = channel.startsWith("__") ? storeForeign : storeValue;
      if (Object.hasOwn(newVersions, channel)) {
        if (!Object.hasOwn(values, channel)) continue;
        layouts.set(channel, await store(values[channel], base, draft));
        continue;
      }
      const holder = await this.#holderOf(place, { channel, version }, parent);
      const image = holder?.layouts.get(channel);
      if (holder !== undefined && image !== undefined) {
        holders.add(holder);
        layouts.set(channel, image);
      } else if (holder?.unstored && Object.hasOwn(holder.unstored, channel)) {
        layouts.set(channel, await store(holder.unstored[channel], base, draft));
      } else if (
        holder === undefined &&
        place.parentId !== null &&
        Object.hasOwn(values, channel)
      ) {
        // The checkpoint that held it was removed meanwhile.
        layouts.set(channel, await store(values[channel], base, draft));
      }
    }
    const held = [...holders].filter((holder) => holder.layouts.size > 0);
    return { layouts, held };
  }

  /** A checkpoint that has a channel at this version: the parent, or another of the thread. */
  async #holderOf(
    place: NewCheckpointKey,
    { channel, version }: { channel: string; version: string | number },
    parent: CachedCheckpoint | undefined,
  ): Promise<CachedCheckpoint | undefined> {
    const holds = ({ versions }: Pick<CachedCheckpoint, "versions">) =>
      versions[channel] === version;
    if (parent !== undefined && holds(parent)) return parent;
    const known = this.#parts.known.all(threadKey(place)).find(holds);
    return known ?? this.#parts.reader.find(place, holds);
  }

  async #insert(
    place: NewCheckpointKey,
    checkpoint: Checkpoint,
    of: {
      readonly metadata: Record<string, unknown>;
      readonly parent: CachedCheckpoint | undefined;
      readonly draft: ElementBatch;
    } & Stored,
  ): Promise<CachedCheckpoint | null> {
    const { threadId, namespace } = place;
    const { metadata, layouts, held, parent, draft } = of;
    const { parentId, parentHash } = parentOf(place, checkpoint, parent);
    const stored = [...layouts].map(([channel, image]) => [channel, toStoredValue(image)] as const);
    const writes = this.#queue.claim(threadId);
    const ofParent = (writes?.rows ?? []).filter((row) => {
      return row.namespace === namespace && row.checkpointId === parentId;
    });
    const parentWrites =
      parent !== undefined && countsDeltas(metadata)
        ? [...new Set([...parent.writeSets, ...setNames(ofParent)])]
        : [];
    const { type, body } = await this.#dumpBody(
      toStoredBody(checkpoint, { values: stored, parentWrites, salt: this.#salt() }),
    ).catch((thrown: unknown) => {
      writes?.release();
      throw thrown;
    });
    const segments = [...layouts.values()]
      .flatMap(segmentsOf)
      .flatMap(({ log, from, to }) => [log, from, to]);
    const added = draft.elements.reduce((sum, { blob }) => sum + blob.byteLength, 0);
    const summary = checkpointSummary(checkpoint, { parent, bytes: added + body.byteLength });
    const hash = checkpointHash({
      threadId,
      namespace,
      id: checkpoint.id,
      parentId,
      parentHash,
      type,
      body,
      segments,
      metadata,
      summary,
    });
    // Also for logs that are continued: the thread and its elements may have been deleted meanwhile.
    const logs = [...new Set(draft.elements.map(({ log }) => log))];
    const { queries, cipher } = this.#parts;
    const pool = this.#parts.pool.forThread(threadId);
    const sealed = draft.elements.map((element) => {
      const context = sealContext.element(element.log, element.idx);
      return { ...element, blob: cipher.sealBytes(element.blob, context) };
    });
    const insert = { name: `${queries.name}-put`, text: queries.put };
    const replace = { name: `${queries.name}-replace`, text: queries.replace };
    const statement = {
      ...(place.parentId === checkpoint.id ? replace : insert),
      values: [
        threadId,
        namespace,
        checkpoint.id,
        parentId,
        "null",
        type,
        cipher.sealBytes(body, sealContext.checkpoint({ ...place, id: checkpoint.id })),
        pgArray(segments),
        hash,
        parentHash,
        JSON.stringify(metadata),
        JSON.stringify(summary),
        pgArray(logs),
        ...elementColumns(sealed),
        held.map(({ id }) => id),
        held.map((holder) => holder.hash),
        ...writeColumns(writes?.rows ?? []),
      ],
    };
    const { rowCount } = await retryConflicts(() => pool.query(statement))
      .catch((thrown: unknown) => {
        if (!isViolation(thrown) || isTaken(thrown)) throw thrown;
        return retryConflicts(() => pool.query({ ...statement, ...replace }));
      })
      .catch((thrown: unknown) => {
        writes?.release();
        throw thrown;
      });
    writes?.written();
    if (rowCount === 0) return null;
    return {
      id: checkpoint.id,
      parentId,
      parentHash,
      hash,
      versions: checkpoint.channel_versions,
      seen: checkpoint.versions_seen,
      layouts,
      unstored: null,
      scalarLog: draft.scalarLog,
      writeSets: new Set(),
      bytes: (parent?.bytes ?? 0) + added,
    };
  }

  #salt(): string | undefined {
    return this.#parts.seals ? randomBytes(16).toString("base64url") : undefined;
  }

  async #dumpBody(body: unknown): Promise<{ type: string | null; body: Buffer }> {
    // LangGraph's serializer looks for messages and circles, of which there are none here.
    if (!this.#parts.encrypts) return { type: null, body: Buffer.from(JSON.stringify(body)) };
    const [type, bytes] = await this.#parts.serde.dumpsTyped(body);
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return { type: type === "json" ? null : type, body: buffer };
  }
}

function setNames(rows: readonly { idx: number; taskId: string }[]): WriteSetName[] {
  return rows.flatMap((row) => writeSetName(row) ?? []);
}

function isViolation(thrown: unknown): boolean {
  return (thrown as { code?: unknown }).code === UNIQUE_VIOLATION;
}

/** Whether another element stands where one was to go. */
function isTaken(thrown: unknown): boolean {
  const { constraint } = thrown as { constraint?: unknown };
  return isViolation(thrown) && constraint === "checkpoint_elements_pkey";
}

/** At the end of a run that keeps no other checkpoints LangGraph puts the one it began with again, on top of itself. */
function parentOf(
  { parentId }: NewCheckpointKey,
  { id }: Checkpoint,
  parent: CachedCheckpoint | undefined,
): Pick<CachedCheckpoint, "parentId" | "parentHash"> {
  if (parentId !== id) return { parentId, parentHash: parent?.hash ?? null };
  return { parentId: parent?.parentId ?? null, parentHash: parent?.parentHash ?? null };
}
