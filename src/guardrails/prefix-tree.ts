/** What stands at a place of a text. */
export interface PrefixMatch<T> {
  readonly value: T;
  /** After its last character. */
  readonly end: number;
}

/** How a text may differ from a key. */
export interface Spelling {
  /** Whether a character between two of the key is passed over. */
  readonly isGap: (code: number) => boolean;
  /** How many of them at most, one after the other. */
  readonly mostGaps: number;
  /** Whether the text may go on with this character after a key. */
  readonly isAfter: (code: number) => boolean;
}

interface Edge<T> {
  /** Of several characters where no other key parts from it within them. */
  readonly text: string;
  readonly to: Branch<T>;
}

interface Branch<T> {
  value?: { readonly of: T };
  next?: Map<number, Edge<T>>;
}

/**
 * Finds the longest of many keys at a place of a text, in a time that does not grow with their number: a radix tree, as of
 * Morrison (1968), PATRICIA.
 */
export class PrefixTree<T> {
  readonly #root: Branch<T> = {};

  /** Of one key the first value counts. */
  add(key: string, value: T): void {
    let branch = this.#root;
    let at = 0;
    while (at < key.length) {
      branch.next ??= new Map();
      const code = key.charCodeAt(at);
      const edge = branch.next.get(code);
      if (edge === undefined) {
        branch.next.set(code, { text: key.slice(at), to: { value: { of: value } } });
        return;
      }
      const shared = sharedLength(edge.text, key, at);
      if (shared < edge.text.length) {
        const rest = { text: edge.text.slice(shared), to: edge.to };
        const to = { next: new Map([[rest.text.charCodeAt(0), rest]]) };
        branch.next.set(code, { text: edge.text.slice(0, shared), to });
        branch = to;
      } else {
        branch = edge.to;
      }
      at += shared;
    }
    branch.value ??= { of: value };
  }

  longestAt(text: string, start: number, spelling?: Spelling): PrefixMatch<T> | null {
    let found: PrefixMatch<T> | null = null;
    let branch = this.#root;
    let edge: Edge<T> | undefined;
    let along = 0;
    let gaps = 0;
    for (let at = start; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      const next: Edge<T> | undefined = edge ?? branch.next?.get(code);
      if (next === undefined || next.text.charCodeAt(along) !== code) {
        gaps += 1;
        const isGap = spelling !== undefined && at > start && spelling.isGap(code);
        if (!isGap || gaps > spelling.mostGaps) return found;
        continue;
      }
      gaps = 0;
      along += 1;
      if (along < next.text.length) {
        edge = next;
        continue;
      }
      branch = next.to;
      edge = undefined;
      along = 0;
      const end = at + 1;
      const isEnd =
        spelling === undefined || end === text.length || spelling.isAfter(text.charCodeAt(end));
      if (branch.value !== undefined && isEnd) found = { value: branch.value.of, end };
      if (branch.next === undefined) return found;
    }
    return found;
  }
}

function sharedLength(one: string, other: string, from: number): number {
  let length = 0;
  while (length < one.length && one.charCodeAt(length) === other.charCodeAt(from + length)) {
    length += 1;
  }
  return length;
}
