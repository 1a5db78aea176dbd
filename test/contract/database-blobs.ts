import { describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { encryptingSerde } from "../helpers/encrypting-serde.ts";
import { blobStoreContract } from "./blob-store.ts";

/** The attachments of a checkpointer. */
export function databaseBlobs(kind: Database["kind"]): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`attachments of a checkpointer on ${kind}`, () => {
    blobStoreContract(kind, async () => new PostgresCheckpointer(database.shared.pool).blobs);

    it("are encrypted by its serializer", async () => {
      const serde = encryptingSerde();
      const { pool } = database.shared;
      const { blobs } = new PostgresCheckpointer(pool, { serde, schema: "sealed" });
      const bytes = Buffer.from("a picture of a lamp");
      const sha256 = await blobs.put("t", { bytes, mimeType: "image/png" });
      const { rows } = await pool.query<{ body: Buffer }>("select body from sealed.attachments");
      expect(rows[0]?.body.includes("lamp")).toBe(false);
      expect(Buffer.from((await blobs.get("t", sha256)) ?? [])).toEqual(bytes);
    });

    it("are removed when several threads that share them are deleted at the same time", async () => {
      const saver = new PostgresCheckpointer(database.shared.pool);
      const blob = { bytes: Buffer.from("shared"), mimeType: "image/png" };
      const threads = Array.from({ length: 6 }, (_, at) => `t${at}`);
      for (const thread of threads) await saver.blobs.put(thread, blob);
      await Promise.all(threads.map((thread) => saver.deleteThread(thread)));
      const { rows } = await database.shared.pool.query("select sha256 from attachments");
      expect(rows).toEqual([]);
    });
  });
}
