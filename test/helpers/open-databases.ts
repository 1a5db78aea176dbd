import { existsSync } from "node:fs";
import { join } from "node:path";
import { openDatabase, type Database } from "../../src/storage/database.ts";

/** Embedded databases held open between commands. */
export interface OpenDatabases {
  /** Opens the database of a working directory, where there is one. */
  hold(cwd: string): Promise<void>;
  /** Closes all of them. */
  release(): Promise<void>;
}

/**
 * Holds embedded databases open, so that commands run in this process share them. Otherwise each command opens the folder
 * again, which takes half a second. Release them before another process opens the folder.
 */
export function openDatabases(): OpenDatabases {
  const held = new Map<string, Database>();
  return {
    async hold(cwd) {
      const folder = join(cwd, ".stratagraph");
      if (held.has(folder) || !existsSync(folder)) return;
      const database = await openDatabase({ folder });
      held.set(folder, database);
      await database.pool.query("select 1"); // Opens it.
    },
    async release() {
      const databases = [...held.values()];
      held.clear();
      await Promise.all(databases.map((database) => database.close()));
    },
  };
}
