/** The values that were used last, by key. */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, { readonly value: Value; readonly weight: number }>();
  #weight = 0;

  /**
   * @param max values that are held
   * @param maxWeight sum of the weights of the values that are held; the last one is held whatever its weight. Default: no limit
   */
  constructor(
    private readonly max: number,
    private readonly maxWeight = Number.POSITIVE_INFINITY,
  ) {}

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: Key, value: Value, weight = 0): void {
    this.delete(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      const isOver = this.#entries.size > this.max || this.#weight > this.maxWeight;
      if (!isOver || this.#entries.size === 1) return;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}
