/** A line of a text or of two: in both, only in the first (`removed`), or only in the second (`added`). */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
  /** 1-based; null where the text does not have the line. */
  readonly before: number | null;
  readonly after: number | null;
}

/** Cells of the table that finds the longest common lines; larger differences are shown as a whole replaced. */
const maxCells = 4_000_000;

/** Compares two texts line by line, with as many common lines as there can be. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = before.replace(/\n$/, "").split("\n");
  const b = after.replace(/\n$/, "").split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  )
    end += 1;
  const middle = kindsBetween(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (count: number) => Array.from({ length: count }, () => "same" as const);
  let [inFirst, inSecond] = [0, 0];
  return [...same(start), ...middle, ...same(end)].map((kind): DiffLine => {
    if (kind !== "added") inFirst += 1;
    if (kind !== "removed") inSecond += 1;
    return {
      kind,
      text: (kind === "added" ? b[inSecond - 1] : a[inFirst - 1]) ?? "",
      before: kind === "added" ? null : inFirst,
      after: kind === "removed" ? null : inSecond,
    };
  });
}

/** The kinds of the lines of two texts that begin and end differently. */
function kindsBetween(a: readonly string[], b: readonly string[]): DiffLine["kind"][] {
  const common = commonLengths(a, b);
  if (common === null)
    return [...a.map(() => "removed" as const), ...b.map(() => "added" as const)];
  const kinds: DiffLine["kind"][] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const isSame = i < a.length && j < b.length && a[i] === b[j];
    const isRemoved = j >= b.length || (i < a.length && isRemovedFirst(common, i, j));
    const kind = isSame ? "same" : isRemoved ? "removed" : "added";
    kinds.push(kind);
    if (kind !== "added") i += 1;
    if (kind !== "removed") j += 1;
  }
  return kinds;
}

interface Table {
  readonly width: number;
  readonly lengths: Uint32Array;
}

/** Lengths of the longest common subsequences of all ends of two lists; null if there are too many. */
function commonLengths(a: readonly string[], b: readonly string[]): Table | null {
  const width = b.length + 1;
  if ((a.length + 1) * width > maxCells) return null;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  return { width, lengths };
}

function isRemovedFirst({ width, lengths }: Table, i: number, j: number): boolean {
  return lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!;
}

/** Lines that are shown around changes. */
const context = 3;

/** Replaces runs of equal lines far from any change by how many they are. A single one stays. */
export function foldSame(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const shown = new Set<number>();
  lines.forEach(({ kind }, at) => {
    if (kind === "same") return;
    for (let near = at - context; near <= at + context; near++) shown.add(near);
  });
  const folded: (DiffLine | number)[] = [];
  let hidden = 0;
  lines.forEach((line, at) => {
    if (!shown.has(at)) hidden += 1;
    else {
      const before = lines[at - 1];
      if (hidden === 1 && before !== undefined) folded.push(before);
      else if (hidden > 0) folded.push(hidden);
      hidden = 0;
      folded.push(line);
    }
  });
  if (hidden > 0) folded.push(hidden);
  return folded;
}

/** The keys of the top level whose lines differ, each once and in order. */
export function changedKeys(lines: readonly DiffLine[]): readonly string[] {
  const keys = new Set<string>();
  let [beforeKey, afterKey] = ["", ""];
  for (const { kind, text } of lines) {
    const key = /^(?:"((?:[^"\\]|\\.)*)"|([^\s#"'-][^:]*)):/.exec(text);
    const name = key?.[1] ?? key?.[2];
    if (name !== undefined && kind !== "added") beforeKey = name;
    if (name !== undefined && kind !== "removed") afterKey = name;
    if (kind === "removed") keys.add(beforeKey);
    if (kind === "added") keys.add(afterKey);
  }
  keys.delete("");
  return [...keys];
}
