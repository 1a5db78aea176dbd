import { renameSync, symlinkSync, unlinkSync } from "node:fs";
import * as fileSystem from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listFilesTool, readFileTool } from "../../../src/tools/builtins/file-tools.ts";
import {
  type FileSystem,
  PathRuleError,
  rootFolder,
} from "../../../src/tools/builtins/root-folder.ts";
import { searchTextTool } from "../../../src/tools/builtins/search-text.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A root whose folder `docs` can be swapped for a link to a folder outside, with a file of the same name. */
function setUp() {
  const folder = tempFolder({
    "root/docs/guide.md": "inside",
    "outside/guide.md": "SECRET of 20 letters",
    "outside/secret.md": "SECRET",
  });
  const root = join(folder, "root");
  const docs = join(root, "docs");
  let isSwapped = false;
  const swap = (wanted: boolean) => {
    if (wanted === isSwapped) return;
    isSwapped = wanted;
    if (wanted) {
      renameSync(docs, join(folder, "docs"));
      symlinkSync("../outside", docs);
    } else {
      unlinkSync(docs);
      renameSync(join(folder, "docs"), docs);
    }
  };
  return { root, docs, swap };
}

type Method = keyof FileSystem;

/** The file system, on which something happens before and after each call. */
function hooked(on: {
  readonly before?: (method: Method, path: string) => void;
  readonly after?: (method: Method, path: string) => void;
}): FileSystem {
  const hook = <Name extends Method>(name: Name): FileSystem[Name] => {
    const call = fileSystem[name] as (path: string, ...more: unknown[]) => Promise<unknown>;
    const wrapped = async (path: string, ...more: unknown[]) => {
      on.before?.(name, path);
      try {
        return await call(path, ...more);
      } finally {
        on.after?.(name, path);
      }
    };
    return wrapped as unknown as FileSystem[Name];
  };
  return {
    lstat: hook("lstat"),
    open: hook("open"),
    readdir: hook("readdir"),
    readlink: hook("readlink"),
    realpath: hook("realpath"),
  };
}

const isLinux = process.platform === "linux";

describe.runIf(isLinux)("a folder that is swapped for a link to the outside", () => {
  it("is refused while it is opened, though its path leads inside before and after", async () => {
    const { root, docs, swap } = setUp();
    let isRacing = false;
    const files = hooked({
      // The path is a link when something is opened or looked at by it, and a folder when it is resolved.
      before: (method, path) => {
        if (isRacing && path.startsWith(docs)) swap(method === "open" || method === "lstat");
      },
    });
    const { locate, open, readFolder, lstat } = rootFolder(root, files);
    const folder = await locate("docs");
    const file = await locate("docs/guide.md");
    isRacing = true;
    await expect(open(file)).rejects.toThrow(PathRuleError);
    await expect(readFolder(folder)).rejects.toThrow(PathRuleError);
    await expect(lstat(file)).rejects.toThrow(PathRuleError);
  });

  it("is not followed after its handle was checked", async () => {
    const { root, docs, swap } = setUp();
    let isRacing = false;
    const files = hooked({
      before: (method, path) => isRacing && method === "open" && path === docs && swap(false),
      after: (method) => isRacing && method === "readlink" && swap(true),
    });
    const { locate, open, readFolder, lstat } = rootFolder(root, files);
    const folder = await locate("docs");
    const location = await locate("docs/guide.md");
    isRacing = true;
    // Moved out by the swap, the folder was inside when its handle was checked.
    const file = await open(location);
    expect(await file.readFile("utf8")).toBe("inside");
    await file.close();
    expect((await readFolder(folder)).map(({ name }) => name)).toEqual(["guide.md"]);
    const { size } = await lstat(location);
    expect(size).toBe("inside".length);
  });

  it.each([
    ["read_file", readFileTool, { path: "docs/guide.md" }],
    ["list_files", listFilesTool, { path: "docs", recursive: true }],
    ["search_text", searchTextTool, { path: "docs", query: "SECRET" }],
    ["search_text", searchTextTool, { query: "SECRET" }],
  ] as const)("gives %s nothing of the outside at any moment", async (_, toolOn, args) => {
    const { root, swap } = setUp();
    const moments = await countCalls(root, toolOn, args);
    expect(moments).toBeGreaterThan(3);
    for (let from = 0; from < moments; from += 1) {
      for (let to = from + 1; to <= moments; to += 1) {
        let call = 0;
        const before = () => swap((call += 1) > from && call <= to);
        const tool = toolOn(rootFolder(root, hooked({ before })));
        const { result } = await callBuiltin(tool, args);
        expect(JSON.stringify(result)).not.toMatch(/secret\.md|SECRET|"size":20/);
        swap(false);
      }
    }
  });
});

async function countCalls(
  root: string,
  toolOn: typeof readFileTool,
  args: Record<string, unknown>,
): Promise<number> {
  let calls = 0;
  const before = () => {
    calls += 1;
  };
  await callBuiltin(toolOn(rootFolder(root, hooked({ before }))), args);
  return calls;
}

describe("without handles' paths", () => {
  it("checks the path before and after it is used", async () => {
    const { root, docs, swap } = setUp();
    let swapBefore: Method | undefined;
    const files = hooked({
      before: (method, path) => {
        if (method === "readlink") throw new Error("there is no /proc");
        if (method === swapBefore && path.startsWith(docs)) swap(true);
      },
    });
    const { locate, open, readFolder } = rootFolder(root, files);
    const folder = await locate("docs");
    const location = await locate("docs/guide.md");
    const file = await open(location);
    expect(await file.readFile("utf8")).toBe("inside");
    await file.close();
    swapBefore = "readdir";
    await expect(readFolder(folder)).rejects.toThrow(PathRuleError);
    await expect(open(location)).rejects.toThrow(PathRuleError);
  });
});
