import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/storage/database.ts";
import {
  folderAccess,
  ForeignFolderError,
  makePrivateFolder,
} from "../../src/storage/private-folder.ts";
import { copyDatabase } from "../helpers/pglite-template.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const isRoot = process.geteuid?.() === 0;
const nobody = 65_534;
const parent = tempFolder();
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
let path: string;
let count = 0;

beforeEach(() => {
  path = join(parent, String((count += 1)), "data");
});
afterEach(() => vi.restoreAllMocks());

/** A folder that all users can enter. */
function openFolder(at = path): string {
  mkdirSync(at, { recursive: true });
  chmodSync(at, 0o755);
  return at;
}

/** What opening the embedded database of a folder warns of. */
async function warningsOf(folder: string): Promise<string[]> {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const database = await openDatabase({ folder });
  try {
    await database.pool.query("select 1");
  } finally {
    await database.close();
  }
  return warn.mock.calls.map(([warning]) => String(warning));
}

describe.skipIf(process.platform === "win32")("makePrivateFolder", () => {
  test("makes a folder for its owner alone, whatever the umask, and leaves its parents to it", () => {
    const before = process.umask(0);
    try {
      makePrivateFolder(path);
    } finally {
      process.umask(before);
    }
    expect([modeOf(path), modeOf(join(path, ".."))]).toEqual(["700", "777"]);
  });

  test("closes a folder that is there, also behind a symbolic link", () => {
    openFolder();
    symlinkSync(path, `${path}-link`);
    expect(makePrivateFolder(`${path}-link`)).toMatchObject({ isOpen: false, mode: 0o700 });
    expect(modeOf(path)).toBe("700");
  });

  test("leaves the mode of a folder that holds other things", () => {
    openFolder();
    writeFileSync(join(path, "lock"), "");
    writeFileSync(join(path, "notes.txt"), "");
    expect(makePrivateFolder(path, (name) => name === "lock")).toMatchObject({
      isOpen: true,
      isReplaceable: false,
    });
    expect(modeOf(path)).toBe("755");
  });

  test.each([
    [0o755, false],
    [0o775, true],
    [0o757, true],
    [0o1777, false],
  ])("tells that a folder of mode %o can be replaced: %s", (mode, isReplaceable) => {
    openFolder();
    chmodSync(path, mode);
    expect(folderAccess(path)).toEqual({ foreignOwner: null, mode, isOpen: true, isReplaceable });
  });

  test.skipIf(!isRoot)("names another owner, and leaves that folder alone", () => {
    openFolder();
    chownSync(path, nobody, nobody);
    vi.spyOn(process, "geteuid").mockReturnValue(1_000);
    expect(makePrivateFolder(path)).toMatchObject({ foreignOwner: nobody, isReplaceable: true });
    expect(modeOf(path)).toBe("755");
    vi.spyOn(process, "geteuid").mockReturnValue(nobody);
    expect(makePrivateFolder(path)).toMatchObject({ foreignOwner: null, isOpen: false });
  });
});

describe.skipIf(process.platform === "win32")("an embedded database", () => {
  test("is closed to other users, also where it was open", async () => {
    copyDatabase(join(openFolder(), "database"));
    chmodSync(join(path, "database"), 0o755);
    expect(await warningsOf(path)).toEqual([]);
    expect([modeOf(path), modeOf(join(path, "database"))]).toEqual(["700", "700"]);
    if (!isRoot) return;
    for (const above of [parent, join(path, "..")]) chmodSync(above, 0o755);
    const wal = join(path, "database", "pg_wal");
    const log = join(
      wal,
      readdirSync(wal).find((name) => name.length === 24)!,
    );
    const { stderr } = spawnSync("cat", [log], { uid: nobody, encoding: "utf8" });
    expect(stderr).toContain("Permission denied");
  });

  test("in a folder that others can write to is closed, and a warning says they can replace it", async () => {
    openFolder();
    writeFileSync(join(path, "notes.txt"), "");
    chmodSync(path, 0o777);
    expect(await warningsOf(path)).toEqual([
      `Other users can replace the database in ${path}. Choose a folder that only you can write to.`,
    ]);
    expect([modeOf(path), modeOf(join(path, "database"))]).toEqual(["777", "700"]);
  });

  test.skipIf(!isRoot)("of another user is not opened", async () => {
    mkdirSync(join(openFolder(), "database"));
    chownSync(join(path, "database"), nobody, nobody);
    vi.spyOn(process, "geteuid").mockReturnValue(1_000);
    const database = await openDatabase({ folder: path });
    await expect(database.pool.query("select 1")).rejects.toThrow(ForeignFolderError);
    await database.close();
    expect(readdirSync(path)).toEqual(["database"]);
  });
});
