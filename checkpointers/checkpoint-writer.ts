import { canonicalHash } from "../src/values/json.ts";
import { type CheckpointQueries, pgArray, retryConflicts } from "./queries.ts";
import type {
  ChannelVersions,
  Checkpoint,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { DatabasePool } from "../src/storage/pool.ts";
import type { CheckpointReader } from "./checkpoint-reader.ts";
import { summarize, toJsonb, toStoredBody } from "./checkpoint-body.ts";
import { checkpointHash, writesHash } from "./integrity.ts";
import { Draft, elementColumns, type LogIds, type LogTails } from "./log-positions.ts";
import { countsDeltas } from "./listing.ts";
import { type Image, segmentsOf, toStoredValue } from "./elements/stored-value.ts";
import { storeForeign, storeValue, type Dumped } from "./elements/store-value.ts";
import {
  threadKey,
  withoutElements,
  writeSetName,
  type KnownCheckpoint,
  type KnownCheckpoints,
  type WriteSetName,
} from "./checkpoint-cache.ts";
import {
  areReplacing,
  type DumpedWrite,
  toWriteSets,
  writeColumns,
  writeIndex,
  WriteQueue,
} from "./pending-writes.ts";

export interface WriterParts {
  readonly pool: DatabasePool;
  readonly queries: CheckpointQueries;
  readonly serde: SerializerProtocol;
  readonly known: KnownCheckpoints;
  readonly tails: LogTails;
  readonly logIds: LogIds;
  readonly reader: CheckpointReader;
  readonly fix: (item: object) => boolean;
  /** Whether the serializer is not LangGraph's own: bodies pass through it then. */
  readonly encrypts: boolean;
}

export interface PutPlace {
  readonly threadId: string;
  readonly namespace: string;
  readonly parentId: string | null;
}

interface Stored {
  /** By channel. */
  readonly images: ReadonlyMap<string, Image>;
  /** The checkpoints whose elements it may share. */
  readonly held: readonly KnownCheckpoint[];
}

/** Something else of a log stands where an element was to go. */
const UNIQUE_VIOLATION = "23505";
/** Each attempt begins logs of its own, so a second one fails only where ids are not unique. */
const ATTEMPTS = 3;

/** Puts checkpoints and pending writes, one statement each. */
export class CheckpointWriter {
  readonly #parts: WriterParts;
  /** By hash, those that are not in the database yet as far as is known here. */
  readonly #definitions = new Map<unknown, unknown>();

  readonly #queue: WriteQueue;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#queue = new WriteQueue(parts.pool, parts.queries);
  }

  async put(
    place: PutPlace,
    checkpoint: Checkpoint,
    metadata: Record<string, unknown>,
    newVersions: ChannelVersions,
  ): Promise<void> {
    const { threadId, namespace, parentId } = place;
    await this.#keepDefinition(metadata);
    let parent =
      parentId === null
        ? undefined
        : await this.#parts.reader.know({ threadId, namespace, id: parentId });
    for (let attempt = 1; ; attempt += 1) {
      const draft = new Draft(
        {
          dump: (value) => this.#dump(value),
          fix: this.#parts.fix,
          newTail: async () => this.#parts.tails.begin(await this.#parts.logIds.take()),
        },
        parent?.heap ?? null,
      );
      const stored = await this.#store(place, checkpoint, newVersions, parent, draft);
      try {
        const known = await this.#insert(place, checkpoint, { metadata, parent, draft, ...stored });
        if (known !== null) {
          this.#parts.known.add(threadKey(place), known);
          return;
        }
        // Somebody removed or replaced what this one was made from: it has to hold all of its values itself.
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
    const replacing = areReplacing(writes);
    const { threadId, namespace, checkpointId, taskId, taskPath } = place;
    const rows = toWriteSets(dumped, { replacing, taskPath }).map(({ idx, body }) => {
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
    await pool.query({
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
  async #keepDefinition({ definition_hash: hash }: Record<string, unknown>): Promise<void> {
    const definition = this.#definitions.get(hash);
    if (definition === undefined) return;
    const { queries, pool } = this.#parts;
    const stored = toJsonb(definition);
    // One that `jsonb` cannot hold exactly is not kept: under its hash no other may stand.
    if (canonicalHash(stored) === hash) {
      await pool.query(queries.putDefinition, [hash, JSON.stringify(stored)]);
    }
    this.#definitions.delete(hash);
  }

  /** To be kept with the first checkpoint that was made under it. */
  rememberDefinition(hash: string, definition: unknown): void {
    this.#definitions.set(hash, definition);
  }

  #dump(value: unknown): Dumped | Promise<Dumped> {
    const { serde } = this.#parts;
    return serde.dumpsTyped(value).then(([type, blob]) => ({
      type: type === "json" ? null : type,
      blob,
    }));
  }

  /** Of what is new in this checkpoint, and of what it takes over. */
  async #store(
    place: PutPlace,
    checkpoint: Checkpoint,
    newVersions: ChannelVersions,
    parent: KnownCheckpoint | undefined,
    draft: Draft,
  ): Promise<Stored> {
    const images = new Map<string, Image>();
    const holders = new Set<KnownCheckpoint>(parent && [parent]);
    const values = checkpoint.channel_values;
    for (const [channel, version] of Object.entries(checkpoint.channel_versions ?? {})) {
      const base = parent?.images.get(channel) ?? null;
      // Channels of LangGraph's own hold what came in and what is sent, objects of those who call.
      const store = channel.startsWith("__") ? storeForeign : storeValue;
      if (Object.hasOwn(newVersions, channel)) {
        if (!Object.hasOwn(values, channel)) continue;
        images.set(channel, await store(values[channel], base, draft));
        continue;
      }
      const holder = await this.#holderOf(place, { channel, version }, parent);
      const image = holder?.images.get(channel);
      if (holder !== undefined && image !== undefined) {
        holders.add(holder);
        images.set(channel, image);
      } else if (holder?.unstored && Object.hasOwn(holder.unstored, channel)) {
        images.set(channel, await store(holder.unstored[channel], base, draft));
      } else if (
        holder === undefined &&
        place.parentId !== null &&
        Object.hasOwn(values, channel)
      ) {
        // Whoever had it was removed meanwhile.
        images.set(channel, await store(values[channel], base, draft));
      }
    }
    const held = [...holders].filter((holder) => holder.images.size > 0);
    return { images, held };
  }

  /** A checkpoint that has a channel at this version: the parent, or another of the thread. */
  async #holderOf(
    place: PutPlace,
    { channel, version }: { channel: string; version: string | number },
    parent: KnownCheckpoint | undefined,
  ): Promise<KnownCheckpoint | undefined> {
    const holds = ({ versions }: Pick<KnownCheckpoint, "versions">) =>
      versions[channel] === version;
    if (parent !== undefined && holds(parent)) return parent;
    const known = this.#parts.known.all(threadKey(place)).find(holds);
    return known ?? this.#parts.reader.find(place, holds);
  }

  async #insert(
    place: PutPlace,
    checkpoint: Checkpoint,
    of: {
      readonly metadata: Record<string, unknown>;
      readonly parent: KnownCheckpoint | undefined;
      readonly draft: Draft;
    } & Stored,
  ): Promise<KnownCheckpoint | null> {
    const { threadId, namespace } = place;
    const { metadata, images, held, parent, draft } = of;
    const { parentId, parentHash } = parentOf(place, checkpoint, parent);
    const stored = [...images].map(([channel, image]) => [channel, toStoredValue(image)] as const);
    const writes = this.#queue.take(threadId);
    const ofParent = (writes?.rows ?? []).filter((row) => {
      return row.namespace === namespace && row.checkpointId === parentId;
    });
    const parentWrites =
      parent !== undefined && countsDeltas(metadata)
        ? [...new Set([...parent.writeSets, ...setNames(ofParent)])]
        : [];
    const { type, body } = await this.#dumpBody(
      toStoredBody(checkpoint, { values: stored, parentWrites }),
    ).catch((thrown: unknown) => {
      writes?.giveBack();
      throw thrown;
    });
    const segments = [...images.values()]
      .flatMap(segmentsOf)
      .flatMap(({ log, from, to }) => [log, from, to]);
    const added = draft.elements.reduce((sum, { blob }) => sum + blob.byteLength, 0);
    const summary = summarize(checkpoint, { parent, bytes: added + body.byteLength });
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
    // Also of logs that are continued: somebody may have deleted the thread meanwhile, and what it used.
    const logs = [...new Set(draft.elements.map(({ log }) => log))];
    const { queries, pool } = this.#parts;
    const statement = {
      name: `${queries.name}-put`,
      text: queries.put,
      values: [
        threadId,
        namespace,
        checkpoint.id,
        parentId,
        "null",
        type,
        body,
        pgArray(segments),
        hash,
        parentHash,
        JSON.stringify(metadata),
        JSON.stringify(summary),
        pgArray(logs),
        ...elementColumns(draft.elements),
        held.map(({ id }) => id),
        held.map((holder) => holder.hash),
        ...writeColumns(writes?.rows ?? []),
      ],
    };
    const { rowCount } = await retryConflicts(() => pool.query(statement)).catch(
      (thrown: unknown) => {
        writes?.giveBack();
        throw thrown;
      },
    );
    writes?.written();
    if (rowCount === 0) return null;
    return {
      id: checkpoint.id,
      parentId,
      parentHash,
      hash,
      versions: checkpoint.channel_versions,
      seen: checkpoint.versions_seen,
      images,
      unstored: null,
      heap: draft.heap,
      writeSets: new Set(),
      bytes: (parent?.bytes ?? 0) + added,
    };
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

function isTaken(thrown: unknown): boolean {
  const { code, constraint } = thrown as { code?: unknown; constraint?: unknown };
  return code === UNIQUE_VIOLATION && constraint === "checkpoint_elements_pkey";
}

/** At the end of a run that keeps no other checkpoints LangGraph puts the one it began with again, on top of itself. */
function parentOf(
  { parentId }: PutPlace,
  { id }: Checkpoint,
  parent: KnownCheckpoint | undefined,
): Pick<KnownCheckpoint, "parentId" | "parentHash"> {
  if (parentId !== id) return { parentId, parentHash: parent?.hash ?? null };
  return { parentId: parent?.parentId ?? null, parentHash: parent?.parentHash ?? null };
}
