import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PrefixTree } from "../../src/guardrails/known-values.ts";

function treeOf(keys: readonly string[]) {
  const tree = new PrefixTree<string>();
  for (const key of keys) tree.add(key, key);
  return tree;
}

describe("a prefix tree", () => {
  it("finds the longest key at a place", () => {
    const tree = treeOf(["user1", "user", "user10", "us"]);
    expect(tree.longestAt("by user10!", 3)).toEqual({ value: "user10", end: 9 });
    expect(tree.longestAt("user2", 0)).toEqual({ value: "user", end: 4 });
    expect(tree.longestAt("uses", 0)).toEqual({ value: "us", end: 2 });
    expect(tree.longestAt("u", 0)).toBeNull();
  });

  it("keeps the first value of a key", () => {
    const tree = new PrefixTree<number>();
    tree.add("ab", 1);
    tree.add("ab", 2);
    expect(tree.longestAt("ab", 0)).toEqual({ value: 1, end: 2 });
  });

  it("passes over what may stand between characters, and looks at what comes after", () => {
    const tree = treeOf(["123", "12"]);
    const spelling = {
      isGap: (code: number) => code === 32,
      mostGaps: 2,
      isAfter: (code: number) => code < 48 || code > 57,
    };
    expect(tree.longestAt("1 2  3", 0, spelling)).toEqual({ value: "123", end: 6 });
    expect(tree.longestAt("12   3", 0, spelling)).toEqual({ value: "12", end: 2 });
    expect(tree.longestAt("1 2 34", 0, spelling)).toEqual({ value: "12", end: 3 });
    expect(tree.longestAt("124", 0, spelling)).toBeNull();
    expect(tree.longestAt(" 12", 0, spelling)).toBeNull();
  });

  it("finds what a look at every key finds", () => {
    const word = fc.stringMatching(/^[ab]{1,6}$/);
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), word, (keys, text) => {
        const longest = keys
          .filter((key) => text.startsWith(key))
          .toSorted((a, b) => b.length - a.length)[0];
        const found = treeOf(keys).longestAt(text, 0);
        expect(found).toEqual(
          longest === undefined ? null : { value: longest, end: longest.length },
        );
      }),
    );
  });
});
