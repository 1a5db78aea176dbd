import { sha256 } from "../integrity.ts";
import {
  CHANGEABLE,
  type EncodedUnit,
  type LogTail,
  type Segment,
  type Sequence,
  type SequencePort,
  storeSequence,
} from "./sequence.ts";

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

/** Bytes up to which a value stands in the checkpoint itself: about what a row of its own costs. */
const INLINE_BYTES = 128;
/** Bytes from which a list or an object is stored by its elements. */
const SPLIT_BYTES = 1024;
/** Bytes that a unit of small elements is to have. */
const UNIT_BYTES = 1024;
/** Minimum bytes of an element or entry that gets a unit of its own. */
const LONE_BYTES = 128;
/** Bytes above which several small elements in a unit have grown too large for it. */
const COARSE_BYTES = 16 * UNIT_BYTES;
/** How deep objects within objects are stored by key. */
const MAX_DEPTH = 3;

export interface StorePort {
  /** Bytes by the serializer. `type` is null for JSON. */
  dump(value: unknown): DumpedValue | Promise<DumpedValue>;
  freeze(item: object): boolean;
  append(tail: LogTail, unit: EncodedUnit): void;
  openTail(tail: LogTail | null): LogTail | Promise<LogTail>;
  /** The log of values that are one element. */
  openScalarLog(): LogTail | Promise<LogTail>;
}

export interface DumpedValue {
  readonly type: string | null;
  readonly blob: Uint8Array;
}

/** The hash of an element. */
export function elementHash({ type, blob }: DumpedValue): Buffer {
  return type === null ? sha256(blob) : sha256(`${type}\0`, blob);
}

/**
 * Stores a channel's value, sharing with `base`, what the channel had before, all that is the same.
 * @returns the layout of the value; its new elements were passed to `port.append`
 */
export async function storeValue(
  value: unknown,
  base: ValueLayout | null,
  port: StorePort,
  depth = 0,
): Promise<ValueLayout> {
  if (base?.kind === "list" && isSplittableList(value)) {
    const stored = await storeList(value, base.sequence, base.sequence.stride, port);
    if (stored !== null) return stored;
  } else if (base?.kind === "map" && isSplittableObject(value)) {
    const stored = await storeMap(value, base, base.sequence.stride, port, depth);
    if (stored !== null) return stored;
  } else if (isKnown(value, base)) return base;
  // Before it becomes bytes: afterwards it could have changed.
  const fixed = isFixed(value, port);
  const dumped = await port.dump(value);
  return (
    (await split(value, dumped, port, depth)) ?? storeWhole(value, dumped, { base, fixed }, port)
  );
}

function isKnown(value: unknown, base: ValueLayout | null): base is ValueLayout {
  return (
    (base?.kind === "inline" || base?.kind === "leaf") && base.fixed && Object.is(base.value, value)
  );
}

async function split(
  value: unknown,
  dumped: DumpedValue,
  port: StorePort,
  depth: number,
): Promise<ValueLayout | null> {
  const size = dumped.blob.byteLength;
  if (size < SPLIT_BYTES || !canSplit(value, dumped)) return null;
  if (isSplittableList(value) && value.length > 1) {
    return storeList(value, null, strideOf(size, value.length), port);
  }
  if (depth < MAX_DEPTH && isSplittableObject(value)) {
    const entries = Object.keys(value).length;
    if (entries > 0) return storeMap(value, null, 2 * strideOf(size, entries), port, depth);
  }
  return null;
}

function strideOf(bytes: number, length: number): number {
  const each = bytes / length;
  return each >= LONE_BYTES ? 1 : Math.min(256, Math.ceil(UNIT_BYTES / each));
}

async function storeWhole(
  value: unknown,
  { type, blob }: DumpedValue,
  { base, fixed }: { readonly base: ValueLayout | null; readonly fixed: boolean },
  port: StorePort,
): Promise<ValueLayout> {
  // The serializer gives bytes as they are, and their owner may change them.
  const dumped = { type, blob: blob === value ? Buffer.from(blob) : blob };
  if (blob.byteLength <= INLINE_BYTES) {
    return { kind: "inline", data: dumped.blob, type, value, fixed };
  }
  const hash = elementHash(dumped);
  if (base?.kind === "leaf" && base.hash.equals(hash)) return { ...base, value, fixed };
  const heap = await port.openScalarLog();
  const segment = { log: heap.log, from: heap.next, to: heap.next + 1 };
  port.append(heap, { ...dumped, hash });
  return { kind: "leaf", segment, hash, value, fixed };
}

/** A value that others still hold and may change, like the input of a run: as one element, and not made unchangeable. */
export async function storeForeign(
  value: unknown,
  base: ValueLayout | null,
  port: StorePort,
): Promise<ValueLayout> {
  return storeWhole(value, await port.dump(value), { base, fixed: false }, port);
}

/** Small lists and objects stay as they are, so that nodes may add to them in place, and are written anew each time. */
function isFixed(value: unknown, port: StorePort): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !isSplittableList(value) && !isSplittableObject(value) && port.freeze(value);
}

async function storeList(
  list: readonly unknown[],
  base: Sequence | null,
  stride: number,
  port: StorePort,
): Promise<ValueLayout | null> {
  const sequence = await storeUnits(list, base, { stride, least: 1 }, port);
  return sequence && { kind: "list", sequence };
}

