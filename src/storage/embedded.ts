import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { DATABASE, lockFolder, type FolderLock } from "./folder-lock.ts";
import { DatabaseUnavailableError } from "./errors.ts";
import { PGliteConnection } from "./pglite-connection.ts";
import { PGlitePool } from "./pglite-pool.ts";
import { createPGlite } from "./pglite.ts";
import type { DatabasePool } from "./pool.ts";

interface SharedConnection {
  connection: PGliteConnection;
  pools: number;
  /** Set once the last pool has ended: the folder is being given back. */
  closing?: Promise<void>;
}

/**
 * The PGlite open on each folder in this thread. It hangs on the global object because one process may hold this module
 * twice (a bundle beside the package, sources beside the build), and two PGlites on a folder destroy it.
 */
const REGISTRY = Symbol.for("stratagraph.embedded-databases");
const registry = ((globalThis as { [REGISTRY]?: Map<string, SharedConnection> })[REGISTRY] ??=
  new Map());

/**
 * A pool on the PGlite of a folder. Nothing happens to the folder until the first query, which locks and opens it.
 * Pools on the same folder share one PGlite; the last to end closes it and unlocks the folder.
 */
export function embeddedPool(folder: string, waitMs: number): DatabasePool {
  const key = existsSync(folder) ? realpathSync(folder) : resolve(folder);
  const shared = share(key);
  shared.pools += 1;
  return new PGlitePool(shared.connection, waitMs, async () => {
    shared.pools -= 1;
    if (shared.pools > 0) return;
    shared.closing = shared.connection.close();
    await shared.closing;
    if (registry.get(key) === shared) registry.delete(key);
  });
}

/** A pool on a PGlite that lives in memory and is gone when the pool ends. */
export function inMemoryPool(waitMs: number): DatabasePool {
  let opened = false;
  const connection = new PGliteConnection(
    async () => {
      if (opened)
        throw new DatabaseUnavailableError("it was in memory, and was lost", null, undefined);
      const database = await createPGlite();
      opened = true;
      return database;
    },
    async () => {},
  );
  return new PGlitePool(connection, waitMs, () => connection.close());
}

function share(folder: string): SharedConnection {
  const present = registry.get(folder);
  if (present && !present.closing) return present;
  const before = present?.closing;
  let lock: FolderLock | undefined;
  const unlock = (): void => {
    lock?.release();
    lock = undefined;
  };
  const connection = new PGliteConnection(
    async () => {
      await before;
      lock ??= lockFolder(folder); // Still held where this replaces a PGlite that panicked.
      try {
        return await createPGlite(join(folder, DATABASE));
      } catch (error) {
        unlock();
        throw error;
      }
    },
    async () => unlock(),
  );
  const shared: SharedConnection = { connection, pools: 0 };
  registry.set(folder, shared);
  return shared;
}
