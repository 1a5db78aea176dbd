import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { StoredBody } from "../../checkpoint-body.ts";
import { countsDeltas } from "../../checkpoint-body.ts";
import { DamagedValue } from "../../elements/load-value.ts";
import type { StoredValue } from "../../elements/store-value.ts";
import { checkpointHash, type HashedCheckpoint, hashTree, type HashTree } from "../../integrity.ts";
import { writeSetName, type WriteSetName } from "../../checkpoint-cache.ts";
import { readSegments } from "../../rows.ts";
import { parseJson, type InspectValue, type UnitShape } from "./format.ts";

export interface CheckedCheckpoint extends HashedCheckpoint {
  readonly hash: Buffer;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly writeSets: readonly NamedWrites[];
}

interface NamedWrites {
  readonly idx: number;
  readonly taskId: string;
}

/** The facts about an element that checks need. */
export interface CheckedElement {
  readonly hash: Buffer;
  /** Null where it is no list; left out where it was not looked into. */
  readonly shape?: UnitShape | null;
  /** Why it cannot be read, where that was tried. */
  readonly problem?: string;
}

/** What was found to be sound. */
interface KnownSequence {
  /** Flat triples. */
  readonly segments: readonly number[];
  readonly tree: HashTree;
}

type StoredSequence = Extract<StoredValue, readonly ["l" | "m", ...unknown[]]>;

/** Maximum number of segments in which one checkpoint may use each element. */
const MAX_USES = 16;

/**
 * Checks the checkpoints of one thread, parents first, without reading values: of the elements it has to know the
 * hashes alone, so the memory it takes is a small part of the thread.
 */
export class CheckedThread {
  /** By log and index. */
  readonly #elements = new Map<number, Map<number, CheckedElement>>();
  #elementCount = 0;
  #hasShapes = false;
  /** Of the last checkpoint, by the place of a value; the next differs little. */
  readonly #sequences = new Map<string, KnownSequence>();
  /** By namespace and id; null for checkpoints of the stock class. */
  readonly #hashes = new Map<string, Buffer | null>();
  readonly #writeSets = new Map<string, ReadonlySet<WriteSetName | null>>();

  /** @param inspect is given the values that stand in checkpoints themselves */
  constructor(
    private readonly serde: SerializerProtocol,
    private readonly inspect?: InspectValue,
  ) {}

  has(log: number, idx: number): boolean {
    return this.#elements.get(log)?.has(idx) ?? false;
  }

  addElement(log: number, idx: number, element: CheckedElement): void {
    const elements = this.#elements.get(log) ?? new Map<number, CheckedElement>();
    this.#elements.set(log, elements.set(idx, element));
    this.#elementCount += 1;
    this.#hasShapes ||= element.shape !== undefined;
  }

  /** A checkpoint of the stock class, or one that was found to be damaged: of its content nothing is compared. */
  addStock(
    of: Pick<CheckedCheckpoint, "namespace" | "id"> & Partial<Pick<CheckedCheckpoint, "writeSets">>,
  ): void {
    this.#add(of, null);
  }

  /**
   * Checks a checkpoint whose elements were added.
   * @throws {DamagedValue} when it, an element of it, or its parent is not what it was
   */
  async check(checkpoint: CheckedCheckpoint): Promise<void> {
    const { namespace, parentId, parentHash, hash } = checkpoint;
    if (!checkpointHash(checkpoint).equals(hash))
      throw new DamagedValue("its content does not have the hash it was given");
    const parent = parentId === null ? undefined : this.#hashes.get(keyOf(namespace, parentId));
    if (parent && parentHash && !parent.equals(parentHash))
      throw new DamagedValue("its parent is another one than it was made from");
    const body = await this.#readBody(checkpoint);
    this.#checkElements(checkpoint, body);
    if (parentId !== null && countsDeltas(checkpoint.metadata))
      this.#checkDeltas(keyOf(namespace, parentId), body);
    this.#add(checkpoint, hash);
  }

