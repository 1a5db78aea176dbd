import { describe, expect, it } from "vitest";
import { fileGlob } from "../../../src/tools/builtins/root-folder.ts";

describe("fileGlob", () => {
  it.each<[string, string, boolean]>([
    ["*.md", "a.md", true],
    ["*.md", "docs/a.md", true],
    ["*.md", "a.mdx", false],
    ["?.md", "ab.md", false],
    ["a*b*c", "a1b2b3c", true],
    ["a*b*c", "a1b2b3", false],
    ["docs/*.md", "docs/a.md", true],
    ["docs/*.md", "docs/deep/a.md", false],
    ["docs/**/*.md", "docs/a.md", true],
    ["docs/**/*.md", "docs/x/y/a.md", true],
    ["**/a.md", "a.md", true],
    ["docs/**", "docs/x/y", true],
    ["**/x/**/z", "a/x/b/c/z", true],
    ["[ab].md", "a.md", false],
    ["(a+)+$", "aaaa", false],
    ["?.md", "🌍.md", true],
  ])("%s on %s is %s", (pattern, path, matches) => {
    expect(fileGlob(pattern)(path)).toBe(matches);
  });

  it("does not try every way in which a pattern could match", () => {
    const matches = fileGlob(`${"*a".repeat(90)}b`);
    // There are more than 10 to the power of 190 of them.
    expect(matches("a".repeat(5_000))).toBe(false);
  });
});
