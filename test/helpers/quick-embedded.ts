import { existsSync, rmSync } from "node:fs";
import { vi } from "vitest";
import { copyDatabase } from "./pglite-template.ts";

/**
 * A set-up file: an embedded database that a test's code makes begins as a copy of one with empty tables. PGlite takes
 * seconds to make one, a copy a fraction of one. Tests of how a new one is made say `vi.unmock("…/src/storage/pglite.ts")`.
 */
vi.mock("../../src/storage/pglite.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/storage/pglite.ts")>();
  return {
    ...original,
    async createPGlite(folder?: string) {
      if (folder !== undefined && !existsSync(folder)) {
        try {
          copyDatabase(folder);
        } catch {
          // Where it cannot be copied to, PGlite is to say so itself.
          rmSync(folder, { recursive: true, force: true });
        }
      }
      return original.createPGlite(folder);
    },
  };
});
