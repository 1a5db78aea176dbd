import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { StoredValue } from "./elements/stored-value.ts";
import type { WriteSetName } from "./known-checkpoints.ts";

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
}

export function toStoredBody(
  checkpoint: Checkpoint,
  {
    values,
    parentWrites,
  }: {
    readonly values: readonly (readonly [string, StoredValue])[];
    readonly parentWrites: readonly WriteSetName[];
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