  #add(
    { namespace, id, writeSets = [] }: Parameters<typeof this.addStock>[0],
    hash: Buffer | null,
  ) {
    this.#hashes.set(keyOf(namespace, id), hash);
    this.#writeSets.set(keyOf(namespace, id), new Set(writeSets.map(writeSetName)));
  }

  async #readBody({ type, body }: CheckedCheckpoint): Promise<StoredBody> {
    let stored: unknown;
    try {
      stored = type === null ? parseJson(body) : await this.serde.loadsTyped(type, body);
    } catch (cause) {
      throw new DamagedValue("its content cannot be read", { cause });
    }
    if (!isStoredBody(stored)) throw new DamagedValue("its content is not that of a checkpoint");
    return stored;
  }

  /** @see checkParent */
  #checkDeltas(parent: string, { parentWrites = [] }: StoredBody): void {
    const there = this.#writeSets.get(parent);
    if (there === undefined || parentWrites.some((name) => !there.has(name)))
      throw new DamagedValue("writes to its parent, which its delta channels need, are missing");
  }

  #checkElements({ namespace, segments }: CheckedCheckpoint, { values }: StoredBody): void {
    if (readSegments(segments) === null)
      throw new DamagedValue("its places of elements cannot be read");
    const most = MAX_USES * (this.#elementCount + 1);
    const elements = new SegmentElements(this.#elements, segments, most);
    for (const [channel, value] of Object.entries(values)) {
      this.#checkValue(value, elements, `${namespace}\n${channel}`);
    }
  }

  #checkValue(stored: unknown, elements: SegmentElements, place: string): void {
    if (!isStoredValue(stored)) throw new DamagedValue("a value is stored in no known way");
    switch (stored[0]) {
      case "i":
        this.inspect?.(null, Buffer.from(stored[1], "utf8"));
        return;
      case "b":
        this.inspect?.(stored[2], Buffer.from(stored[1], "base64"));
        return;
      case "e": {
        const [element] = elements.take(1);
        if (element?.hash.toString("base64") !== stored[1])
          throw new DamagedValue("a value was changed");
        return;
      }
      default:
        this.#checkSequence(stored, elements, place);
    }
  }

  #checkSequence(stored: StoredSequence, elements: SegmentElements, place: string): void {
    const segments = elements.segmentsOf(stored[1]);
    const before = this.#sequences.get(place);
    // Of elements with shapes each is looked at as a part of this very value.
    const known = before && !this.#hasShapes ? unitsInCommon(before.segments, segments) : 0;
    const units = elements.take(stored[1], known);
    const leaves = (before?.tree.leaves ?? [])
      .slice(0, known)
      .concat(units.map(({ hash }) => hash));
    const tree = hashTree(leaves, before && { tree: before.tree, until: known });
    if (tree.root.toString("base64") !== stored[2]) throw new DamagedValue("elements were changed");
    this.#sequences.set(place, { segments, tree });
    const nested = (stored[0] === "m" && stored[4]) || {};
    if (!units.every(({ shape }, at) => fits(shape, stored, at === units.length - 1)))
      throw new DamagedValue("an element is not part of a list or an object");
    for (const [key, value] of Object.entries(nested))
      this.#checkValue(value, elements, `${place}\n${key}`);
  }
}

/** Whether an element is a unit of a sequence. */
function fits(shape: CheckedElement["shape"], stored: StoredSequence, isLast: boolean): boolean {
  if (shape === undefined) return true;
  if (shape === null) return false;
  const [kind, , , stride, nested = {}] = stored;
  const isOdd = kind === "m" && shape.length % 2 === 1;
  // The value of the last key is stored by its own elements.
  const length = isOdd ? shape.length + 1 : shape.length;
  const isWhole = isLast ? length >= 1 && length <= stride : length === stride;
  if (!isWhole || kind === "l") return isWhole;
  return shape.hasKeys && (!isOdd || Object.hasOwn(nested, shape.lastKey as string));
}

function isStoredBody(value: unknown): value is StoredBody {
  if (!isObject(value)) return false;
  const { v, versions, channels, seen, values, parentWrites = [] } = value;
  return (
    typeof v === "number" &&
    Array.isArray(versions) &&
    isObject(channels) &&
    isObject(seen) &&
    Object.values(seen).every(isObject) &&
    isObject(values) &&
    Array.isArray(parentWrites)
  );
}

function isStoredValue(value: unknown): value is StoredValue {
  if (!Array.isArray(value)) return false;
  const [kind, content, more, stride, nested = {}] = value as readonly unknown[];
  switch (kind) {
    case "i":
    case "e":
      return typeof content === "string";
    case "b":
      return typeof content === "string" && (more === null || typeof more === "string");
    case "l":
    case "m":
      return (
        isCount(content, 0) && typeof more === "string" && isCount(stride, 1) && isObject(nested)
      );
    default:
      return false;
  }
}

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The elements of a checkpoint, from the first segment on. */
class SegmentElements {
  #at = 0;
  #taken = 0;

  constructor(
    private readonly elements: ReadonlyMap<number, ReadonlyMap<number, CheckedElement>>,
    private readonly segments: readonly number[],
    /** How many may be taken. */
    private readonly most: number,
  ) {}

  /** Peeks at the next segments. */
  segmentsOf(count: number): readonly number[] {
    const segments = this.segments.slice(this.#at, this.#at + 3 * count);
    if (segments.length < 3 * count) throw new DamagedValue("places of elements are missing");
    return segments;
  }

  /** Those in the next segments, without the first `known`. */
  take(count: number, known = 0): CheckedElement[] {
    const taken: CheckedElement[] = [];
    const segments = this.segmentsOf(count);
    this.#at += segments.length;
    let left = known;
    for (let at = 0; at < segments.length; at += 3) {
      const [log, from, to] = segments.slice(at, at + 3) as [number, number, number];
      const elements = this.elements.get(log);
      const skipped = Math.min(left, to - from);
      left -= skipped;
      for (let idx = from + skipped; idx < to; idx += 1) {
        const element = elements?.get(idx);
        if (element === undefined)
          throw new DamagedValue(`element ${idx} of log ${log} is missing`);
        if (element.problem !== undefined) throw new DamagedValue(element.problem);
        this.#taken += 1;
        if (this.#taken > this.most) throw new DamagedValue("it has its elements too often");
        taken.push(element);
      }
    }
    return taken;
  }
}

/** Of two lists of segments, how many elements at their start stand in the same places. */
function unitsInCommon(some: readonly number[], others: readonly number[]): number {
  let units = 0;
  for (let at = 0; at < some.length; at += 3) {
    const [log, from, to] = some.slice(at, at + 3) as [number, number, number];
    if (log !== others[at] || from !== others[at + 1]) break;
    const end = others[at + 2]!;
    units += Math.min(to, end) - from;
    if (to !== end) break;
  }
  return units;
}

function keyOf(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}
