import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBuiltinTools } from "../../../src/tools/builtins/create-builtin-tools.ts";
import { PathRuleError, rootFolder } from "../../../src/tools/builtins/root-folder.ts";
import { ToolFailure } from "../../../src/tools/tool-result.ts";
import { anyCharacter } from "../../helpers/any-character.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const folder = tempFolder({
  "root/readme.md": "inside",
  "root/docs/guide.md": "inside",
  "root/docs/deep/notes.txt": "inside",
  "root-evil/secret.txt": "SECRET",
  "outside/secret.txt": "SECRET",
});
const root = join(folder, "root");
const link = (target: string, at: string) => symlinkSync(target, join(root, at));
link("docs/guide.md", "link-inside");
link("docs", "docs-link");
link("../outside/secret.txt", "link-to-file");
link("../outside", "link-to-folder");
link(join(folder, "outside"), "link-absolute");
link("../root-evil", "link-to-neighbour");
link("../outside/missing.txt", "link-dangling-outside");
link("missing.txt", "link-dangling-inside");
link("loop-b", "loop-a");
link("loop-a", "loop-b");
link("link-to-folder", "link-to-link");
link("..", "link-to-parent");
link("/", "link-to-everything");

const tools = createBuiltinTools({ root });
const toolNamed = (name: string) => tools.find((tool) => tool.definition.name === name);

const escapes: [string, string, string][] = [
  ["dots", "../outside/secret.txt", 'it may not have ".." in it'],
  ["dots within", "docs/../../outside/secret.txt", 'it may not have ".." in it'],
  ["dots that stay inside", "docs/../readme.md", 'it may not have ".." in it'],
  ["dots alone", "..", 'it may not have ".." in it'],
  ["an absolute path", join(folder, "outside/secret.txt"), "not absolute"],
  ["an absolute path inside", join(root, "readme.md"), "not absolute"],
  ["two slashes", "//etc/passwd", "not absolute"],
  ["a drive", "C:/secret.txt", "not absolute"],
  ["a drive without slash", "c:secret.txt", "not absolute"],
  ["backslashes", "..\\outside\\secret.txt", "write / between folders"],
  ["a share", "\\\\host\\share", "write / between folders"],
  ["a NUL character", "readme.md\0.png", "it has a NUL character"],
  ["a neighbour with the root's name", "../root-evil/secret.txt", 'it may not have ".." in it'],
  ["a link to a file", "link-to-file", "links that do not lead"],
  ["a link to a folder", "link-to-folder/secret.txt", "links that do not lead"],
  ["a link to what is not there", "link-to-folder/missing.txt", "links that do not lead"],
  ["an absolute link", "link-absolute/secret.txt", "links that do not lead"],
  ["a link to a neighbour", "link-to-neighbour/secret.txt", "links that do not lead"],
  ["a dangling link outside", "link-dangling-outside", "links that do not lead"],
  ["a dangling link inside", "link-dangling-inside", "links that do not lead"],
  ["a link loop", "loop-a", "links that do not lead"],
  ["a link to a link", "link-to-link/secret.txt", "links that do not lead"],
  ["a link within a link", "docs-link/../../outside/secret.txt", 'it may not have ".." in it'],
  ["a link to the parent", "link-to-parent/outside/secret.txt", "links that do not lead"],
  ["a link back in by the parent", "link-to-parent/root/readme.md", "links that do not lead"],
  ["a link to everything", "link-to-everything/etc/passwd", "links that do not lead"],
];

