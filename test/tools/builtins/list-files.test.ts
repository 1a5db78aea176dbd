import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listFilesTool } from "../../../src/tools/builtins/file-tools.ts";
import { rootFolder } from "../../../src/tools/builtins/root-folder.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const root = tempFolder({
  "a.md": "12345",
  "docs/b.md": "1",
  "docs/deep/c.md": "12",
  "docs/deep/d.txt": "",
  "node_modules/pkg/index.js": "",
});
symlinkSync("docs", join(root, "link"));
const tool = listFilesTool(rootFolder(root));
const list = async (args: Record<string, unknown>) => (await callBuiltin(tool, args)).result;
const pathsOf = async (args: Record<string, unknown>) =>
  ((await list(args)) as { entries: { path: string }[] }).entries.map(({ path }) => path);

describe("list_files", () => {
  it("lists a folder with types and sizes", async () => {
    expect(await list({})).toEqual({
      path: ".",
      entries: [
        { path: "a.md", type: "file", size: 5 },
        { path: "docs", type: "folder" },
        { path: "link", type: "link" },
        { path: "node_modules", type: "folder" },
      ],
      total: 4,
      truncated: false,
    });
  });

  it("lists the folders within, but not what links and packages hold", async () => {
    expect(await pathsOf({ recursive: true })).toEqual([
      "a.md",
      "docs",
      "link",
      "node_modules",
      "docs/b.md",
      "docs/deep",
      "docs/deep/c.md",
      "docs/deep/d.txt",
    ]);
  });

  it("takes names by pattern", async () => {
    expect(await pathsOf({ recursive: true, pattern: "*.md" })).toEqual([
      "a.md",
      "docs/b.md",
      "docs/deep/c.md",
    ]);
    expect(await pathsOf({ path: "docs", recursive: true, pattern: "deep/*.txt" })).toEqual([
      "docs/deep/d.txt",
    ]);
  });

  it("shows as many as the limit and counts all", async () => {
    expect(await list({ recursive: true, pattern: "*.md", limit: 1 })).toMatchObject({
      entries: [{ path: "a.md" }],
      total: 3,
      truncated: true,
    });
  });

  it("fails for what is no folder or not there", async () => {
    expect(await callBuiltin(tool, { path: "a.md" })).toMatchObject({
      outcome: "failure",
      error: '"a.md" is not a folder.',
    });
    expect(await callBuiltin(tool, { path: "dosc" })).toMatchObject({
      outcome: "failure",
      error: 'There is no file or folder "dosc". Did you mean "docs"?',
    });
  });
});
