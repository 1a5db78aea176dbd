import { createHash } from "node:crypto";
import type { BlobStore } from "../../durable-saver.ts";

interface StoredBlob {
  readonly bytes: Uint8Array;
  readonly threads: Set<string>;
}

/**
 * Attachments in the memory of this process, for runtimes without a database.
 *
 * @param maxBytes bytes that are kept; the oldest attachments go first. Default 256 MiB
 */
export function createMemoryBlobs(maxBytes = 256 * 1024 * 1024): BlobStore {
  const stored = new Map<string, StoredBlob>();
  let total = 0;
  const remove = (sha256: string) => {
    total -= stored.get(sha256)?.bytes.byteLength ?? 0;
    stored.delete(sha256);
  };
  return {
    async put(threadId, { bytes }) {
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const known = stored.get(sha256);
      if (known !== undefined) {
        known.threads.add(threadId);
        return sha256;
      }
      stored.set(sha256, { bytes: Uint8Array.from(bytes), threads: new Set([threadId]) });
      total += bytes.byteLength;
      for (const oldest of stored.keys()) {
        if (total <= maxBytes || oldest === sha256) break;
        remove(oldest);
      }
      return sha256;
    },
    async get(threadId, sha256) {
      const found = stored.get(sha256);
      return found?.threads.has(threadId) === true ? found.bytes : null;
    },
    async forget(threadId) {
      for (const [sha256, { threads }] of stored) {
        threads.delete(threadId);
        if (threads.size === 0) remove(sha256);
      }
    },
  };
}
