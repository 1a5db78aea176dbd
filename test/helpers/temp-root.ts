import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** Where Linux keeps files in memory. */
const memory = "/dev/shm";
const prefix = "stratagraph-tests-";
/** Bytes that must be free there. */
const enough = 4 * 2 ** 30;

/**
 * Has temporary files of the tests kept in memory where there is room, and returns a function that removes them. Each
 * embedded database is 39 MB in 971 files: on a disk, copying and deleting them takes more time than opening it.
 */
export function useTempRoot(): () => void {
  // A run that was killed left its files behind.
  for (const left of namesIn(memory)) {
    const pid = left.startsWith(prefix) ? Number.parseInt(left.slice(prefix.length)) : NaN;
    if (pid > 0 && !isAlive(pid)) rmSync(join(memory, left), { recursive: true });
  }
  if (process.env["TMPDIR"] !== undefined || !hasRoom(memory)) return () => {};
  const root = mkdtempSync(join(memory, `${prefix}${process.pid}-`));
  // A Postgres server of another user reaches what a test opens to it.
  chmodSync(root, 0o711);
  // Worker processes inherit it, and `tmpdir()` reads it.
  process.env["TMPDIR"] = root;
  return () => {
    delete process.env["TMPDIR"];
    rmSync(root, { recursive: true, force: true });
  };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= enough;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
