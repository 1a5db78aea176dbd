import { hashTree, type HashTree } from "../integrity.ts";
import { hasOpenCalls } from "./freeze.ts";

/**
 * A list or a large object as it stands in logs: a sequence of units, each one row. A unit of a list holds one element
 * or, where elements are small, several; a unit of an object holds entries, as keys and values in turn.
 */
export interface Sequence {
  /** What the units hold, one unit after the other: the list's elements, or the object's keys and values. */
  readonly items: readonly unknown[];
  /** By item: {@link CHANGEABLE}, {@link IMMUTABLE} or {@link READ}. */
  readonly fixed: Uint8Array;
  /** Items in a unit; the last unit may have fewer. */
  readonly stride: number;
  /** Of all units, in order. */
  readonly segments: readonly Segment[];
  readonly hashes: HashTree;
  /** Where further units of this sequence go. */
  readonly tail: LogTail | null;
}

/** An item that may have been changed in place since it was stored. */
export const CHANGEABLE = 0;
/** An item that is the same as long as it is identical. */
export const IMMUTABLE = 1;
/** An immutable item that was read: what any process reads. Of one that was written details may differ, such as `-0`. */
export const READ = 2;

/** A unit as bytes, with its hash. */
export interface EncodedUnit {
  readonly type: string | null;
  readonly blob: Uint8Array;
  readonly hash: Buffer;
}

export interface SequencePort {
  /** Units as bytes; the same items give the same bytes. */
  encode(items: readonly unknown[]): EncodedUnit | Promise<EncodedUnit>;
  /** Makes an item unchangeable where that can be done, and says whether it is. Not asked for text, numbers and the like. */
  freeze(item: object): boolean;
  /** Writes a unit at the end of a log. */
  append(tail: LogTail, unit: EncodedUnit): void;
  /** The log that goes on behind `tail`, or a new one. */
  openTail(tail: LogTail | null): LogTail | Promise<LogTail>;
}

/** Above this many segments some of them are written again, next to each other. */
const MAX_SEGMENTS = 16;
/** How many are written again at a time. */
const MERGED_SEGMENTS = 8;

/** A unit of the new sequence: one of the base, or a new one. */
type Source = number | EncodedUnit;

/**
 * Stores `items` as a sequence that refers to units of `base` wherever they are the same, and writes the others. Costs
 * a comparison of identities for each item, and the serializer for what is new and for items that may have changed.
 */
export async function storeSequence(
  given: readonly unknown[],
  of: { readonly base: Sequence | null; readonly stride: number },
  port: SequencePort,
): Promise<Sequence> {
  const base = of.base?.stride === of.stride ? of.base : null;
  // A snapshot of what is stored, because the list may change meanwhile.
  const items = given.slice();
  const prefix = base === null ? 0 : unitsInCommon(items, base);
  const fixed = fixItems(items, { base, from: prefix * of.stride }, port);
  const found = { base, stride: of.stride, prefix };
  const rest = await findSources(items, fixed, found, port);
  const units = prefix + rest.length;
  if (units === base?.hashes.leaves.length && rest.every((at, unit) => at === prefix + unit)) {
    return { ...base, items, fixed };
  }
  return write(items, fixed, { ...found, rest }, port);
}

/** How many units at the start consist of the very items of the base, none of which can have changed. */
function unitsInCommon(items: readonly unknown[], base: Sequence): number {
  const length = Math.min(items.length, base.items.length);
  let at = 0;
  while (at < length && base.fixed[at] !== CHANGEABLE && base.items[at] === items[at]) at += 1;
  if (at > 0 && at === items.length && hasOpenCalls(items[at - 1])) at -= 1;
  if (at === items.length && at === base.items.length) return base.hashes.leaves.length;
  return Math.floor(at / base.stride);
}

function fixItems(
  items: readonly unknown[],
  { base, from }: { readonly base: Sequence | null; readonly from: number },
  port: SequencePort,
): Uint8Array {
  const fixed = new Uint8Array(items.length);
  if (base !== null) fixed.set(base.fixed.subarray(0, Math.min(from, items.length)));
  for (let at = from; at < items.length; at += 1) {
    const item = items[at];
    if (at === items.length - 1 && hasOpenCalls(item)) continue;
    fixed[at] = isPrimitive(item) || port.freeze(item) ? IMMUTABLE : CHANGEABLE;
  }
  return fixed;
}

function isPrimitive(value: unknown): value is string | number | boolean | null | undefined {
  return value === null || (typeof value !== "object" && typeof value !== "function");
}