describe("file tools", () => {
  it.each(escapes)("refuse %s", async (_, path, rule) => {
    for (const [name, args] of [
      ["read_file", { path }],
      ["list_files", { path }],
      ["search_text", { path, query: "SECRET" }],
    ] as const) {
      const { outcome, result, error } = await callBuiltin(toolNamed(name), args);
      expect([outcome, result]).toEqual(["error", null]);
      expect(error).toContain(rule);
      expect(error).not.toContain("SECRET");
    }
  });

  it("tell a link to what is outside no different from one to what is not there", async () => {
    const errorOf = async (path: string) =>
      (await callBuiltin(toolNamed("read_file"), { path })).error.replace(path, "PATH");
    const errors = ["link-to-file", "link-dangling-outside", "link-dangling-inside", "loop-a"];
    expect(new Set(await Promise.all(errors.map(errorOf))).size).toBe(1);
  });

  it("neither list nor search what links lead to", async () => {
    const { result } = await callBuiltin(toolNamed("list_files"), { recursive: true });
    expect(JSON.stringify(result)).not.toContain("secret");
    const found = await callBuiltin(toolNamed("search_text"), { query: "SECRET" });
    expect(found.result).toMatchObject({ total: 0 });
  });

  it("do not wait for a named pipe", async () => {
    execFileSync("sh", ["-c", "mkfifo pipe"], { cwd: root });
    expect(await callBuiltin(toolNamed("read_file"), { path: "pipe" })).toMatchObject({
      outcome: "failure",
      error: '"pipe" is not a file.',
    });
  });
});

describe("rootFolder", () => {
  it("follows links that stay inside", async () => {
    const { locate } = rootFolder(root);
    expect(await locate("link-inside")).toEqual({
      absolute: join(root, "docs/guide.md"),
      shown: "link-inside",
    });
    expect((await locate("docs-link/deep/notes.txt")).absolute).toBe(
      join(root, "docs/deep/notes.txt"),
    );
  });

  it("takes odd ways to write a path inside", async () => {
    const { locate } = rootFolder(root);
    for (const path of ["docs//guide.md", "./docs/./guide.md", "docs/guide.md/"]) {
      expect(await locate(path)).toMatchObject({ shown: "docs/guide.md" });
    }
    for (const path of ["", ".", "./"]) expect(await locate(path)).toMatchObject({ shown: "." });
  });

  it("names what is near when there is nothing", async () => {
    const { locate } = rootFolder(root);
    await expect(locate("docs/giude.md")).rejects.toThrow(
      'There is no file or folder "docs/giude.md". Did you mean "guide.md"?',
    );
    await expect(locate("docs/something-else")).rejects.toThrow("Its folder has: deep, guide.md.");
    await expect(locate("readme.md/x")).rejects.toThrow(ToolFailure);
    await expect(locate("x".repeat(3_000))).rejects.toThrow(ToolFailure);
  });

  it("may be a link itself, and made later", async () => {
    const alias = join(folder, "alias");
    const { locate } = rootFolder(alias);
    await expect(locate("readme.md")).rejects.toThrow(
      "The folder of the file tools does not exist.",
    );
    symlinkSync(root, alias);
    expect(await locate("readme.md")).toMatchObject({ absolute: join(root, "readme.md") });
  });

  it("refuses a file that was replaced by a link after it was found", async () => {
    const { locate, open } = rootFolder(root);
    mkdirSync(join(root, "swapped"));
    const location = await locate("link-inside");
    const swapped = { ...location, absolute: join(root, "link-to-file") };
    await expect(open(swapped)).rejects.toThrow(PathRuleError);
    const within = { ...location, absolute: join(root, "link-to-folder/secret.txt") };
    await expect(open(within)).rejects.toThrow(PathRuleError);
  });

  it("never leads out, whatever the path", async () => {
    const { locate } = rootFolder(root);
    const name = fc.oneof(
      fc.constantFrom("..", ".", "", "~", "root", "docs", "outside", "secret.txt", "%2e%2e", "‥"),
      fc.constantFrom("link-to-folder", "link-to-parent", "docs-link", "loop-a", "root-evil"),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    );
    const path = fc
      .tuple(fc.array(name, { maxLength: 6 }), fc.constantFrom("/", "\\", "//"))
      .map(([names, separator]) => names.join(separator));
    await fc.assert(
      fc.asyncProperty(path, async (tried) => {
        const [found] = await Promise.allSettled([
          locate(tried).then((at) => realpath(at.absolute)),
        ]);
        const acceptable =
          found.status === "fulfilled"
            ? found.value === root || found.value.startsWith(root + sep)
            : found.reason instanceof PathRuleError || found.reason instanceof ToolFailure;
        expect(acceptable).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
