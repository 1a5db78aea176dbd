import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { treeLines } from "../../../../src/cli/view/thread/history-lines.ts";

/** Draws a tree given as `child<parent`, newest first. */
function drawn(tree: string): string[] {
  const items = tree.split(" ").map((link) => {
    const [id = "", parentId = null] = link.split("<");
    return { id, parentId };
  });
  return treeLines(items).flatMap(({ joins, gutter }, index) => [
    ...joins,
    `${gutter} ${items[index]?.id}`,
  ]);
}

describe("the tree of a history", () => {
  it("draws nothing for a history without branches", () => {
    expect(drawn("c<b b<a a")).toEqual([" c", " b", " a"]);
  });

  it("draws a branch down to where it began", () => {
    expect(drawn("e<d d<b c<b b<a a")).toEqual(["● e", "○ d", "│ ● c", "├─╯", "○ b", "○ a"]);
  });

  it("draws a branch that began in the middle of another one", () => {
    expect(drawn("f<d e<c d<b c<b b<a a")).toEqual([
      "● f",
      "│ ● e",
      "○ │ d",
      "│ ○ c",
      "├─╯",
      "○ b",
      "○ a",
    ]);
  });

  it("takes in three branches at once, past one that goes on", () => {
    expect(drawn("g<b f<a e<b d<b b<a a")).toEqual([
      "● g",
      "│ ● f",
      "│ │ ● e",
      "│ │ │ ● d",
      "├─┼─┴─╯",
      "○ │ b",
      "├─╯",
      "○ a",
    ]);
  });

  it("uses the place of a branch that has ended again", () => {
    expect(drawn("f<d e<d d<b c<b b")).toEqual([
      "● f",
      "│ ● e",
      "├─╯",
      "○ d",
      "│ ● c",
      "├─╯",
      "○ b",
    ]);
  });

  it("draws roots beside each other, and leaves open what is on the next page", () => {
    expect(drawn("d<c z c<b")).toEqual(["● d", "│ ● z", "○ c"]);
  });

  it("has one mark a checkpoint, a filled one where no other checkpoint follows", () => {
    const trees = fc.array(fc.nat(), { minLength: 1, maxLength: 30 }).map((picks) =>
      picks
        .map((pick, index) => ({
          id: String(index),
          parentId: index === 0 ? null : String(pick % index),
        }))
        .toReversed(),
    );
    fc.assert(
      fc.property(trees, (items) => {
        const lines = treeLines(items);
        if (lines.every(({ gutter }) => gutter === "")) return;
        const parents = new Set(items.map(({ parentId }) => parentId));
        expect(lines.map(({ gutter }) => gutter.replaceAll(/[ │]/g, ""))).toEqual(
          items.map(({ id }) => (parents.has(id) ? "○" : "●")),
        );
      }),
    );
  });
});
