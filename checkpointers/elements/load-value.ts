import { hashTree } from "../integrity.ts";
import { type ValueLayout, NESTED, type StoredValue } from "./store-value.ts";
import {
  CHANGEABLE,
  IMMUTABLE,
  type LogTail,
  READ,
  type Segment,
  type Sequence,
  sliceSegments,
} from "./sequence.ts";
import { hasOpenCalls, reopen } from "./freeze.ts";
import { isSplittableList, isSplittableObject } from "./store-value.ts";

/** A row of the table of elements, as read. */
export interface ReadElement {
  readonly type: string | null;
  readonly blob: Buffer;
  readonly hash: Buffer;
}

export interface LoadPort {
  /** What stands at a place; undefined where nothing does. */
  element(log: number, idx: number): ReadElement | undefined;
  /** The value of bytes. */
  revive(type: string | null, blob: Buffer): unknown;
  /** What a unit holds: a list that is not to be changed. Its items may be ones that were given before. */
  reviveUnit(element: ReadElement): readonly unknown[] | Promise<readonly unknown[]>;
  freeze(item: object): boolean;
  /** Where a sequence that ends there may go on. */
  tailOf(last: Segment): LogTail | null;
}

/** What is read is not what was written; `message` says how, as part of a sentence. */
export class DamagedValue extends Error {}

/**
 * Reads a value back, and checks every element of it by its hash. Elements that were read before for `base`, from
 * the same positions, are taken from there unless they may have changed since; of them only the hashes are checked.
 * @param segments those of the value are taken off its front
 * @throws DamagedValue
 */
export async function loadValue(
  stored: StoredValue,
  segments: Segment[],
  port: LoadPort,
  base: ValueLayout | null = null,
): Promise<ValueLayout> {
  switch (stored[0]) {
    case "i":
    case "b": {
      const type = stored[0] === "i" ? null : stored[2];
      const data = Buffer.from(stored[1], stored[0] === "i" ? "utf8" : "base64");
      const value = notItself(await port.revive(type, data), data);
      return { kind: "inline", data, type, value, fixed: isWholeFixed(value, port) };
    }
    case "e": {
      const [segment] = takeSegments(segments, 1);
      const element = read(segment!.log, segment!.from, port);
      if (element.hash.toString("base64") !== stored[1])
        throw new DamagedValue("a value was changed");
      const value = notItself(await port.revive(element.type, element.blob), element.blob);
      return {
        kind: "leaf",
        segment: segment!,
        hash: element.hash,
        value,
        fixed: isWholeFixed(value, port),
      };
    }
    case "l":
      return {
        kind: "list",
        sequence: await loadSequence(stored, segments, port, sequenceOf(base, "list")),
      };
    case "m": {
      const sequence = await loadSequence(stored, segments, port, sequenceOf(base, "map"));
      const nested = new Map<string, ValueLayout>();
      const known = base?.kind === "map" ? base.nested : nested;
      for (const [key, value] of Object.entries(stored[4] ?? {})) {
        nested.set(key, await loadValue(value, segments, port, known.get(key)));
      }
      return { kind: "map", sequence, nested };
    }
  }
}

function sequenceOf(base: ValueLayout | null, kind: "list" | "map"): Sequence | null {
  return base?.kind === kind ? base.sequence : null;
}

/** The segments whose elements {@link loadValue} takes from a layout. */
export function reusableSegments(layout: ValueLayout): readonly Segment[] {
  if (layout.kind !== "list" && layout.kind !== "map") return [];
  const { sequence } = layout;
  const own = sliceSegments(sequence.segments, 0, reusableUnits(sequence));
  if (layout.kind === "list") return own;
  return [...own, ...[...layout.nested.values()].flatMap(reusableSegments)];
}

/** Units at the start of a sequence whose items were all read. */
function reusableUnits({ fixed, stride, hashes }: Sequence): number {
  const others = [CHANGEABLE, IMMUTABLE].map((kind) => fixed.indexOf(kind));
  const first = Math.min(...others.filter((at) => at !== -1));
  return Number.isFinite(first) ? Math.floor(first / stride) : hashes.leaves.length;
}

