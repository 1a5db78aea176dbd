/** Values made from texts, for as long as the texts are few and short; then all are forgotten together. */
export class TextCache<T> {
  readonly #values = new Map<string, T>();
  readonly #most: { readonly texts: number; readonly characters: number };
  #characters = 0;

  constructor(most: { readonly texts: number; readonly characters: number }) {
    this.#most = most;
  }

  get(text: string, make: () => T): T {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    const made = make();
    const { texts, characters } = this.#most;
    if (text.length > characters) return made;
    if (this.#values.size >= texts || this.#characters + text.length > characters) {
      this.#values.clear();
      this.#characters = 0;
    }
    this.#values.set(text, made);
    this.#characters += text.length;
    return made;
  }
}
