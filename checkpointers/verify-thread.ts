import type { CheckpointReader } from "./checkpoint-reader.ts";
import { CorruptCheckpointError } from "./errors.ts";

export interface DamagedCheckpoint {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly reason: string;
}

export interface Verification {
  /** Checkpoints that were read, with all their values and pending writes. */
  readonly checked: number;
  readonly damaged: readonly DamagedCheckpoint[];
}

const PAGE = 64;

/** Reads every checkpoint of a thread, and compares what it says of its parent with the parent. */
export async function verifyThread(
  reader: Pick<CheckpointReader, "page">,
  threadId: string,
): Promise<Verification> {
  const damaged: DamagedCheckpoint[] = [];
  let checked = 0;
  let after: readonly string[] = [];
  for (;;) {
    const more = after.length === 0 ? "" : "and (c.checkpoint_id, c.checkpoint_ns) < ($2, $3)";
    const where = `where c.thread_id = $1 ${more}`;
    const { rows, load } = await reader.page({ where, values: [threadId, ...after], limit: PAGE });
    for (const row of rows) {
      const { checkpoint_ns: namespace, checkpoint_id: checkpointId } = row;
      checked += 1;
      const reason = await load(row).then(
        () => brokenLink(row),
        (thrown: unknown) => reasonOf(thrown),
      );
      if (reason !== null) damaged.push({ namespace, checkpointId, reason });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return { checked, damaged };
    after = [last.checkpoint_id, last.checkpoint_ns];
  }
}

function brokenLink(row: {
  readonly parent_hash: Buffer | null;
  readonly parent_row_hash: Buffer | null;
}): string | null {
  const { parent_hash: expected, parent_row_hash: found } = row;
  if (expected === null || found === null || expected.equals(found)) return null;
  return "its parent is another one than it was made from";
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof CorruptCheckpointError) return thrown.reason;
  throw thrown;
}
