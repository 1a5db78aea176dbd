import { headOf } from "../../state/cut-text.ts";

/** A text that is shown whole, however long it is. */
export interface Passage {
  readonly text: string;
  /** The lines that show a part of the text; `isFirst` for its beginning. */
  readonly lines: (part: string, isFirst: boolean) => readonly string[];
}

export interface Page {
  readonly lines: readonly string[];
  /** Characters of the passages that come after it. */
  readonly left: number;
}

/** What fits on a page. Bounded, since models write what is on it; most of what is asked fits on one. */
const pageCharacters = 16_000;
const pageBreaks = 400;

/** Pages with all of the passages, at least one. Each is laid out when it is asked for. */
export function* pagesOf(passages: readonly Passage[]): Generator<Page, undefined> {
  let left = passages.reduce((sum, { text }) => sum + text.length, 0);
  let lines: string[] = [];
  let room = { characters: pageCharacters, breaks: pageBreaks };
  for (const { text, lines: linesOf } of passages) {
    let at = 0;
    do {
      if (room.characters <= 0 || room.breaks <= 0) {
        yield { lines, left };
        lines = [];
        room = { characters: pageCharacters, breaks: pageBreaks };
      }
      const part = partOf(text.slice(at, at + room.characters + 1), room);
      lines.push(...linesOf(part, at === 0));
      at += part.length;
      left -= part.length;
      const breaks = part.split("\n").length;
      // Passages without a text take their lines too.
      room = { characters: room.characters - part.length, breaks: room.breaks - breaks };
      if (at < text.length) room = { characters: 0, breaks: 0 };
    } while (at < text.length);
  }
  yield { lines, left };
  return undefined;
}

/** The beginning of a text that fits, at least one character of it. */
function partOf(
  text: string,
  { characters, breaks }: { characters: number; breaks: number },
): string {
  let end = -1;
  for (let line = 0; line < breaks; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  const whole = end < 0 ? text : text.slice(0, end + 1);
  return headOf(whole, characters) || text.slice(0, 2);
}
