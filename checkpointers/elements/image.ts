import type { Segment } from "./log.ts";
import type { Sequence } from "./sequence.ts";

/** What this process knows of a stored value: where it stands, and what it was. */
export type Image = InlineImage | LeafImage | ListImage | MapImage;

/** Small: it stands in the checkpoint itself. */
export interface InlineImage {
  readonly kind: "inline";
  readonly data: Uint8Array;
  /** Of the serializer; null is JSON. */
  readonly type: string | null;
  readonly value: unknown;
  /** Whether the value cannot change. */
  readonly fixed: boolean;
}

/** One element. */
export interface LeafImage {
  readonly kind: "leaf";
  readonly segment: Segment;
  readonly hash: Buffer;
  readonly value: unknown;
  readonly fixed: boolean;
}

export interface ListImage {
  readonly kind: "list";
  readonly sequence: Sequence;
}

/** The sequence holds keys and values in turn, and {@link NESTED} for values that are sequences of their own. */
export interface MapImage {
  readonly kind: "map";
  readonly sequence: Sequence;
  readonly nested: ReadonlyMap<string, Image>;
}

/** Stands in a map's sequence for a value that is a sequence of its own. */
export const NESTED = Symbol("nested");

/** All segments of a value, in the order in which it is read. */
export function segmentsOf(image: Image): Segment[] {
  if (image.kind === "inline") return [];
  if (image.kind === "leaf") return [image.segment];
  if (image.kind === "list") return [...image.sequence.segments];
  return [...image.sequence.segments, ...[...image.nested.values()].flatMap(segmentsOf)];
}
