import type { Segment, Sequence } from "./sequence.ts";

/**
 * The layout of a value in its checkpoint. Segments are stored separately, in the order of `segmentsOf`; of a sequence
 * their number is here, with the hash over its units. Hashes are base64.
 */
export type StoredValue =
  | readonly [kind: "i", text: string]
  | readonly [kind: "b", base64: string, type: string | null]
  | readonly [kind: "e", hash: string]
  | readonly [kind: "l", segments: number, root: string, stride: number]
  | readonly [
      kind: "m",
      segments: number,
      root: string,
      stride: number,
      nested?: Readonly<Record<string, StoredValue>>,
    ];

export function toStoredValue(image: ValueLayout): StoredValue {
  switch (image.kind) {
    case "inline":
      return inlineValue(image.data, image.type);
    case "leaf":
      return ["e", image.hash.toString("base64")];
    case "list":
    case "map": {
      const { segments, hashes, stride } = image.sequence;
      const root = hashes.root.toString("base64");
      if (image.kind === "list") return ["l", segments.length, root, stride];
      if (image.nested.size === 0) return ["m", segments.length, root, stride];
      const nested = [...image.nested].map(([key, value]) => [key, toStoredValue(value)] as const);
      return ["m", segments.length, root, stride, Object.fromEntries(nested)];
    }
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function inlineValue(data: Uint8Array, type: string | null): StoredValue {
  if (type === null) {
    try {
      return ["i", decoder.decode(data)];
    } catch {
      // Not text, though the serializer calls it JSON.
    }
  }
  return ["b", Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64"), type];
}

/** What this process knows of a stored value: where it stands, and what it was. */
export type ValueLayout = InlineLayout | LeafLayout | ListLayout | MapLayout;

/** Small: it stands in the checkpoint itself. */
export interface InlineLayout {
  readonly kind: "inline";
  readonly data: Uint8Array;
  /** Of the serializer; null is JSON. */
  readonly type: string | null;
  readonly value: unknown;
  /** Whether the value cannot change. */
  readonly fixed: boolean;
}

/** One element. */
export interface LeafLayout {
  readonly kind: "leaf";
  readonly segment: Segment;
  readonly hash: Buffer;
  readonly value: unknown;
  readonly fixed: boolean;
}

export interface ListLayout {
  readonly kind: "list";
  readonly sequence: Sequence;
}

/** The sequence holds keys and values in turn, and {@link NESTED} for values that are sequences of their own. */
export interface MapLayout {
  readonly kind: "map";
  readonly sequence: Sequence;
  readonly nested: ReadonlyMap<string, ValueLayout>;
}

/** Stands in a map's sequence for a value that is a sequence of its own. */
export const NESTED = Symbol("nested");

/** All segments of a value, in the order in which it is read. */
export function segmentsOf(image: ValueLayout): Segment[] {
  if (image.kind === "inline") return [];
  if (image.kind === "leaf") return [image.segment];
  if (image.kind === "list") return [...image.sequence.segments];
  return [...image.sequence.segments, ...[...image.nested.values()].flatMap(segmentsOf)];
}
