/** A path in a document: keys and indexes from the top level. */
export type Path = readonly (string | number)[];

/** Where the caret is in a YAML text. */
export interface YamlPlace {
  /** `key`: where a key of `path` is or can be written. `value`: of the value at `path`. `text`: inside a block of text. */
  readonly kind: "key" | "value" | "text";
  readonly path: Path;
  /** The key at the caret; null if there is none. */
  readonly key: string | null;
  /** Part of the word at the caret that is before it, and its offset in the text. */
  readonly prefix: string;
  readonly from: number;
  /** Keys that are written beside the caret's, with their values on the same line. */
  readonly siblings: ReadonlyMap<string, string>;
  /** Whether an item of a list begins on the line. */
  readonly isItem: boolean;
}

/** Scalars by key of each map, by {@link pathName} of the map. */
export type Members = ReadonlyMap<string, ReadonlyMap<string, string>>;

interface Open {
  readonly indent: number;
  readonly part: string | number;
}

const keyPattern =
  /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#:,{}[\]"'&*!|>%@`-][^#:]*?|-[^\s#:][^#:]*?))\s*:(?=\s|$)/;

/** The name of a path among {@link Members}. */
export function pathName(path: Path): string {
  return JSON.stringify(path);
}

/**
 * Finds the place of the caret in a block-style YAML text, by indentation alone: the text need not be valid. Flow style
 * (`{`, `[`) counts as the value of its key.
 */
export function findPlace(
  text: string,
  caret: number,
): { readonly place: YamlPlace; readonly members: Members } {
  const members = new Map<string, Map<string, string>>();
  let place: YamlPlace | null = null;
  let stack: Open[] = [];
  let blockIndent: number | null = null;
  let offset = 0;
  for (const line of text.split("\n")) {
    const column = caret - offset;
    const isCaretLine = place === null && column >= 0 && column <= line.length;
    const indent = line.length - line.trimStart().length;
    const isBlank = line.trim() === "";
    if (blockIndent !== null && (isBlank || indent > blockIndent)) {
      if (isCaretLine && (!isBlank || column > blockIndent))
        place = { ...empty("text", stack), from: caret };
      if (place !== null || !isCaretLine) {
        offset += line.length + 1;
        continue;
      }
    }
    if (isBlank || line[indent] === "#") {
      if (isCaretLine) place = blankPlace(stack, { column, caret, isComment: !isBlank });
      offset += line.length + 1;
      continue;
    }
    blockIndent = null;
    const read = readLine(line, stack);
    stack = read.stack;
    if (read.key !== null) {
      const parent = pathName(stack.slice(0, -1).map(({ part }) => part));
      const own = members.get(parent) ?? new Map<string, string>();
      own.set(read.key, read.value);
      members.set(parent, own);
    }
    if (isCaretLine) place = linePlace(read, { line, column, offset });
    if (/^[|>][-+\d]*\s*(?:#.*)?$/.test(read.value)) blockIndent = stack.at(-1)?.indent ?? 0;
    offset += line.length + 1;
  }
  const found = place ?? empty("key", []);
  const at = found.kind === "value" ? found.path.slice(0, -1) : found.path;
  return { place: { ...found, siblings: members.get(pathName(at)) ?? new Map() }, members };
}

/** The 0-based numbers of the lines that are inside of blocks of text (`|` and `>`). */
export function findTextLines(lines: readonly string[]): ReadonlySet<number> {
  const inside = new Set<number>();
  let blockIndent: number | null = null;
  lines.forEach((line, at) => {
    const indent = line.length - line.trimStart().length;
    if (blockIndent !== null && (line.trim() === "" || indent > blockIndent)) inside.add(at);
    else if (line.trim() !== "")
      blockIndent = /[:-]\s+[|>][-+\d]*\s*(?:#.*)?$/.test(line) ? contentIndent(line) : null;
  });
  return inside;
}

/** The indentation of what comes after the dashes of a line, which a block of its value must exceed. */
function contentIndent(line: string): number {
  const [dashes = ""] = /^\s*(?:-\s+)*/.exec(line) ?? [];
  return /^[|>]/.test(line.slice(dashes.length)) ? dashes.lastIndexOf("-") : dashes.length;
}

interface ReadLine {
  readonly stack: Open[];
  readonly key: string | null;
  /** Column of the key, or of the scalar of an item. */
  readonly start: number;
  /** Column after the colon. */
  readonly valueAt: number;
  readonly value: string;
  readonly isItem: boolean;
}

/** Reads the dashes and the key of a line, and closes what is not above it. */
function readLine(line: string, before: readonly Open[]): ReadLine {
  let at = line.length - line.trimStart().length;
  const stack = [...before];
  let isItem = false;
  while (/^-(?:\s|$)/.test(line.slice(at))) {
    let index = 0;
    for (let top = stack.at(-1); top !== undefined && top.indent >= at; top = stack.at(-1)) {
      // A list may have the indentation of its key.
      if (top.indent === at && typeof top.part === "string") break;
      if (top.indent === at) index = Number(top.part) + 1;
      stack.pop();
    }
    stack.push({ indent: at, part: index });
    isItem = true;
    const rest = line.slice(at + 1);
    at += 1 + Math.max(1, rest.length - rest.trimStart().length);
  }
  const match = keyPattern.exec(line.slice(at));
  if (!isItem) closeTo(stack, at);
  const key =
    match === null ? null : (match[1] ?? match[2]?.replaceAll("''", "'") ?? match[3] ?? "");
  if (key !== null) stack.push({ indent: at, part: key });
  const valueAt = at + (match?.[0].length ?? 0);
  return { stack, key, start: at, valueAt, value: line.slice(valueAt).trim(), isItem };
}

function closeTo(stack: Open[], indent: number): void {
  for (let top = stack.at(-1); top !== undefined && top.indent >= indent; top = stack.at(-1))
    stack.pop();
}

function linePlace(
  { stack, key, start, valueAt, isItem }: ReadLine,
  { line, column, offset }: { line: string; column: number; offset: number },
): YamlPlace {
  const path = stack.map(({ part }) => part);
  if (key !== null && column > valueAt) {
    const typed = line.slice(valueAt, column);
    const prefix = typed.trimStart();
    return { ...empty("value", stack), key, prefix, from: offset + column - prefix.length, isItem };
  }
  const prefix = line.slice(Math.min(start, column), column);
  return {
    ...empty("key", stack),
    path: key === null ? path : path.slice(0, -1),
    key,
    prefix,
    from: offset + column - prefix.length,
    isItem,
  };
}

/** On a line without text, the indentation before the caret says what would be written there. */
function blankPlace(
  before: readonly Open[],
  { column, caret, isComment }: { column: number; caret: number; isComment: boolean },
): YamlPlace {
  const stack = [...before];
  closeTo(stack, column);
  return { ...empty(isComment ? "text" : "key", stack), from: caret };
}

function empty(kind: YamlPlace["kind"], stack: readonly Open[]): YamlPlace {
  const path = stack.map(({ part }) => part);
  return { kind, path, key: null, prefix: "", from: 0, siblings: new Map(), isItem: false };
}
