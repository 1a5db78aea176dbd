import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changedKeys, diffLines, foldSame } from "../../web/views/agents/line-diff.ts";

const marks = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => {
    return `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`;
  });

describe("the difference of two texts", () => {
  it("keeps as many common lines as there can be", () => {
    expect(marks("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
    expect(marks("b\na\n", "a\nb\na\n")).toEqual(["+a", " b", " a"]);
    expect(marks("same", "same\n")).toEqual([" same"]);
  });

  it("gives both texts back, whatever they are", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const lines = diffLines(a.join("\n"), b.join("\n"));
        const of = (left: string) => lines.filter(({ kind }) => kind !== left);
        const trimmed = (all: readonly string[]) => all.join("\n").replace(/\n$/, "").split("\n");
        expect(of("added").map((line) => line.text)).toEqual(trimmed(a));
        expect(of("removed").map((line) => line.text)).toEqual(trimmed(b));
        expect(of("added").map(({ before }) => before)).toEqual(of("added").map((_, at) => at + 1));
      }),
    );
  });

  it("replaces the whole of texts that are too different to compare", () => {
    const [a, b] = ["a", "b"].map((name) =>
      Array.from({ length: 3_000 }, (_, line) => `${name} ${line}`).join("\n"),
    );
    const lines = diffLines(a ?? "", b ?? "");
    expect(lines.map(({ kind }) => kind)).toEqual([
      ...Array<string>(3_000).fill("removed"),
      ...Array<string>(3_000).fill("added"),
    ]);
  });

  it("folds what is the same far from changes, and names the keys that differ", () => {
    const before = "name: a\ntools:\n  - x\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n";
    const lines = diffLines(before, before.replace("- x", "- y").replace("g: 1", "h: 1"));
    expect(foldSame(lines).filter((line) => typeof line === "number")).toEqual([]);
    expect(changedKeys(lines)).toEqual(["tools", "g", "h"]);
    const longer = before.replace("e: 1", "e:\n  - 1\n  - 2\n  - 3");
    const folded = foldSame(
      diffLines(longer, longer.replace("- x", "- y").replace("g: 1", "g: 2")),
    );
    expect(folded.filter((line) => typeof line === "number")).toEqual([2]);
  });
});
