import {
  compareWritesSortKeys,
  writesSortKey,
  type CheckpointPendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { Reviver } from "./elements/revive.ts";
import { writesHash } from "./integrity.ts";
import type { CheckpointRow } from "./queries.ts";
import { damagedRow } from "./read-rows.ts";
import { unpackWrites } from "./write-set.ts";

/**
 * The pending writes that were read with a checkpoint, in the order in which LangGraph applies them, each set checked by
 * its hash.
 *
 * @throws {CorruptCheckpointError}
 */
export async function readWrites(
  row: CheckpointRow,
  revive: Reviver,
): Promise<CheckpointPendingWrite[]> {
  const writes: { key: ReturnType<typeof writesSortKey>; write: CheckpointPendingWrite }[] = [];
  const taken = new Set<string>();
  let start = 0;
  for (const [at, taskId] of (row.write_tasks ?? []).entries()) {
    const end = start + row.write_lengths![at]!;
    const body = row.write_bodies!.subarray(start, end);
    start = end;
    const hash = writesHash({
      threadId: row.thread_id,
      namespace: row.checkpoint_ns,
      checkpointId: row.checkpoint_id,
      taskId,
      idx: row.write_idxs![at]!,
      body,
    });
    if (!hash.equals(row.write_hashes!.subarray(at * 32, at * 32 + 32))) {
      throw damagedRow(row, "its pending writes do not have the hash they were given");
    }
    const set = unpackWrites(body);
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
