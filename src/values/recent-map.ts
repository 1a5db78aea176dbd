/** The values that were used last, by key. */
export class RecentMap<Key, Value> {
  readonly #values = new Map<Key, Value>();

  /** @param max values that are held */
  constructor(private readonly max: number) {}

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.max && oldest !== undefined) this.#values.delete(oldest);
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }
}
