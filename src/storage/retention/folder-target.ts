import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makePrivateFolder } from "../private-folder.ts";
import {
  type ArchiveTarget,
  ArchiveTargetError,
  type ObjectKey,
  partName,
  prefixOf,
} from "./archive-target.ts";

/** Archives in a folder that only the user of this process can enter: `TENANT/ARCHIVE/000000.jsonl.gz`. */
export class FolderTarget implements ArchiveTarget {
  constructor(
    /** Absolute. It is made if need be. */
    private readonly folder: string,
  ) {}

  async put(key: ObjectKey, bytes: Uint8Array): Promise<void> {
    const path = this.#pathOf(key);
    await attempt("put", async () => {
      makePrivateFolder(this.folder);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const written = `${path}.${randomUUID()}.tmp`;
      try {
        const file = await open(written, "wx", 0o600);
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(written, path);
        await syncFolder(dirname(path));
      } catch (thrown) {
        await rm(written, { force: true });
        throw thrown;
      }
    });
  }

  async get(key: ObjectKey, maxBytes: number): Promise<Buffer | null> {
    return attempt("get", async () => {
      const file = await open(this.#pathOf(key), "r").catch(nullIfMissing);
      if (file === null) return null;
      try {
        const { size } = await file.stat();
        if (size > maxBytes)
          throw new ArchiveTargetError(
            "get",
            `it has ${size} bytes, more than the ${maxBytes} that were written`,
          );
        return await file.readFile();
      } finally {
        await file.close();
      }
    });
  }

  async remove(of: Parameters<ArchiveTarget["remove"]>[0]): Promise<number> {
    const path = join(this.folder, ...prefixOf(of));
    return attempt("delete", async () => {
      const names = await readdir(path, { recursive: true }).catch(nullIfMissing);
      if (names === null) return 0;
      await rm(path, { recursive: true, force: true });
      if ((await stat(path).catch(nullIfMissing)) !== null)
        throw new ArchiveTargetError("delete", "its folder is still there");
      return names.filter((name) => name.endsWith(".jsonl.gz")).length;
    });
  }

  #pathOf(key: ObjectKey): string {
    return join(this.folder, ...prefixOf(key), partName(key.part));
  }
}

/** Makes a rename last. Windows opens no folders. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function nullIfMissing(thrown: unknown): null {
  if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw thrown;
}

/** @throws ArchiveTargetError for errors of the file system; the message has no path */
async function attempt<T>(operation: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof ArchiveTargetError || code === undefined || !/^E[A-Z]+$/.test(code))
      throw cause;
    throw new ArchiveTargetError(operation, `the file system says ${code}`, { cause });
  }
}
