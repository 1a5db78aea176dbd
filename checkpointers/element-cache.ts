import type { ReadElement } from "./elements/load-value.ts";

/**
 * Units that were read before, by their hash, so many bytes of them, the ones used last. Only items that cannot change
 * are kept: whoever reads an element gets the same object.
 */
export class ElementCache {
  readonly #units = new Map<
    string,
    { readonly items: readonly unknown[]; readonly bytes: number }
  >();
  #bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get(element: ReadElement): readonly unknown[] | undefined {
    const key = element.hash.toString("latin1");
    const found = this.#units.get(key);
    if (found === undefined) return undefined;
    this.#units.delete(key);
    this.#units.set(key, found);
    return found.items;
  }

  add(element: ReadElement, items: readonly unknown[]): void {
    const bytes = element.blob.byteLength;
    if (bytes > this.maxBytes / 4) return;
    const key = element.hash.toString("latin1");
    if (this.#units.has(key)) return;
    this.#units.set(key, { items, bytes });
    this.#bytes += bytes;
    for (const [oldest, held] of this.#units) {
      if (this.#bytes <= this.maxBytes) break;
      this.#units.delete(oldest);
      this.#bytes -= held.bytes;
    }
  }
}
