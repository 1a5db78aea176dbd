import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { BlobStore } from "../../src/durable-saver.ts";

/** What every store of attachments does. */
export function blobStoreContract(name: string, storeOf: () => Promise<BlobStore>): void {
  const bytes = Buffer.from([0, 1, 254, 255]);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const blob = { bytes, mimeType: "image/png" };

  describe(`blobs in ${name}`, () => {
    it("returns the SHA-256 under which the bytes are read, however often they are put", async () => {
      const blobs = await storeOf();
      expect(await blobs.put("twice", blob)).toBe(sha256);
      expect(await blobs.put("twice", blob)).toBe(sha256);
      expect(Buffer.from((await blobs.get("twice", sha256)) ?? [])).toEqual(bytes);
      await blobs.forget("twice");
    });

    it("returns nothing of another thread, and nothing unknown", async () => {
      const blobs = await storeOf();
      await blobs.put("own", blob);
      expect(await blobs.get("other", sha256)).toBeNull();
      expect(await blobs.get("own", "0".repeat(64))).toBeNull();
      await blobs.forget("own");
    });

    it("keeps the bytes until the last of their threads is forgotten", async () => {
      const blobs = await storeOf();
      for (const thread of ["one", "two"]) await blobs.put(thread, blob);
      await blobs.forget("one");
      expect(await blobs.get("one", sha256)).toBeNull();
      expect(await blobs.get("two", sha256)).not.toBeNull();
      await blobs.forget("two");
      await blobs.forget("two");
      expect(await blobs.get("two", sha256)).toBeNull();
    });

    it("keeps the bytes of threads that are written and forgotten at the same time", async () => {
      const blobs = await storeOf();
      await blobs.put("kept", blob);
      await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          await blobs.put(`gone ${at}`, blob);
          await blobs.forget(`gone ${at}`);
        }),
      );
      expect(await blobs.get("kept", sha256)).not.toBeNull();
      await blobs.forget("kept");
    });
  });
}
