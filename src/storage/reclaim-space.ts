import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DatabasePool } from "./pool.ts";

/** Bytes of all files in the folder of an embedded database. */
export interface ReclaimedSpace {
  readonly before: number;
  readonly after: number;
}

/**
 * Gives the space of removed rows in an embedded database, and that of its write-ahead log, back to the file system. It
 * takes the database's one session for as long as it lasts, and needs as much free space as what stays in its largest
 * table.
 */
export async function reclaimSpace(pool: DatabasePool, folder: string): Promise<ReclaimedSpace> {
  const client = await pool.connect();
  try {
    await client.query("select 1"); // Opens it.
    const before = await bytesIn(folder);
    await client.query("vacuum (full, analyze)");
    // Otherwise files of the log are renamed and kept for what is to come.
    await client.query("set wal_recycle = off");
    await client.query("checkpoint");
    await client.query("reset wal_recycle");
    return { before, after: await bytesIn(folder) };
  } finally {
    client.release();
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
