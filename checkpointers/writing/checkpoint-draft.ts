import { randomBytes } from "node:crypto";
import type {
  ChannelVersions,
  Checkpoint,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { ValueCipher } from "../../src/storage/encryption/value-cipher.ts";
import type { QueryConfig } from "../../src/storage/pool.ts";
import type { ThreadPool } from "../../src/storage/tenant-pool.ts";
import { checkpointSummary, countsDeltas, toStoredBody } from "../checkpoint-body.ts";
import {
  threadKey,
  writeSetName,
  type CachedCheckpoint,
  type CheckpointCache,
  type WriteSetName,
} from "../checkpoint-cache.ts";
import type { CheckpointReader } from "../checkpoint-reader.ts";
import { storeForeign, storeValue } from "../elements/store-value.ts";
import { type ValueLayout, segmentsOf, toStoredValue } from "../elements/store-value.ts";
import { checkpointHash, sealContext } from "../integrity.ts";
import {
  type ElementBatch,
  elementColumns,
  type LogIds,
  type LogPositions,
} from "./log-positions.ts";
import { type ClaimedWrites, type WriteSetRow, writeColumns } from "./pending-writes.ts";
import { type CheckpointQueries, pgArray } from "../queries.ts";

/** What writing checkpoints needs of the saver. */
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

/** A checkpoint as its statement stores it. */
export interface CheckpointDraft {
  readonly statement: QueryConfig;
  /** About what the statement sends. */
  readonly bytes: number;
  /** What is known of the checkpoint once it is stored. */
  readonly known: CachedCheckpoint;
  /** Pending writes that the statement stores with it. */
  readonly writes: ClaimedWrites | null;
}

export interface DraftOf {
  readonly metadata: Record<string, unknown>;
  readonly newVersions: ChannelVersions;
  readonly parent: CachedCheckpoint | undefined;
  /** Gathers the new elements. */
  readonly batch: ElementBatch;
  /** Pending writes of the thread. */
  readonly pending: {
    /** Those to be stored with the checkpoint. */
    claim(): ClaimedWrites | null;
    /** Those and others that puts under way store. */
    claimedRows(): readonly WriteSetRow[];
  };
}

/** Makes the statement that stores a checkpoint: what is new in it, and references to what it shares. */
export async function draftCheckpoint(
  parts: WriterDeps,
  place: NewCheckpointKey,
  checkpoint: Checkpoint,
  of: DraftOf,
): Promise<CheckpointDraft> {
  const { layouts, held } = await storeValues(parts, place, checkpoint, of);
  const writes = of.pending.claim();
  try {
    return await toDraft(parts, place, checkpoint, { ...of, layouts, held, writes });
  } catch (thrown) {
    writes?.release();
    throw thrown;
  }
}

interface Stored {
  /** By channel. */
  readonly layouts: ReadonlyMap<string, ValueLayout>;
  /** The checkpoints whose elements it may share. */
  readonly held: readonly CachedCheckpoint[];
}

/** Of what is new in this checkpoint, and of what it takes over. */
async function storeValues(
  parts: WriterDeps,
  place: NewCheckpointKey,
  checkpoint: Checkpoint,
  { newVersions, parent, batch }: DraftOf,
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
      layouts.set(channel, await store(values[channel], base, batch));
      continue;
    }
    const holder = await holderOf(parts, place, { channel, version }, parent);
    const image = holder?.layouts.get(channel);
    if (holder !== undefined && image !== undefined) {
      holders.add(holder);
      layouts.set(channel, image);
    } else if (holder?.unstored && Object.hasOwn(holder.unstored, channel)) {
      layouts.set(channel, await store(holder.unstored[channel], base, batch));
    } else if (holder === undefined && place.parentId !== null && Object.hasOwn(values, channel)) {
      // The checkpoint that held it was removed meanwhile.
      layouts.set(channel, await store(values[channel], base, batch));
    }
  }
  const held = [...holders].filter((holder) => holder.layouts.size > 0);
  return { layouts, held };
}

/** A checkpoint that has a channel at this version: the parent, or another of the thread. */
async function holderOf(
  { known, reader }: WriterDeps,
  place: NewCheckpointKey,
  { channel, version }: { channel: string; version: string | number },
  parent: CachedCheckpoint | undefined,
): Promise<CachedCheckpoint | undefined> {
  const holds = ({ versions }: Pick<CachedCheckpoint, "versions">) => versions[channel] === version;
  if (parent !== undefined && holds(parent)) return parent;
  return known.all(threadKey(place)).find(holds) ?? reader.find(place, holds);
}

async function toDraft(
  parts: WriterDeps,
  place: NewCheckpointKey,
  checkpoint: Checkpoint,
  of: DraftOf & Stored & { readonly writes: ClaimedWrites | null },
): Promise<CheckpointDraft> {
  const { threadId, namespace } = place;
  const { metadata, layouts, held, parent, batch, writes } = of;
  const { parentId, parentHash } = parentOf(place, checkpoint, parent);
  const stored = [...layouts].map(([channel, image]) => [channel, toStoredValue(image)] as const);
  const ofParent = of.pending.claimedRows().filter((row) => {
    return row.namespace === namespace && row.checkpointId === parentId;
  });
  const parentWrites =
    parent !== undefined && countsDeltas(metadata)
      ? [...new Set([...parent.writeSets, ...setNames(ofParent)])]
      : [];
  const salt = parts.seals ? randomBytes(16).toString("base64url") : undefined;
  const { type, body } = await dumpBody(
    parts,
    toStoredBody(checkpoint, { values: stored, parentWrites, salt }),
  );
  const segments = [...layouts.values()]
    .flatMap(segmentsOf)
    .flatMap(({ log, from, to }) => [log, from, to]);
  const added = batch.elements.reduce((sum, { blob }) => sum + blob.byteLength, 0);
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
  const logs = [...new Set(batch.elements.map(({ log }) => log))];
  const { queries, cipher } = parts;
  const sealed = batch.elements.map((element) => {
    const context = sealContext.element(element.log, element.idx);
    return { ...element, blob: cipher.sealBytes(element.blob, context) };
  });
  const isPutAgain = place.parentId === checkpoint.id;
  const statement = {
    name: `${queries.name}-${isPutAgain ? "replace" : "put"}`,
    text: isPutAgain ? queries.replace : queries.put,
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
  const known = {
    id: checkpoint.id,
    parentId,
    parentHash,
    hash,
    versions: checkpoint.channel_versions,
    seen: checkpoint.versions_seen,
    layouts,
    unstored: null,
    scalarLog: batch.scalarLog,
    writeSets: new Set<WriteSetName>(),
    bytes: (parent?.bytes ?? 0) + added,
  };
  const ofWrites = (writes?.rows ?? []).reduce((sum, row) => sum + row.body.byteLength, 0);
  return { statement, bytes: added + body.byteLength + ofWrites, known, writes };
}

async function dumpBody(
  { encrypts, serde }: WriterDeps,
  body: unknown,
): Promise<{ type: string | null; body: Buffer }> {
  // LangGraph's serializer looks for messages and circles, of which there are none here.
  if (!encrypts) return { type: null, body: Buffer.from(JSON.stringify(body)) };
  const [type, bytes] = await serde.dumpsTyped(body);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { type: type === "json" ? null : type, body: buffer };
}

/** Names of sets of writes that a delta channel may be put together from. */
export function setNames(rows: readonly { idx: number; taskId: string }[]): WriteSetName[] {
  return rows.flatMap((row) => writeSetName(row) ?? []);
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
