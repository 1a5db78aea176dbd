import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { CachedCheckpoint, WriteSetName } from "./checkpoint-cache.ts";
import { uuidV6Timestamp } from "./config.ts";
import { keepData } from "./elements/revive.ts";
import type { StoredValue } from "./elements/store-value.ts";

/** A checkpoint as it is written: each version stands once, and is referred to by its place in the list. */
export interface StoredBody {
  readonly v: number;
  readonly ts: string;
  readonly versions: readonly (string | number)[];
  /** By channel. */
  readonly channels: Readonly<Record<string, number>>;
  /** By node and channel. */
  readonly seen: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** By channel, for those that have a value. */
  readonly values: Readonly<Record<string, StoredValue>>;
  /** What else LangGraph has in a checkpoint. */
  readonly rest?: Readonly<Record<string, unknown>>;
  /** The parent's sets of writes that this one was made from, where its delta channels are put together from them. */
  readonly parentWrites?: readonly WriteSetName[];
  /** Random characters in a body that is sealed: its hash stands readable, and must not confirm a guess at the content. */
  readonly salt?: string;
}

export function toStoredBody(
  checkpoint: Checkpoint,
  {
    values,
    parentWrites,
    salt,
  }: {
    readonly values: readonly (readonly [string, StoredValue])[];
    readonly parentWrites: readonly WriteSetName[];
    readonly salt: string | undefined;
  },
): StoredBody {
  const {
    v,
    id: _id,
    ts,
    channel_values: _values,
    channel_versions,
    versions_seen,
    ...rest
  } = checkpoint;
  const places = new Map<string | number, number>();
  const place = (version: string | number): number => {
    const known = places.get(version);
    if (known !== undefined) return known;
    places.set(version, places.size);
    return places.size - 1;
  };
  const channels = mapValues(channel_versions ?? {}, place);
  const seen = mapValues(versions_seen ?? {}, (of) => mapValues(of, place));
  return {
    v,
    ts,
    versions: [...places.keys()],
    channels,
    seen,
    values: Object.fromEntries(values),
    ...(Object.keys(rest).length > 0 && { rest }),
    ...(parentWrites.length > 0 && { parentWrites }),
    ...(salt !== undefined && { salt }),
  };
}

/** The checkpoint without its values. */
export function fromStoredBody(id: string, body: StoredBody): Checkpoint {
  const version = (place: number) => body.versions[place] as number;
  return {
    ...body.rest,
    v: body.v,
    id,
    ts: body.ts,
    channel_values: {},
    channel_versions: mapValues(body.channels, version),
    versions_seen: mapValues(body.seen, (of) => mapValues(of, version)),
  };
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** Characters of the id of a run. */
const maxRunIdChars = 200;

/** LangGraph's own, whatever serializer the values have: metadata is never encrypted, since filters look into it. */
const json = keepData();
const decoder = new TextDecoder();

/** Metadata as `jsonb` keeps it, with what LangGraph leaves to savers to add. */
export async function dumpMetadata(
  metadata: CheckpointMetadata,
  of: {
    /** Hash of the definition that the graph was compiled from. */
    readonly definition: unknown;
    /** Id of the run, which LangGraph's savers take from the metadata of the config. */
    readonly runId: unknown;
  },
): Promise<Record<string, unknown>> {
  const { definition, runId } = of;
  const stamped = {
    ...metadata,
    ...(typeof runId === "string" && { run_id: runId.slice(0, maxRunIdChars) }),
    ...(typeof definition === "string" && { definition_hash: definition }),
  };
  const [, bytes] = await json.dumpsTyped(stamped);
  return toJsonb(JSON.parse(decoder.decode(bytes))) as Record<string, unknown>;
}

export async function loadMetadata(stored: unknown): Promise<CheckpointMetadata> {
  return (await json.loadsTyped("json", JSON.stringify(stored))) as CheckpointMetadata;
}

const UNSTORABLE = /\0|\p{Surrogate}/gu;

/** Whether `jsonb` can hold JSON data as it is. */
export function fitsJsonb(value: unknown): boolean {
  if (typeof value === "string") return value.search(UNSTORABLE) === -1;
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => fitsJsonb(key) && fitsJsonb(inner));
}

/**
 * A copy of JSON data that `jsonb` can hold. It has no NUL characters and no halves of surrogate pairs, and refuses a
 * document with one of them anywhere: NULs are left out, halves become U+FFFD, in keys as in values.
 */
export function toJsonb(value: unknown): unknown {
  if (typeof value === "string")
    return value.replace(UNSTORABLE, (found) => (found === "\0" ? "" : "\uFFFD"));
  if (Array.isArray(value)) return value.map(toJsonb);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [toJsonb(key) as string, toJsonb(inner)]),
  );
}

/** Returns the summary of a checkpoint, which is stored in its row for listings. */
export function checkpointSummary(
  checkpoint: Checkpoint,
  of: { readonly parent: CachedCheckpoint | undefined; readonly bytes: number },
): unknown {
  return toJsonb({
    nodes: nodesThatRan(checkpoint, of.parent),
    status: statusOf(checkpoint),
    ...agentOf(checkpoint),
    bytes: of.bytes,
    // Ids of LangGraph's own tell when they were made.
    ...(uuidV6Timestamp(checkpoint.id) === null && { at: checkpoint.ts }),
  });
}

/** Nodes whose view of the channels is another than in the parent. */
function nodesThatRan(checkpoint: Checkpoint, parent: CachedCheckpoint | undefined): string[] {
  if (parent === undefined) return [];
  return Object.entries(checkpoint.versions_seen ?? {})
    .filter(([node, seen]) => {
      if (node.startsWith("__")) return false;
      const before = parent.seen[node] ?? {};
      return Object.entries(seen).some(([channel, version]) => before[channel] !== version);
    })
    .map(([node]) => node);
}

function agentOf({ channel_values }: Checkpoint): { readonly agent?: string } {
  const { turn } = channel_values as { turn?: { agent?: unknown } | null };
  return typeof turn?.agent === "string" ? { agent: turn.agent } : {};
}

function statusOf({ channel_values }: Checkpoint): string | null {
  const { status } = channel_values as { status?: unknown };
  return typeof status === "string" ? status : null;
}

/** Whether delta channels of a checkpoint are put together from what was written to its parent. */
export function countsDeltas(metadata: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(countersIn(metadata) ?? {}).length > 0;
}

/** Of each delta channel that a checkpoint has no value of, the updates and the steps since one had. */
export function countersIn(metadata: Readonly<Record<string, unknown>>) {
  const counters = metadata["counters_since_delta_snapshot"];
  if (typeof counters !== "object" || counters === null) return undefined;
  return counters as Readonly<Record<string, unknown>>;
}
