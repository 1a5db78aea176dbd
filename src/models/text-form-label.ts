export type LabelKind = "thought" | "action" | "input" | "observation" | "final";

/** A line that begins a part of a turn in the text form. */
export interface Label {
  readonly kind: LabelKind;
  readonly hasColon: boolean;
  /** Written with capitals, as a heading is and a word within a sentence is not. */
  readonly isTitle: boolean;
  /** What stands after it on its line, trimmed. */
  readonly rest: string;
  /** Characters of the line that the label takes. */
  readonly length: number;
}

const kinds: readonly (readonly [LabelKind, RegExp])[] = [
  ["thought", /^thoughts?$/],
  ["input", /^(action|tool)[\s_-]{0,2}(inputs?|args|arguments)$/],
  ["action", /^(action|tool)$/],
  ["observation", /^observations?$/],
  ["final", /^final[\s_-]{0,2}answer$/],
];

/** List marks, quotes, headings, numbers; then emphasis; then the words, a number, and a colon with emphasis around. */
const pattern =
  /^[\s>#•+-]{0,16}(?:\d{1,3}[.)]\s{0,4})?([*_`]{0,4})(thoughts?|(?:action|tool)(?:[\s_-]{0,2}(?:inputs?|args|arguments))?|observations?|final[\s_-]{0,2}answer)(?![\p{L}\p{N}])\s{0,4}(?:#?\d{1,4}(?![\p{L}\p{N}.,]))?\s{0,4}([*_`]{0,4})\s{0,4}([:：]?)/iu;

/** Reads the label at the start of a line; null where there is none. Looks at the line's first characters only. */
export function matchLabel(line: string): Label | null {
  const match = pattern.exec(line);
  if (match === null) return null;
  const [all, opened = "", words = "", closed = "", colon = ""] = match;
  const kind = kinds.find(([, form]) => form.test(words.toLowerCase()))?.[0];
  if (kind === undefined) return null;
  const rest = line.slice(all.length);
  return {
    kind,
    hasColon: colon !== "",
    isTitle: words.split(/[\s_-]+/).every((word) => /^[A-Z]/.test(word)),
    rest: (closed === "" ? withoutEmphasis(rest, opened) : rest).trim(),
    length: all.length,
  };
}

const inputAlias =
  /^[\s>#•*_`-]{0,16}(?:inputs?|args|arguments|parameters)\s{0,4}[*_`]{0,4}[:：]\s{0,4}[*_`]{0,4}/i;

/** `Input:` and its like, which are labels only right after an action. */
export function matchInputAlias(line: string): Label | null {
  const length = inputAlias.exec(line)?.[0].length;
  if (length === undefined) return null;
  return { kind: "input", hasColon: true, isTitle: true, rest: line.slice(length).trim(), length };
}

/** Emphasis that opened before a label ends after the colon or, where the whole line has it, with the line. */
function withoutEmphasis(rest: string, mark: string): string {
  if (mark === "") return rest;
  if (rest.startsWith(mark)) return rest.slice(mark.length);
  const line = rest.trimEnd();
  return line.endsWith(mark) ? line.slice(0, -mark.length) : rest;
}
