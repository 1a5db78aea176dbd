import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { StoredBody } from "../checkpoint-body.ts";
import { DamagedValue } from "../elements/load-value.ts";
import type { StoredValue } from "../elements/stored-value.ts";
import { hashTree, type HashTree } from "../hash-tree.ts";
import { checkpointHash, type HashedCheckpoint } from "../integrity.ts";

export interface CheckedCheckpoint extends HashedCheckpoint {
  readonly hash: Buffer;
}

/**
 * Checks the checkpoints of one thread, parents first, without reading values: of the elements it has to know the
 * hashes alone, so the memory it takes is a small part of the thread.
 */
export class CheckedThread {
  /** By log and index. */
  readonly #elements = new Map<number, Map<number, Buffer>>();
  /** Of the last checkpoint, by the place of a value; the next differs little. */
  readonly #trees = new Map<string, HashTree>();
  /** By namespace and id; null for checkpoints of the stock class. */
  readonly #hashes = new Map<string, Buffer | null>();

  constructor(private readonly serde: SerializerProtocol) {}

  has(log: number, idx: number): boolean {
    return this.#elements.get(log)?.has(idx) ?? false;
  }

  addElement(log: number, idx: number, hash: Buffer): void {
    const elements = this.#elements.get(log) ?? new Map<number, Buffer>();
    this.#elements.set(log, elements.set(idx, hash));
  }

  addStock(of: { readonly namespace: string; readonly id: string }): void {
    this.#hashes.set(keyOf(of.namespace, of.id), null);
  }

  /**
   * Checks a checkpoint whose elements were added.
   * @throws {DamagedValue} when it, an element of it, or its parent is not what it was
   */
  async check(checkpoint: CheckedCheckpoint): Promise<void> {
    const { namespace, id, parentId, parentHash, hash } = checkpoint;
    if (!checkpointHash(checkpoint).equals(hash))
      throw new DamagedValue("its content does not have the hash it was given");
    const parent = parentId === null ? undefined : this.#hashes.get(keyOf(namespace, parentId));
    if (parent && parentHash && !parent.equals(parentHash))
      throw new DamagedValue("its parent is another one than it was made from");
    this.#checkElements(checkpoint, await this.#readBody(checkpoint));
    this.#hashes.set(keyOf(namespace, id), hash);
  }

  async #readBody({ type, body }: CheckedCheckpoint): Promise<StoredBody> {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (type === null) return JSON.parse(text.toString("utf8")) as StoredBody;
    return (await this.serde.loadsTyped(type, body)) as StoredBody;
  }

  #checkElements({ namespace, segments }: CheckedCheckpoint, { values }: StoredBody): void {
    const hashes = new SegmentHashes(this.#elements, segments);
    for (const [channel, value] of Object.entries(values)) {
      this.#checkValue(value, hashes, `${namespace}\n${channel}`);
    }
  }

  #checkValue(stored: StoredValue, hashes: SegmentHashes, place: string): void {
    if (stored[0] === "i" || stored[0] === "b") return;
    if (stored[0] === "e") {
      const [hash] = hashes.take(1);
      if (hash?.toString("base64") !== stored[1]) throw new DamagedValue("a value was changed");
      return;
    }
    const before = this.#trees.get(place);
    const tree = hashTree(hashes.take(stored[1]), before && { tree: before, until: 0 });
    if (tree.root.toString("base64") !== stored[2]) throw new DamagedValue("elements were changed");
    this.#trees.set(place, tree);
    if (stored[0] === "l") return;
    for (const [key, value] of Object.entries(stored[4] ?? {}))
      this.#checkValue(value, hashes, `${place}\n${key}`);
  }
}

/** The hashes of the elements of a checkpoint, from the first segment on. */
class SegmentHashes {
  #at = 0;

  constructor(
    private readonly elements: ReadonlyMap<number, ReadonlyMap<number, Buffer>>,
    private readonly segments: readonly number[],
  ) {}

  /** Those in the next so many segments. */
  take(count: number): Buffer[] {
    const hashes: Buffer[] = [];
    for (const end = this.#at + 3 * count; this.#at < end; this.#at += 3) {
      const [log, from, to] = this.segments.slice(this.#at, this.#at + 3);
      if (log === undefined || from === undefined || to === undefined)
        throw new DamagedValue("places of elements are missing");
      const elements = this.elements.get(log);
      for (let idx = from; idx < to; idx += 1) {
        const hash = elements?.get(idx);
        if (hash === undefined) throw new DamagedValue(`element ${idx} of log ${log} is missing`);
        hashes.push(hash);
      }
    }
    return hashes;
  }
}

function keyOf(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}
