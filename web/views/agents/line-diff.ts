import { diffArrays } from "diff";

/** A line of a text or of two: in both, only in the first (`removed`), or only in the second (`added`). */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
  /** 1-based; null where the text does not have the line. */
  readonly before: number | null;
  readonly after: number | null;
}

/** Changed lines that are looked for; texts with more are shown as a whole replaced. */
const maxChanges = 5_000;

/** Compares two texts line by line, with as many common lines as there can be. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = before.replace(/\n$/, "").split("\n");
  const b = after.replace(/\n$/, "").split("\n");
  const whole = [
    { value: a, removed: true, added: false },
    { value: b, removed: false, added: true },
  ];
  const parts = diffArrays(a, b, { maxEditLength: maxChanges }) ?? whole;
  let [beforeLine, afterLine] = [0, 0];
  return parts.flatMap(({ value, added, removed }) =>
    value.map((text): DiffLine => {
      if (!added) beforeLine += 1;
      if (!removed) afterLine += 1;
      return {
        kind: added ? "added" : removed ? "removed" : "same",
        text,
        before: added ? null : beforeLine,
        after: removed ? null : afterLine,
      };
    }),
  );
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