interface Found {
  readonly base: Sequence | null;
  readonly stride: number;
  /** Units at the start that are the base's. */
  readonly prefix: number;
}

/** Where the units behind the prefix come from. */
async function findSources(
  items: readonly unknown[],
  fixed: Uint8Array,
  of: Found,
  port: SequencePort,
): Promise<Source[]> {
  const { base, stride, prefix } = of;
  const units = Math.ceil(items.length / stride);
  const sources: Source[] = [];
  const finder = base === null ? null : new UnitFinder(base);
  // Where in the base the next unit is expected.
  let cursor = prefix;
  for (let unit = prefix; unit < units; unit += 1) {
    const here = { items, fixed, unit };
    let found = finder?.isAt(here, cursor) ? cursor : -1;
    if (found < 0) {
      const moved =
        finder !== null &&
        !finder.endsAt(cursor) &&
        !finder.beginsAt(here, cursor) &&
        !isReplaced(here, units, cursor, finder);
      if (moved) found = finder.find(here);
      if (found < 0) {
        const encoded = await port.encode(items.slice(unit * stride, (unit + 1) * stride));
        if (finder?.hasHash(cursor, encoded.hash)) found = cursor;
        else if (moved) found = finder.findHash(encoded.hash);
        if (found < 0) {
          sources.push(encoded);
          cursor += 1;
          continue;
        }
      }
    }
    sources.push(found);
    cursor = found + 1;
  }
  return sources;
}

/** Whether the next unit is where it was, so that this one stands in the place of another. */
function isReplaced(here: UnitOf, units: number, cursor: number, finder: UnitFinder): boolean {
  if (here.unit === units - 1) return finder.endsAt(cursor + 1);
  return finder.isAt({ ...here, unit: here.unit + 1 }, cursor + 1);
}

interface UnitOf {
  readonly items: readonly unknown[];
  readonly fixed: Uint8Array;
  readonly unit: number;
}

/** Looks units up in a sequence: by identity, and by hash. */
class UnitFinder {
  private readonly units: number;
  #byItem: Map<unknown, number> | undefined;
  #byHash: Map<string, number> | undefined;

  constructor(private readonly base: Sequence) {
    this.units = base.hashes.leaves.length;
  }

  endsAt(cursor: number): boolean {
    return cursor >= this.units;
  }

  /** Whether a unit consists of the very items of the base's unit `at`, none of which can have changed. */
  isAt({ items, fixed, unit }: UnitOf, at: number): boolean {
    if (at < 0 || at >= this.units) return false;
    const { stride } = this.base;
    const start = unit * stride;
    const size = Math.min(stride, items.length - start);
    if (size !== Math.min(stride, this.base.items.length - at * stride)) return false;
    for (let offset = 0; offset < size; offset += 1) {
      const there = at * stride + offset;
      if (fixed[start + offset] === CHANGEABLE || this.base.fixed[there] === CHANGEABLE)
        return false;
      if (!Object.is(items[start + offset], this.base.items[there])) return false;
    }
    return true;
  }

  /** Whether a unit begins with the very item with which the base's unit `at` begins, however it was changed since. */
  beginsAt({ items, unit }: UnitOf, at: number): boolean {
    const { stride } = this.base;
    const first = items[unit * stride];
    return !isPrimitive(first) && first === this.base.items[at * stride];
  }

  /** Looks through the whole base once. */
  find(of: UnitOf): number {
    this.#byItem ??= new Map(
      Array.from({ length: this.units }, (_, unit) => [
        this.base.items[unit * this.base.stride],
        unit,
      ]),
    );
    const at = this.#byItem.get(of.items[of.unit * this.base.stride]) ?? -1;
    return this.isAt(of, at) ? at : -1;
  }

  hasHash(at: number, hash: Buffer): boolean {
    return this.base.hashes.leaves[at]?.equals(hash) ?? false;
  }

  findHash(hash: Buffer): number {
    this.#byHash ??= new Map(
      this.base.hashes.leaves.map((leaf, unit) => [leaf.toString("latin1"), unit]),
    );
    return this.#byHash.get(hash.toString("latin1")) ?? -1;
  }
}

