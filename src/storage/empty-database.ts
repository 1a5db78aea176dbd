import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

/**
 * The files of a database without rows as a compressed tar, which the build puts next to this module. Unpacking it takes a
 * twentieth of the time in which PGlite makes a new cluster, and half of the memory. Sources run without it.
 */
const archive = new URL("empty-database.tar.br", import.meta.url);

/** Size of a header of a tar, and of the blocks that contents are padded to (POSIX.1-1988). */
const BLOCK = 512;

/** Type of an entry that is a folder. */
const FOLDER = "5";

/**
 * Makes the folder of a database from the archive, complete or not at all. Does nothing if the folder exists, or if there
 * is no archive.
 */
export function unpackEmptyDatabase(folder: string, from: URL = archive): void {
  if (existsSync(folder) || !existsSync(from)) return;
  // On the same file system, so that the folder appears at once with all of its files.
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  for (const { name, type, content } of entriesOf(brotliDecompressSync(readFileSync(from)))) {
    const path = join(unfinished, normalize(`/${name}`));
    const parent = type === FOLDER ? path : dirname(path);
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    if (type !== FOLDER) writeFileSync(path, content, { mode: 0o600 });
  }
  renameSync(unfinished, folder);
}

interface TarEntry {
  /** Relative to the archive's root. */
  readonly name: string;
  readonly type: string;
  readonly content: Uint8Array;
}

/** The entries of a tar whose names have at most 100 characters, as those of PGlite do. */
function* entriesOf(tar: Buffer): Generator<TarEntry> {
  const text = (from: number, length: number) =>
    tar.toString("latin1", from, from + length).replace(/\0.*$/s, "");
  for (let at = 0; at + BLOCK <= tar.length;) {
    const name = text(at, 100);
    if (name === "") return;
    const size = Number.parseInt(text(at + 124, 12), 8) || 0;
    const start = at + BLOCK;
    yield { name, type: text(at + 156, 1), content: tar.subarray(start, start + size) };
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
}

/** Removes the databases of a new cluster that PGlite never opens, which are half of its files. */
export async function dropUnusedDatabases(database: Pick<PGlite, "exec">): Promise<void> {
  for (const name of ["template0", "template1"]) {
    await database.exec(`alter database ${name} is_template false`);
    await database.exec(`drop database ${name}`);
  }
}

/**
 * Makes the archive of a database in memory, whose tables are ready: the build calls it. The files depend on the version of
 * PGlite, which is pinned.
 */
export async function packDatabase(
  database: Pick<PGlite, "dumpDataDir" | "exec">,
  to: URL = archive,
): Promise<void> {
  await database.exec("checkpoint");
  const dump = await database.dumpDataDir("none");
  const tar = Buffer.from(await dump.arrayBuffer());
  // A window of 16 MiB sees the log file, which is nearly empty, as one repetition.
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: tar.length,
  };
  writeFileSync(to, brotliCompressSync(tar, { params }));
}
