import { hashTree, type HashTree } from "../hash-tree.ts";
import { hasOpenCalls } from "./open-calls.ts";
import { joinSegments, sliceSegments, type LogTail, type Segment } from "./log.ts";

/**
 * A list or a large object as it stands in logs: a sequence of units, each one row. A unit of a list holds one element
 * or, where elements are small, several; a unit of an object holds entries, as keys and values in turn.
 */
export interface Sequence {
  /** What the units hold, one unit after the other: the list's elements, or the object's keys and values. */
  readonly items: readonly unknown[];
  /** By item: 1 where it cannot change, so that it is the same as long as it is identical. */
  readonly fixed: Uint8Array;
  /** Items in a unit; the last unit may have fewer. */
  readonly stride: number;
  /** Of all units, in order. */
  readonly segments: readonly Segment[];
  readonly hashes: HashTree;
  /** Where further units of this sequence go. */
  readonly tail: LogTail | null;
}

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
  fix(item: object): boolean;
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
  // What is remembered is what is stored, whatever becomes of the list while it is being stored.
  const items = given.slice();
  const fixed = fixItems(items, base, port);
  const sources = await findSources(items, fixed, { base, stride: of.stride }, port);
  const unchanged = base !== null && sources.length === base.hashes.leaves.length;
  if (unchanged && sources.every((source, unit) => source === unit)) {
    return { ...base, items, fixed };
  }
  return write(items, fixed, { sources, base, stride: of.stride }, port);
}

function fixItems(
  items: readonly unknown[],
  base: Sequence | null,
  port: SequencePort,
): Uint8Array {
  const fixed = new Uint8Array(items.length);
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    const known = base !== null && base.fixed[at] === 1 && base.items[at] === item;
    if (at === items.length - 1 && hasOpenCalls(item)) continue;
    fixed[at] = known || isPrimitive(item) || port.fix(item) ? 1 : 0;
  }
  return fixed;
}

function isPrimitive(value: unknown): value is string | number | boolean | null | undefined {
  return value === null || (typeof value !== "object" && typeof value !== "function");
}

async function findSources(
  items: readonly unknown[],
  fixed: Uint8Array,
  of: { readonly base: Sequence | null; readonly stride: number },
  port: SequencePort,
): Promise<Source[]> {
  const { base, stride } = of;
  const units = Math.ceil(items.length / stride);
  const sources: Source[] = [];
  const finder = base === null ? null : new UnitFinder(base);
  // Where in the base the next unit is expected.
  let cursor = 0;
  for (let unit = 0; unit < units; unit += 1) {
    const here = { items, fixed, unit };
    let found = finder?.isAt(here, cursor) ? cursor : -1;
    const replaced =
      finder !== null &&
      cursor < finder.units &&
      (unit === units - 1
        ? cursor === finder.units - 1
        : finder.isAt({ ...here, unit: unit + 1 }, cursor + 1));
    const beyond = finder === null || cursor >= finder.units;
    if (found < 0 && !replaced && !beyond) found = finder.find(here);
    if (found < 0) {
      const encoded = await port.encode(items.slice(unit * stride, (unit + 1) * stride));
      if (finder?.hasHash(cursor, encoded.hash)) found = cursor;
      else if (!replaced && !beyond) found = finder.findHash(encoded.hash);
      if (found < 0) {
        sources.push(encoded);
        cursor += 1;
        continue;
      }
    }
    sources.push(found);
    cursor = found + 1;
  }
  return sources;
}

interface UnitOf {
  readonly items: readonly unknown[];
  readonly fixed: Uint8Array;
  readonly unit: number;
}

/** Looks units up in a sequence: by identity, and by hash. */
class UnitFinder {
  readonly units: number;
  #byItem: Map<unknown, number> | undefined;
  #byHash: Map<string, number> | undefined;

  constructor(private readonly base: Sequence) {
    this.units = base.hashes.leaves.length;
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
      if (fixed[start + offset] === 0 || this.base.fixed[there] === 0) return false;
      if (!Object.is(items[start + offset], this.base.items[there])) return false;
    }
    return true;
  }

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
  of: {
    readonly sources: readonly Source[];
    readonly base: Sequence | null;
    readonly stride: number;
  },
  port: SequencePort,
): Promise<Sequence> {
  const { base, stride } = of;
  let sources = of.sources;
  let runs = toRuns(sources, base);
  if (runs.length > MAX_SEGMENTS) {
    sources = await mergeRuns(sources, runs, { items, stride }, port);
    runs = toRuns(sources, base);
  }
  let tail = base?.tail ?? null;
  const segments: Segment[] = [];
  for (const run of runs) {
    if (run.kind === "kept") {
      segments.push(...run.segments);
      continue;
    }
    tail = await port.openTail(tail);
    const from = tail.next;
    for (const unit of run.units) port.append(tail, unit);
    segments.push({ log: tail.log, from, to: tail.next });
  }
  const leaves = sources.map((source) =>
    typeof source === "number" ? base!.hashes.leaves[source]! : source.hash,
  );
  return {
    items,
    fixed,
    stride,
    segments: joinSegments(segments),
    hashes: hashTree(leaves, base?.hashes),
    tail,
  };
}

/** Units that will stand next to each other in a log. */
type Run =
  | { readonly kind: "kept"; readonly units: number; readonly segments: readonly Segment[] }
  | { readonly kind: "new"; readonly units: readonly EncodedUnit[] };

function toRuns(sources: readonly Source[], base: Sequence | null): Run[] {
  const runs: Run[] = [];
  for (let start = 0, end = 0; start < sources.length; start = end) {
    const first = sources[start]!;
    end = start + 1;
    if (typeof first !== "number") {
      while (end < sources.length && typeof sources[end] !== "number") end += 1;
      runs.push({ kind: "new", units: sources.slice(start, end) as EncodedUnit[] });
      continue;
    }
    while (end < sources.length && sources[end] === first + end - start) end += 1;
    for (const segment of sliceSegments(base!.segments, first, first + end - start)) {
      runs.push({ kind: "kept", units: segment.to - segment.from, segments: [segment] });
    }
  }
  return runs;
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
