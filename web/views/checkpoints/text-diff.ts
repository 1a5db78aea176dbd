import { diffLines, diffWordsWithSpace } from "diff";

/** A part of two texts: in both, only in the later one, only in the earlier one, or left out between changes. */
export interface TextPart {
  readonly kind: "same" | "added" | "removed" | "omitted";
  readonly text: string;
}

/** Lines, or characters of one line, that are shown around a change. */
const contextLines = 3;
const contextCharacters = 120;
/** Milliseconds that a comparison may take. */
const timeout = 300;

/**
 * Returns how one text became another: line by line where they have lines, else word by word. Null where that would
 * take too long.
 */
export function diffTexts(before: string, after: string): readonly TextPart[] | null {
  const byLine = before.includes("\n") || after.includes("\n");
  const changes = byLine
    ? diffLines(before, after, { timeout })
    : diffWordsWithSpace(before, after, { timeout });
  if (changes === undefined) return null;
  const parts = changes.map(({ added, removed, value }): TextPart => {
    return { kind: added ? "added" : removed ? "removed" : "same", text: value };
  });
  return parts.flatMap((part, index) => {
    if (part.kind !== "same") return [part];
    const sides = { isFirst: index === 0, isLast: index === parts.length - 1 };
    return byLine ? shortenedLines(part.text, sides) : shortened(part.text, sides);
  });
}

interface Sides {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

function shortenedLines(text: string, sides: Sides): readonly TextPart[] {
  const lines = text.split(/(?<=\n)/);
  return withGap(lines, sides, contextLines).map((part) =>
    part.kind === "omitted" ? { ...part, text: `… ${part.text} equal lines\n` } : part,
  );
}

function shortened(text: string, sides: Sides): readonly TextPart[] {
  return withGap(Array.from(text), sides, contextCharacters).map((part) =>
    part.kind === "omitted" ? { ...part, text: " … " } : part,
  );
}

/** Keeps what is next to a change; the text of what is omitted is its number of units. */
function withGap(units: readonly string[], sides: Sides, context: number): readonly TextPart[] {
  const head = sides.isFirst ? 0 : context;
  const tail = sides.isLast ? 0 : context;
  const omitted = units.length - head - tail;
  if (omitted <= 1) return [{ kind: "same", text: units.join("") }];
  const parts: readonly TextPart[] = [
    { kind: "same", text: units.slice(0, head).join("") },
    { kind: "omitted", text: omitted.toLocaleString("en") },
    { kind: "same", text: units.slice(units.length - tail).join("") },
  ];
  return parts.filter(({ text }) => text !== "");
}
