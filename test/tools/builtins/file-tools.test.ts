import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readFileTool } from "../../../src/tools/builtins/file-tools.ts";
import { rootFolder } from "../../../src/tools/builtins/root-folder.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const root = tempFolder({
  "notes.txt": "one\ntwo\r\nthree\n",
  "many.txt": Array.from({ length: 3_000 }, (_, n) => `line ${n + 1}`).join("\n"),
  "wide.txt": `${"x".repeat(100_000)}\nend`,
  "empty.txt": "",
  "marked.txt": "\uFEFFzażółć 🌍",
  "image.png": new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x00, 0x1a]),
  "latin1.txt": new Uint8Array([0x63, 0x61, 0x66, 0xe9]),
  "huge.log": new Uint8Array(10 * 1024 * 1024 + 1).fill(0x61),
});
mkdirSync(join(root, "folder"));
writeFileSync(join(root, "folder/inner.txt"), "inner");
const tool = readFileTool(rootFolder(root));
const read = (args: Record<string, unknown>) => callBuiltin(tool, args);

describe("read_file", () => {
  it("reads a file whole", async () => {
    expect((await read({ path: "notes.txt" })).result).toEqual({
      path: "notes.txt",
      content: "one\ntwo\nthree",
      start_line: 1,
      end_line: 3,
      total_lines: 3,
    });
  });

  it("reads some lines and says where to go on", async () => {
    expect((await read({ path: "notes.txt", start_line: 2, max_lines: 1 })).result).toEqual({
      path: "notes.txt",
      content: "two",
      start_line: 2,
      end_line: 2,
      total_lines: 3,
      next_line: 3,
    });
    expect((await read({ path: "many.txt" })).result).toMatchObject({
      end_line: 1_000,
      next_line: 1_001,
      total_lines: 3_000,
    });
  });

  it("cuts a line that is too long by itself", async () => {
    const { result } = await read({ path: "wide.txt" });
    expect(result).toMatchObject({
      content: `${"x".repeat(60_000)}… [cut: 40,000 more characters]`,
      end_line: 1,
      next_line: 2,
    });
  });

  it("reads an empty file, and letters of all scripts without the byte order mark", async () => {
    expect((await read({ path: "empty.txt" })).result).toMatchObject({
      content: "",
      end_line: 0,
      total_lines: 0,
    });
    expect((await read({ path: "marked.txt" })).result).toMatchObject({ content: "zażółć 🌍" });
  });

  it.each([
    [{ path: "image.png" }, '"image.png" is not UTF-8 text, and cannot be read as such.'],
    [{ path: "latin1.txt" }, '"latin1.txt" is not UTF-8 text, and cannot be read as such.'],
    [{ path: "huge.log" }, '"huge.log" has 10,485,761 bytes; files of up to 10,485,760 are read.'],
    [{ path: "folder" }, '"folder" is not a file.'],
    [{ path: "note.txt" }, 'There is no file or folder "note.txt". Did you mean "notes.txt"?'],
    [{ path: "notes.txt", start_line: 4 }, '"notes.txt" has 3 lines.'],
  ])("fails for %j", async (args, error) => {
    expect(await read(args)).toEqual({ outcome: "failure", result: null, error });
  });

  it("refuses arguments that it does not know", async () => {
    const { outcome, error } = await read({ file: "notes.txt" });
    expect(outcome).toBe("error");
    expect(error).toContain(
      "It takes: path (string), start_line (integer, optional), max_lines (integer, optional).",
    );
  });
});
