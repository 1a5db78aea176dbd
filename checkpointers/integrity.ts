import { canonicalJson } from "./canonical-json.ts";
import { sha256 } from "./sha256.ts";

/** All that a checkpoint's hash covers. The elements it refers to are covered by their hashes, which stand in the body. */
export interface HashedCheckpoint {
  readonly threadId: string;
  readonly namespace: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly parentHash: Buffer | null;
  readonly type: string | null;
  readonly body: Uint8Array;
  /** Flat triples. */
  readonly segments: readonly number[];
  readonly metadata: unknown;
  readonly summary: unknown;
}

/** SHA-256, 32 bytes. */
export function checkpointHash(of: HashedCheckpoint): Buffer {
  const { threadId, namespace, id, parentId, parentHash, type, segments, metadata, summary } = of;
  const parent = parentHash?.toString("base64") ?? null;
  const head = JSON.stringify([1, threadId, namespace, id, parentId, parent, type, segments]);
  return sha256(`${head}\n${canonicalJson(metadata)}\n${canonicalJson(summary)}\n`, of.body);
}

/** What the hash of a set of pending writes covers. */
export interface HashedWrites {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string;
  readonly idx: number;
  readonly body: Uint8Array;
}

/** SHA-256, 32 bytes. */
export function writesHash(of: HashedWrites): Buffer {
  const { threadId, namespace, checkpointId, taskId, idx, body } = of;
  return sha256(`${JSON.stringify([1, threadId, namespace, checkpointId, taskId, idx])}\n`, body);
}
