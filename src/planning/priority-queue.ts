/** A binary heap. `push` and `pop` take the logarithm of what is in it. */
export class PriorityQueue<T> {
  readonly #heap: T[] = [];
  readonly #comesFirst: (a: T, b: T) => boolean;

  /** @param comesFirst whether `a` goes before `b`; equal ones go in any order */
  constructor(comesFirst: (a: T, b: T) => boolean) {
    this.#comesFirst = comesFirst;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** What `pop` gives next. */
  get first(): T | undefined {
    return this.#heap[0];
  }

  push(item: T): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as T;
      if (!this.#comesFirst(item, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = item;
  }

  pop(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length > 0) this.#sink(last as T);
    return first;
  }

  /** Puts `item` in the place of the first. */
  #sink(item: T): void {
    const heap = this.#heap;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = child + 1;
      const isRight = right < heap.length && this.#comesFirst(heap[right] as T, heap[child] as T);
      const lower = isRight ? right : child;
      if (!this.#comesFirst(heap[lower] as T, item)) break;
      heap[at] = heap[lower] as T;
      at = lower;
    }
    heap[at] = item;
  }
}