async function write(
  items: readonly unknown[],
  fixed: Uint8Array,
  of: Found & { readonly rest: readonly Source[] },
  port: SequencePort,
): Promise<Sequence> {
  const { base, stride } = of;
  let { prefix, rest } = of;
  let runs = toRuns(prefix, rest, base);
  if (runs.length > MAX_SEGMENTS) {
    rest = await mergeRuns([...Array(prefix).keys(), ...rest], runs, { items, stride }, port);
    prefix = 0;
    runs = toRuns(prefix, rest, base);
  }
  let tail = base?.tail ?? null;
  const segments: Segment[] = [];
  for (const run of runs) {
    if (run.kind === "kept") {
      segments.push(run.segment);
      continue;
    }
    tail = await port.openTail(tail);
    const from = tail.next;
    for (const unit of run.units) port.append(tail, unit);
    segments.push({ log: tail.log, from, to: tail.next });
  }
  const added = rest.map((source) =>
    typeof source === "number" ? base!.hashes.leaves[source]! : source.hash,
  );
  const leaves = base === null ? added : [...base.hashes.leaves.slice(0, prefix), ...added];
  return {
    items,
    fixed,
    stride,
    segments: joinSegments(segments),
    hashes: hashTree(leaves, base === null ? undefined : { tree: base.hashes, until: prefix }),
    tail,
  };
}

/** Units that will stand next to each other in a log. */
type Run =
  | { readonly kind: "kept"; readonly units: number; readonly segment: Segment }
  | { readonly kind: "new"; readonly units: readonly EncodedUnit[] };

function toRuns(prefix: number, rest: readonly Source[], base: Sequence | null): Run[] {
  const runs = prefix === 0 ? [] : keptRuns(base!, 0, prefix);
  for (let start = 0, end = 0; start < rest.length; start = end) {
    const first = rest[start]!;
    end = start + 1;
    if (typeof first === "number") {
      while (end < rest.length && rest[end] === first + end - start) end += 1;
      runs.push(...keptRuns(base!, first, first + end - start));
    } else {
      while (end < rest.length && typeof rest[end] !== "number") end += 1;
      runs.push({ kind: "new", units: rest.slice(start, end) as EncodedUnit[] });
    }
  }
  return runs;
}

function keptRuns(base: Sequence, from: number, to: number): Run[] {
  return sliceSegments(base.segments, from, to).map((segment) => ({
    kind: "kept",
    units: segment.to - segment.from,
    segment,
  }));
}

/** Makes new units of the cheapest stretch of runs, so that it becomes one. */
async function mergeRuns(
  sources: readonly Source[],
  runs: readonly Run[],
  of: { readonly items: readonly unknown[]; readonly stride: number },
  port: SequencePort,
): Promise<Source[]> {
  const sizes = runs.map((run) => (run.kind === "kept" ? run.units : run.units.length));
  const width = runs.length - MAX_SEGMENTS + MERGED_SEGMENTS;
  let best = { first: 0, cost: Number.POSITIVE_INFINITY, start: 0 };
  for (let first = 0, start = 0; first + width <= runs.length; first += 1) {
    const cost = sizes.slice(first, first + width).reduce((sum, size) => sum + size, 0);
    if (cost < best.cost) best = { first, cost, start };
    start += sizes[first]!;
  }
  const merged = [...sources];
  for (let unit = best.start; unit < best.start + best.cost; unit += 1) {
    if (typeof merged[unit] !== "number") continue;
    merged[unit] = await port.encode(of.items.slice(unit * of.stride, (unit + 1) * of.stride));
  }
  return merged;
}

/** Elements `from` up to and without `to` of a log. */
export interface Segment {
  readonly log: number;
  readonly from: number;
  readonly to: number;
}

/** The end of a log, where this process appends. Values that stand in one log share this object. */
export interface LogTail {
  readonly log: number;
  /** Where the next element goes: behind all that this process knows of. */
  next: number;
  /** Another process has written there: the log must not be continued. */
  closed: boolean;
}

/** An element to write. `type` is null for JSON. */
export interface NewElement {
  readonly log: number;
  readonly idx: number;
  readonly type: string | null;
  readonly blob: Uint8Array;
}

/** Joins segments that follow each other in one log. */
function joinSegments(segments: readonly Segment[]): Segment[] {
  const joined: Segment[] = [];
  for (const segment of segments) {
    if (segment.from === segment.to) continue;
    const last = joined.at(-1);
    if (last?.log === segment.log && last.to === segment.from) {
      joined[joined.length - 1] = { ...last, to: segment.to };
    } else joined.push(segment);
  }
  return joined;
}

/** The segments of elements `from` up to and without `to`, counted from the start of the sequence. */
export function sliceSegments(segments: readonly Segment[], from: number, to: number): Segment[] {
  const slice: Segment[] = [];
  let start = 0;
  for (const { log, from: first, to: last } of segments) {
    const end = start + last - first;
    if (end > from && start < to) {
      slice.push({
        log,
        from: first + Math.max(0, from - start),
        to: last - Math.max(0, end - to),
      });
    }
    start = end;
  }
  return slice;
}
