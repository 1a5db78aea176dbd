import type {
  DamagedCheckpoint,
  ThreadVerification,
  VerifyOptions,
} from "../../src/durable-saver.ts";
import { loadBlob, storedBlobs } from "../blobs.ts";
import { isStockCheckpoint, type CheckpointReader } from "../checkpoint-reader.ts";
import { DamagedValue } from "../elements/load-value.ts";
import type { DataSerializer } from "../elements/revive.ts";
import { elementHash } from "../elements/store-value.ts";
import { CorruptCheckpointError } from "../errors.ts";
import { writesHash } from "../integrity.ts";
import type { SealedTables } from "../tables.ts";
import { CheckedThread } from "./transfer/checked-thread.ts";
import { parentsFirst } from "./transfer/export-thread.ts";
import {
  type StoredCheckpoint,
  storedParts,
  type StoredWriteSet,
  ThreadRows,
} from "./transfer/thread-rows.ts";
import { unpackWrites } from "../writing/pending-writes.ts";

interface VerifyParts extends SealedTables {
  readonly serde: DataSerializer;
  readonly reader: Pick<CheckpointReader, "read">;
}

/**
 * Reads every checkpoint of a thread, parents first, each element once: the time is in proportion to what is stored. It
 * compares what a checkpoint says of its parent with the parent: also whether all is there that its delta channels are
 * put together from. The attachments are read after the checkpoints.
 */
export async function verifyThread(
  { serde, reader, ...tables }: VerifyParts,
  threadId: string,
  { onProgress, signal }: VerifyOptions = {},
): Promise<ThreadVerification> {
  const rows = new ThreadRows(tables, threadId);
  const keys = parentsFirst(await rows.keys());
  const values: StoredBytes[] = [];
  const thread = new CheckedThread(serde, (type, blob) => values.push({ type, blob }));
  const damaged: DamagedCheckpoint[] = [];
  let checked = 0;
  for await (const part of storedParts(rows, keys)) {
    signal?.throwIfAborted();
    if ("gone" in part) continue;
    if ("element" in part) {
      const { log, idx, type, blob } = part.element;
      const hash = elementHash({ type, blob });
      const isReadable = await canRead(serde, { type, blob });
      thread.addElement(log, idx, { hash, ...(!isReadable && { problem: unreadable }) });
      continue;
    }
    const { checkpoint, writeSets } = part;
    const { namespace, id } = checkpoint;
    checked += 1;
    try {
      values.push(...writesOf(threadId, writeSets));
      await check(checkpoint, { threadId, thread, reader, writeSets });
      for (const value of values) {
        if (!(await canRead(serde, value))) throw new DamagedValue(unreadable);
      }
    } catch (thrown) {
      // Its elements may have been removed with it, after its row was read.
      if ((await rows.checkpoints([checkpoint])).length > 0) {
        damaged.push({ namespace, checkpointId: id, reason: reasonOf(thrown) });
        // Where the parent is damaged, that is why its children are unlike it.
        thread.addStock({ namespace, id, writeSets });
      }
    }
    values.length = 0;
    onProgress?.({ checked, total: keys.length });
  }
  const damagedAttachments: string[] = [];
  for await (const row of storedBlobs(tables, threadId)) {
    signal?.throwIfAborted();
    await loadBlob(row, serde).catch(() => damagedAttachments.push(row.sha256));
  }
  return { checked, damaged, ...(damagedAttachments.length > 0 && { damagedAttachments }) };
}

const unreadable = "a value cannot be read";

interface StoredBytes {
  readonly type: string | null;
  readonly blob: Uint8Array;
}

/** The values in sets of writes. @throws {DamagedValue} */
function writesOf(threadId: string, writeSets: readonly StoredWriteSet[]): readonly StoredBytes[] {
  return writeSets.flatMap(({ namespace, id: checkpointId, taskId, idx, body, hash }) => {
    const expected = writesHash({ threadId, namespace, checkpointId, taskId, idx, body });
    if (!expected.equals(hash))
      throw new DamagedValue("its pending writes do not have the hash they were given");
    return unpackWrites(body).writes;
  });
}

/** @throws {DamagedValue} {@link CorruptCheckpointError} */
async function check(
  stored: StoredCheckpoint,
  of: {
    readonly threadId: string;
    readonly thread: CheckedThread;
    readonly reader: Pick<CheckpointReader, "read">;
    readonly writeSets: readonly StoredWriteSet[];
  },
): Promise<void> {
  const { threadId, thread, reader, writeSets } = of;
  const { namespace, id, body, hash, segments } = stored;
  if (isStockCheckpoint(stored)) {
    await reader.read({ threadId, namespace, id });
    thread.addStock({ namespace, id, writeSets });
    return;
  }
  if (body === null) throw new DamagedValue("its content is missing");
  if (hash === null) throw new DamagedValue("its hash is missing");
  const places = (segments ?? []).map(Number);
  await thread.check({ ...stored, threadId, body, hash, segments: places, writeSets });
}

/** Revives a value, and lets it go. */
async function canRead({ revive }: DataSerializer, { type, blob }: StoredBytes): Promise<boolean> {
  try {
    await revive(type ?? "json", blob);
    return true;
  } catch {
    return false;
  }
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof CorruptCheckpointError) return thrown.reason;
  if (thrown instanceof DamagedValue) return thrown.message;
  throw thrown;
}