async function storeMap(
  object: Readonly<Record<string, unknown>>,
  base: MapLayout | null,
  stride: number,
  port: StorePort,
  depth: number,
): Promise<ValueLayout | null> {
  const items: unknown[] = [];
  const nested = new Map<string, ValueLayout>();
  const keys = Object.keys(object);
  for (const [at, key] of keys.entries()) {
    const value = object[key];
    const image =
      stride === 2 && depth < MAX_DEPTH - 1
        ? await storeNested(value, { base, key, at }, port, depth + 1)
        : null;
    if (image !== null) nested.set(key, image);
    items.push(key, image === null ? value : NESTED);
  }
  const units = base?.sequence ?? null;
  const sequence = await storeUnits(items, units, { stride, least: 2 }, port);
  return sequence && { kind: "map", sequence, nested };
}

/** A list or an object in an object, as a sequence of its own; null where it is small. */
async function storeNested(
  value: unknown,
  of: { readonly base: MapLayout | null; readonly key: string; readonly at: number },
  port: StorePort,
  depth: number,
): Promise<ValueLayout | null> {
  const { base, key, at } = of;
  if (!isSplittableList(value) && !isSplittableObject(value)) return null;
  const known = base?.nested.get(key);
  if (known?.kind === "list" && isSplittableList(value)) {
    return storeList(value, known.sequence, known.sequence.stride, port);
  }
  if (known?.kind === "map" && isSplittableObject(value)) {
    return storeMap(value, known, known.sequence.stride, port, depth);
  }
  const { items, fixed } = base?.sequence ?? { items: [], fixed: [] };
  const same =
    items[2 * at] === key && items[2 * at + 1] === value && fixed[2 * at + 1] !== CHANGEABLE;
  if (same) return null;
  return split(value, await port.dump(value), port, depth);
}

/** The serializer says so where it met what contains itself, or could not go on. */
const CIRCULAR = '"[Circular]"';
const FAILED = '"[unable to serialize';

/** Whether the serializer treats every part of the value as it would alone. Looks closely only where bytes do not tell. */
function canSplit(value: unknown, { type, blob }: DumpedValue): boolean {
  if (type === null) {
    const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
    if (bytes.indexOf(FAILED) === 0) return false;
    if (!bytes.includes(CIRCULAR)) return true;
  }
  return standsAlone(value);
}

/** Why a sequence cannot be stored in the units that were intended. */
class Unsuitable extends Error {
  constructor(readonly reason: "coarse" | "circular") {
    super(reason);
  }
}

/**
 * In units of `stride` items, or of `least` if such a unit would be large.
 * @returns null where an element cannot stand alone: it contains the whole that it is part of
 */
async function storeUnits(
  items: readonly unknown[],
  base: Sequence | null,
  { stride, least }: { readonly stride: number; readonly least: number },
  port: StorePort,
): Promise<Sequence | null> {
  const units: SequencePort = {
    encode: async (unit) => {
      const contents = unit.at(-1) === NESTED ? unit.slice(0, -1) : unit;
      const dumped = await port.dump(contents);
      if (!canSplit(contents, dumped)) throw new Unsuitable("circular");
      const { byteLength } = dumped.blob;
      if (unit.length > least && byteLength > COARSE_BYTES) throw new Unsuitable("coarse");
      return { ...dumped, hash: elementHash(dumped) };
    },
    freeze: (item) => port.freeze(item),
    append: (tail, unit) => port.append(tail, unit),
    openTail: (tail) => port.openTail(tail),
  };
  try {
    return await storeSequence(items, { base, stride }, units);
  } catch (thrown) {
    // All units are encoded before the first is appended.
    if (!(thrown instanceof Unsuitable)) throw thrown;
    if (thrown.reason === "circular") return null;
    return storeUnits(items, null, { stride: least, least }, port);
  }
}

/**
 * Whether the serializer can go all the way through the value, so that each part of it is stored the same whether alone
 * or within the whole: nothing in it contains itself, and there are no bigints, which fail as a whole.
 */
export function standsAlone(value: unknown): boolean {
  const sound = new Set<object>();
  const path = new Set<object>();

  function visit(inner: unknown): boolean {
    if (typeof inner === "bigint") return false;
    if (typeof inner !== "object" || inner === null || sound.has(inner)) return true;
    if (path.has(inner)) return false;
    path.add(inner);
    const stands = partsOf(inner).every(visit);
    path.delete(inner);
    sound.add(inner);
    return stands;
  }

  return visit(value);
}

function partsOf(value: object): unknown[] {
  if (value instanceof Uint8Array) return [];
  const collected = value instanceof Map || value instanceof Set ? [...value] : [];
  return [...collected, ...(Object.values(value) as unknown[])];
}

/** A list whose elements can be stored one by one: the serializer treats each as it would within the list. */
export function isSplittableList(value: unknown): value is readonly unknown[] {
  return (
    Array.isArray(value) &&
    Object.getPrototypeOf(value) === Array.prototype &&
    !Object.hasOwn(value, "toJSON")
  );
}

/** Keys by which the serializer takes an object for something else than itself. */
const READ_BY_SERIALIZER: ReadonlySet<string> = new Set(["lc", "lg_name", "toJSON", "__proto__"]);

/** An object whose values can be stored one by one. */
export function isSplittableObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return !Object.keys(value).some((key) => READ_BY_SERIALIZER.has(key));
}
