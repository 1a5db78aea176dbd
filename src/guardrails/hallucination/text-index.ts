/** Occurrences of one word that are kept, and compared with a part. */
const mostOccurrences = 400;
/** Characters that all searches for substrings may read, as a factor of the text's length. */
const searchFactor = 200;

const word = /[\p{L}\p{N}]+/gu;

/** A text in which many parts are looked up: in time linear in the text and the parts together, not in their product. */
export class TextIndex {
  readonly #text: string;
  readonly #occurrences = new Map<string, number[]>();
  readonly #substrings = new Map<string, boolean>();
  #left: number;

  constructor(text: string) {
    this.#text = text;
    this.#left = searchFactor * text.length;
    for (const { 0: one, index } of text.matchAll(word)) {
      const list = this.#occurrences.get(one);
      if (list === undefined) this.#occurrences.set(one, [index]);
      else if (list.length < mostOccurrences) list.push(index);
    }
  }

  /**
   * Whether a part stands there, and not within a longer word or number. A part whose rarest word occurs more than 400 times
   * is looked for at the first 400.
   */
  hasPhrase(part: string): boolean {
    let rarest: { readonly at: number; readonly places: readonly number[] } | null = null;
    for (const { 0: one, index } of part.matchAll(word)) {
      const places = this.#occurrences.get(one);
      if (places === undefined) return false;
      if (rarest === null || places.length < rarest.places.length) rarest = { at: index, places };
    }
    if (rarest === null) return part === "";
    const { at, places } = rarest;
    return places.some((place) => this.#isWhole(part, place - at));
  }

  /** Whether a part stands there, be it within a word. False for what is not read any more: 200 times the text in all. */
  includes(part: string): boolean {
    const known = this.#substrings.get(part);
    if (known !== undefined) return known;
    const found = this.hasPhrase(part) || this.#search(part);
    this.#substrings.set(part, found);
    return found;
  }

  #search(part: string): boolean {
    if (this.#left <= 0) return false;
    const at = this.#text.indexOf(part);
    this.#left -= at < 0 ? this.#text.length : at;
    return at >= 0;
  }

  #isWhole(part: string, at: number): boolean {
    if (at < 0 || !this.#text.startsWith(part, at)) return false;
    const after = this.#text.slice(at + part.length, at + part.length + 2);
    const numberGoesOn = /\d$/.test(part) && /^[.,]\d/.test(after);
    return !isWordCharacter(this.#text[at - 1]) && !isWordCharacter(after[0]) && !numberGoesOn;
  }
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}
