import type { PGlite } from "@electric-sql/pglite";

const BYTEA = 17;

/**
 * Opens PGlite on a folder, or in memory, with values as node-postgres has them, so that code sees no difference
 * between the databases. Bytes go through Buffer, several times faster than PGlite's own conversion.
 */
export async function createPGlite(folder?: string): Promise<PGlite> {
  const [{ PGlite }, { default: pg }] = await Promise.all([
    import("@electric-sql/pglite"),
    import("pg"),
  ]);
  const parsers = Object.fromEntries(
    Object.values(pg.types.builtins).map((oid) => [oid, pg.types.getTypeParser(oid, "text")]),
  );
  return PGlite.create({ dataDir: folder, parsers, serializers: { [BYTEA]: toByteaText } });
}

function toByteaText(value: Uint8Array): string {
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
}
