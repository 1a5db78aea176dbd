/** Something that is written again and again, with the number of its last write. */
interface Written {
  readonly position: number;
}

/**
 * Writes in their order, so that a reader walks only what is new. Of everything that was written more than once the last
 * write counts.
 */
export class WriteLog<T extends Written> {
  #writes: { readonly item: T; readonly position: number }[] = [];
  /** Writes that counted when the log was last compacted. */
  #compacted = 0;

  /** @param isThere whether an item was not removed */
  constructor(private readonly isThere: (item: T) => boolean) {}

  /** Adds a write under the item's position, which is higher than all before. */
  add(item: T): void {
    this.#writes.push({ item, position: item.position });
    if (this.#writes.length < 1_000 + 2 * this.#compacted) return;
    this.#writes = this.#writes.filter((one) => this.#counts(one));
    this.#compacted = this.#writes.length;
  }

  /** Returns the items that were written after a position, in the order of their last writes. */
  *after(position: number): Generator<T, void> {
    let [from, to] = [0, this.#writes.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#writes[middle]!.position > position) to = middle;
      else from = middle + 1;
    }
    for (let at = from; at < this.#writes.length; at += 1) {
      const write = this.#writes[at]!;
      if (this.#counts(write)) yield write.item;
    }
  }

  #counts({ item, position }: { readonly item: T; readonly position: number }): boolean {
    return item.position === position && this.isThere(item);
  }
}
