import { canonicalHash } from "../src/values/json.ts";
import * as crypto from "node:crypto";
import { CorruptDefinitionError } from "./errors.ts";

/** All that a checkpoint's hash covers. The elements it refers to are covered by their hashes, which stand in the body. */
export interface HashedCheckpoint {
  readonly threadId: string;
  readonly namespace: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly parentHash: Buffer | null;
  readonly type: string | null;
  /** Before it is sealed, so that the hash stays when a value is sealed under another key. */
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
  return sha256(`${head}\n${hashInput(metadata)}\n${hashInput(summary)}\n`, of.body);
}

/** What the hash of a set of pending writes covers: the bytes as they are stored, sealed where they are sealed. */
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

/** What binds a sealed value to its row: the last argument of `ValueCipher`. A row that is copied to another key does not open. */
export const sealContext = {
  element: (log: number, idx: number) => `element ${log} ${idx}`,
  checkpoint: (of: Pick<HashedCheckpoint, "threadId" | "namespace" | "id">) =>
    `checkpoint ${JSON.stringify([of.threadId, of.namespace, of.id])}`,
  writes: (of: Omit<HashedWrites, "body">) =>
    `writes ${JSON.stringify([of.threadId, of.namespace, of.checkpointId, of.taskId, of.idx])}`,
  attachment: (hash: string) => `attachment ${hash}`,
};

/** Leaves under one inner node. Two levels are enough: a list of 10,000 has 157 inner nodes. */
const LEAVES = 64;

/**
 * A hash over a sequence of hashes, of two levels: blocks of 64 leaves, and the root over the blocks. Making the tree of
 * a sequence from that of another costs the blocks in which they differ.
 */
export interface HashTree {
  /** 32 bytes each; the same object where the leaf is the same. */
  readonly leaves: readonly Buffer[];
  readonly blocks: readonly Buffer[];
  /** 32 bytes. */
  readonly root: Buffer;
}

/** @param like another tree with the same first `until` leaves, and maybe more */
export function hashTree(
  leaves: readonly Buffer[],
  like?: { readonly tree: HashTree; readonly until: number },
): HashTree {
  const whole = like === undefined ? 0 : Math.floor(like.until / LEAVES);
  const blocks = like === undefined ? [] : like.tree.blocks.slice(0, whole);
  for (let start = whole * LEAVES; start < leaves.length; start += LEAVES) {
    const end = Math.min(start + LEAVES, leaves.length);
    const known = like !== undefined && sameLeaves(leaves, like.tree.leaves, start, end);
    blocks.push(known ? like.tree.blocks[start / LEAVES]! : sha256(...leaves.slice(start, end)));
  }
  return { leaves, blocks, root: sha256(`${leaves.length}\n`, ...blocks) };
}

/** By identity. */
function sameLeaves(
  leaves: readonly Buffer[],
  others: readonly Buffer[],
  start: number,
  end: number,
): boolean {
  if (Math.min(start + LEAVES, others.length) !== end) return false;
  for (let at = start; at < end; at += 1) if (leaves[at] !== others[at]) return false;
  return true;
}

/** Several times cheaper for short data; Node has it from 20.12 on. */
const oneShot = (crypto as Partial<Pick<typeof crypto, "hash">>).hash;

/** SHA-256 of the parts, one after the other: 32 bytes. */
export function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && oneShot) return oneShot("sha256", only, "buffer");
  const hash = crypto.createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/**
 * The definition that is stored under a hash, where it has that hash.
 * @throws {CorruptDefinitionError}
 */
export function checkDefinition(hash: string, definition: unknown): unknown {
  if (canonicalHash(definition) !== hash) throw new CorruptDefinitionError(hash);
  return definition;
}

/**
 * The text that is hashed for metadata, summaries and writes: JSON with the keys of every object in the order of their
 * text, also whole numbers (`"10"` before `"2"`), unlike that of definitions. Stored hashes depend on it. For data that came
 * from JSON.
 */
export function hashInput(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(hashInput).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.keys(value)
    .toSorted()
    .map((key) => [key, (value as Record<string, unknown>)[key]] as const)
    .filter(([, inner]) => inner !== undefined)
    .map(([key, inner]) => `${JSON.stringify(key)}:${hashInput(inner)}`);
  return `{${entries.join(",")}}`;
}
