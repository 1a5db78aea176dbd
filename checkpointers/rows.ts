import {
  type CheckpointPendingWrite,
  compareWritesSortKeys,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { SealedValueError, type ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import type { ReadElement } from "./elements/load-value.ts";
import type { Reviver } from "./elements/revive.ts";
import type { Segment } from "./elements/sequence.ts";
import { elementHash } from "./elements/store-value.ts";
import { CorruptCheckpointError } from "./errors.ts";
import { type HashedWrites, sealContext, writesHash } from "./integrity.ts";
import { unpackWrites } from "./writing/pending-writes.ts";
import type { CheckpointRow, ElementsRow } from "./queries.ts";

/** What one statement gave: checkpoints, and the elements they refer to. */
export interface ReadRows {
  readonly checkpoints: readonly CheckpointRow[];
  element(log: number, idx: number): ReadElement | undefined;
}

export function readRows(
  rows: readonly ((CheckpointRow & { log: null }) | (ElementsRow & { thread_id: null }))[],
  cipher: ValueCipher,
): ReadRows {
  const checkpoints: CheckpointRow[] = [];
  const logs = new Map<number, Map<number, RawElement>>();
  for (const row of rows) {
    if (row.thread_id !== null) {
      checkpoints.push(row);
      continue;
    }
    if (row.idxs === null) continue; // Nothing stands in that range.
    const log = Number(row.log);
    const elements = logs.get(log) ?? new Map<number, RawElement>();
    logs.set(log, elements);
    let start = 0;
    for (const [at, idx] of row.idxs.entries()) {
      const end = start + row.lengths[at]!;
      elements.set(idx, { type: row.types[at] ?? null, blob: row.blobs.subarray(start, end) });
      start = end;
    }
  }
  return {
    checkpoints,
    element(log, idx) {
      const element = logs.get(log)?.get(idx);
      if (element === undefined) return undefined;
      // Checkpoints of one page share elements: each is opened and hashed once.
      if (element.hash === undefined) {
        element.blob = openOrKeep(cipher, element.blob, sealContext.element(log, idx));
        element.hash = elementHash(element);
      }
      return element as ReadElement;
    },
  };
}

interface RawElement {
  readonly type: string | null;
  /** As it is stored, until there is a hash. */
  blob: Buffer;
  hash?: Buffer;
}

/**
 * Opens a value of which there is a hash. A sealed value that was changed stays as it is, which no hash fits.
 * @throws {MissingEncryptionKeyError}
 */
export function openOrKeep(cipher: ValueCipher, stored: Buffer, context: string): Buffer {
  try {
    return cipher.openBytes(stored, context);
  } catch (thrown) {
    if (thrown instanceof SealedValueError) return stored;
    throw thrown;
  }
}

/** @returns the triples of a row, or null where they are not triples of whole numbers */
export function readSegments(flat: readonly (string | number)[] | null): Segment[] | null {
  const numbers = (flat ?? []).map(Number);
  if (numbers.length % 3 !== 0) return null;
  const segments: Segment[] = [];
  for (let at = 0; at < numbers.length; at += 3) {
    const [log, from, to] = numbers.slice(at, at + 3) as [number, number, number];
    if (!Number.isSafeInteger(log) || !(from >= 0 && from < to && to <= 2 ** 31)) return null;
    segments.push({ log, from, to });
  }
  return segments;
}

/** Says of a row that it is not as it was written. */
export function damagedRow(
  row: Pick<CheckpointRow, "thread_id" | "checkpoint_ns" | "checkpoint_id">,
  reason: string,
  cause?: unknown,
): CorruptCheckpointError {
  const { thread_id, checkpoint_ns, checkpoint_id } = row;
  return new CorruptCheckpointError(thread_id, checkpoint_ns, checkpoint_id, reason, { cause });
}

/**
 * The pending writes that were read with a checkpoint, in the order in which LangGraph applies them, each set checked by
 * its hash.
 *
 * @throws {CorruptCheckpointError}
 */
export async function readWrites(
  row: CheckpointRow,
  { revive, cipher }: { readonly revive: Reviver; readonly cipher: ValueCipher },
): Promise<CheckpointPendingWrite[]> {
  const writes: { key: ReturnType<typeof writesSortKey>; write: CheckpointPendingWrite }[] = [];
  const taken = new Set<string>();
  let start = 0;
  for (const [at, taskId] of (row.write_tasks ?? []).entries()) {
    const end = start + row.write_lengths![at]!;
    const body = row.write_bodies!.subarray(start, end);
    start = end;
    const name = {
      threadId: row.thread_id,
      namespace: row.checkpoint_ns,
      checkpointId: row.checkpoint_id,
      taskId,
      idx: row.write_idxs![at]!,
    };
    const hash = writesHash({ ...name, body });
    if (!hash.equals(row.write_hashes!.subarray(at * 32, at * 32 + 32))) {
      throw damagedRow(row, "its pending writes do not have the hash they were given");
    }
    const set = unpackWrites(openWrites(row, cipher, { ...name, body }));
    for (const { idx, channel, type, blob } of set.writes) {
      // Several sets may have one number: the first counts.
      const key = `${idx} ${taskId}`;
      if (taken.has(key)) continue;
      taken.add(key);
      const value: unknown = await revive(type ?? "json", blob);
      writes.push({
        key: writesSortKey(set.taskPath, taskId, idx),
        write: [taskId, channel, value],
      });
    }
  }
  return writes
    .toSorted((one, other) => compareWritesSortKeys(one.key, other.key))
    .map(({ write }) => write);
}

/**
 * Opens a set of pending writes whose hash was checked.
 * @throws {CorruptCheckpointError} {@link MissingEncryptionKeyError}
 */
export function openWrites(
  row: Parameters<typeof damagedRow>[0],
  cipher: ValueCipher,
  { body, ...name }: HashedWrites,
): Buffer {
  try {
    return cipher.openBytes(body, sealContext.writes(name));
  } catch (thrown) {
    if (!(thrown instanceof SealedValueError)) throw thrown;
    throw damagedRow(row, "its pending writes were sealed for another place", thrown);
  }
}

/**
 * An LRU cache of units by hash, limited in bytes. Only immutable items
 * are cached: all readers of an element get the same object.
 */
export class ElementCache {
  readonly #units = new Map<
    string,
    { readonly items: readonly unknown[]; readonly bytes: number }
  >();
  #bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get(element: ReadElement): readonly unknown[] | undefined {
    const key = element.hash.toString("latin1");
    const found = this.#units.get(key);
    if (found === undefined) return undefined;
    this.#units.delete(key);
    this.#units.set(key, found);
    return found.items;
  }

  add(element: ReadElement, items: readonly unknown[]): void {
    const bytes = element.blob.byteLength;
    if (bytes > this.maxBytes / 4) return;
    const key = element.hash.toString("latin1");
    if (this.#units.has(key)) return;
    this.#units.set(key, { items, bytes });
    this.#bytes += bytes;
    for (const [oldest, held] of this.#units) {
      if (this.#bytes <= this.maxBytes) break;
      this.#units.delete(oldest);
      this.#bytes -= held.bytes;
    }
  }
}
