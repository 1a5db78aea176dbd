/** The first `length` UTF-16 units, or one less where that would split a surrogate pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? length - 1 : length);
}

/** A text longer than `maxLength` UTF-16 units is cut there, and how much is missing is said after it. */
export function truncateText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const head = headOf(text, maxLength);
  return head + truncationNote(text.length - head.length);
}

/** `atLeast` where not all of what is missing was counted. */
export function truncationNote(missing: number, atLeast = false): string {
  return `… [cut: ${atLeast ? "more than " : ""}${missing.toLocaleString("en")} more characters]`;
}

/** Characters of what a model writes about its own work that are kept, and told back to it. */
const keptCharacters = 2000;

/** What a model wrote about its own work, cut where it is long and marked then: it is repeated in every prompt. */
export function truncateModelText(text: string): string {
  return truncateText(text.trim(), keptCharacters);
}

/** One line of a file, without its line feed. */
export interface FileLine {
  /** 1-based. */
  readonly number: number;
  /** Null where the line is longer than the limit, and was passed over. */
  readonly bytes: Buffer | null;
  /** False for what comes after the last line feed of the file. */
  readonly ended: boolean;
}

/**
 * Splits what is read into lines, holding one at a time. What comes after the last line feed is a line that has not
 * ended; where nothing does there is none.
 *
 * @param longest bytes of a line that is given; a longer one is passed over without being held
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  longest: number,
): AsyncGenerator<FileLine> {
  let held: Uint8Array[] = [];
  let length = 0;
  let number = 1;
  const add = (part: Uint8Array) => {
    length += part.length;
    if (length > longest) held = [];
    else if (part.length > 0) held.push(part);
  };
  const line = (ended: boolean): FileLine => ({
    number,
    bytes: length > longest ? null : Buffer.concat(held),
    ended,
  });
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end));
      yield line(true);
      held = [];
      length = 0;
      number += 1;
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  if (length > 0) yield line(false);
}

const lineFeed = 0x0a;

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
