import { describe, expect, it } from "vitest";
import { rootFolder } from "../../../src/tools/builtins/root-folder.ts";
import { searchTextTool } from "../../../src/tools/builtins/search-text.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const root = tempFolder({
  "a.md": "alpha\nBeta and alpha\n",
  "docs/b.txt": "beta (.*)+ alpha",
  "docs/long.txt": `${"x".repeat(500)}needle${"y".repeat(500)}`,
  "image.png": new Uint8Array([0x61, 0x6c, 0x70, 0x68, 0x61, 0]),
  ".git/config": "alpha",
});
const tool = searchTextTool(rootFolder(root));
const search = async (args: Record<string, unknown>) => (await callBuiltin(tool, args)).result;

describe("search_text", () => {
  it("finds lines with file and number, and counts files", async () => {
    expect(await search({ query: "alpha" })).toEqual({
      matches: [
        { file: "a.md", line: 1, text: "alpha" },
        { file: "a.md", line: 2, text: "Beta and alpha" },
        { file: "docs/b.txt", line: 1, text: "beta (.*)+ alpha" },
      ],
      total: 3,
      truncated: false,
      files_searched: 3,
      files_skipped: 1,
    });
  });

  it("takes the query literally", async () => {
    expect(await search({ query: "(.*)+" })).toMatchObject({ total: 1 });
    expect(await search({ query: ".*" })).toMatchObject({ total: 1 });
  });

  it("minds letter case unless told not to", async () => {
    expect(await search({ query: "beta" })).toMatchObject({ total: 1 });
    expect(await search({ query: "beta", case_insensitive: true })).toMatchObject({ total: 2 });
  });

  it("searches one file, one folder, or files by pattern", async () => {
    expect(await search({ query: "alpha", path: "a.md" })).toMatchObject({ total: 2 });
    expect(await search({ query: "alpha", path: "docs" })).toMatchObject({ total: 1 });
    expect(await search({ query: "alpha", pattern: "*.md" })).toMatchObject({ total: 2 });
  });

  it("shows as many as the limit and counts all", async () => {
    expect(await search({ query: "alpha", limit: 1 })).toMatchObject({
      matches: [{ file: "a.md", line: 1 }],
      total: 3,
      truncated: true,
    });
  });

  it("shows the part of a long line around the match", async () => {
    expect(await search({ query: "needle" })).toMatchObject({
      matches: [{ text: `…${"x".repeat(100)}needle${"y".repeat(194)}…` }],
    });
  });

  it("fails where there is nothing", async () => {
    expect(await callBuiltin(tool, { query: "alpha", path: "docz" })).toMatchObject({
      outcome: "failure",
    });
  });
});
