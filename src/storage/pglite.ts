import type { PGlite } from "@electric-sql/pglite";
import { unpackEmptyDatabase } from "./empty-database.ts";
import { ForeignFolderError, makePrivateFolder } from "./private-folder.ts";

const BYTEA = 17;

/**
 * Opens PGlite on a folder, or in memory, with values as node-postgres has them, so that code sees no difference
 * between the databases. Bytes go through Buffer, several times faster than PGlite's own conversion.
 *
 * @throws {ForeignFolderError} when the folder belongs to another user
 */
export async function createPGlite(folder?: string): Promise<PGlite> {
  if (folder !== undefined) {
    unpackEmptyDatabase(folder);
    closeToOthers(folder);
  }
  const [{ PGlite }, { vector }, { default: pg }] = await Promise.all([
    import("@electric-sql/pglite"),
    import("@electric-sql/pglite-pgvector"),
    import("pg"),
  ]);
  const parsers = Object.fromEntries(
    Object.values(pg.types.builtins).map((oid) => [oid, pg.types.getTypeParser(oid, "text")]),
  );
  return PGlite.create({
    dataDir: folder,
    parsers,
    serializers: { [BYTEA]: toByteaText },
    // Made available: only memory creates the extension, and only then is its code loaded.
    extensions: { vector },
  });
}

/** All files of the database are in this folder, and nothing else is. */
function closeToOthers(folder: string): void {
  const { foreignOwner, isOpen } = makePrivateFolder(folder);
  if (foreignOwner !== null) throw new ForeignFolderError(folder, foreignOwner);
  if (!isOpen) return;
  process.emitWarning(
    `Other users can read ${folder}, whose mode cannot be changed. Choose a folder on another file system.`,
    { type: "StratagraphWarning", code: "STRATAGRAPH_FOLDER_ACCESS" },
  );
}

function toByteaText(value: Uint8Array): string {
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
}