/** Units at the start that stand at the same positions in both. */
function unitsInCommon(ones: readonly Segment[], others: readonly Segment[]): number {
  let common = 0;
  let [at, other] = [0, 0];
  let [skipped, otherSkipped] = [0, 0];
  while (at < ones.length && other < others.length) {
    const [one, two] = [ones[at]!, others[other]!];
    const from = one.from + skipped;
    if (one.log !== two.log || from !== two.from + otherSkipped) break;
    const length = Math.min(one.to, two.to) - from;
    common += length;
    skipped += length;
    otherSkipped += length;
    if (from + length === one.to) [at, skipped] = [at + 1, 0];
    if (from + length === two.to) [other, otherSkipped] = [other + 1, 0];
  }
  return common;
}

/** The value of an image, in containers of its own. */
export function valueOf(image: ValueLayout): unknown {
  if (image.kind === "inline" || image.kind === "leaf") return image.value;
  const { items } = image.sequence;
  if (image.kind === "list") return items.slice();
  const object: Record<string, unknown> = {};
  for (let at = 0; at < items.length; at += 2) {
    const key = items[at] as string;
    const value = items[at + 1];
    object[key] = value === NESTED ? valueOf(image.nested.get(key)!) : value;
  }
  return object;
}

async function loadSequence(
  stored: Extract<StoredValue, readonly ["l" | "m", ...unknown[]]>,
  segments: Segment[],
  port: LoadPort,
  given: Sequence | null,
): Promise<Sequence> {
  const [kind, count, root, stride] = stored;
  const own = takeSegments(segments, count);
  const base = given?.stride === stride ? given : null;
  const known =
    base === null ? 0 : Math.min(unitsInCommon(own, base.segments), reusableUnits(base));
  const elements: ReadElement[] = [];
  for (const { log, from, to } of sliceSegments(own, known, Number.POSITIVE_INFINITY)) {
    for (let idx = from; idx < to; idx += 1) elements.push(read(log, idx, port));
  }
  const leaves = base === null ? [] : base.hashes.leaves.slice(0, known);
  for (const { hash } of elements) leaves.push(hash);
  const hashes = hashTree(leaves, base === null ? undefined : { tree: base.hashes, until: known });
  if (hashes.root.toString("base64") !== root) throw new DamagedValue("elements were changed");
  const items = base === null ? [] : base.items.slice(0, known * stride);
  const before = items.length;
  for (const element of elements) {
    const revived = port.reviveUnit(element);
    const unit = revived instanceof Promise ? await revived : revived;
    for (const item of unit) items.push(item);
    if (kind === "m" && unit.length % 2 === 1) items.push(NESTED);
  }
  const newest = items.at(-1);
  const open = kind === "l" && hasOpenCalls(newest);
  if (open && Object.isFrozen(newest)) items[items.length - 1] = reopen(newest);
  const fixed = new Uint8Array(items.length).fill(READ);
  for (let at = before; at < items.length; at += 1) {
    if (!isFixed(items[at], port)) fixed[at] = CHANGEABLE;
  }
  if (open) fixed[items.length - 1] = CHANGEABLE;
  const last = own.at(-1);
  return { items, fixed, stride, segments: own, hashes, tail: last ? port.tailOf(last) : null };
}

function isFixed(value: unknown, port: LoadPort): boolean {
  return typeof value !== "object" || value === null || port.freeze(value);
}

/** Bytes are copied: callers must not get the cached buffer. */
function notItself(value: unknown, bytes: Buffer): unknown {
  return value === bytes ? Buffer.from(bytes) : value;
}

function takeSegments(segments: Segment[], count: number): Segment[] {
  if (segments.length < count) throw new DamagedValue("places of elements are missing");
  return segments.splice(0, count);
}

function read(log: number, idx: number, port: LoadPort): ReadElement {
  const element = port.element(log, idx);
  if (element === undefined) throw new DamagedValue(`element ${idx} of log ${log} is missing`);
  return element;
}

/** As when it is stored: small lists and objects are not made unchangeable. */
function isWholeFixed(value: unknown, port: LoadPort): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !isSplittableList(value) && !isSplittableObject(value) && port.freeze(value);
}
