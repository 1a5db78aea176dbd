import { isOfStock, type CheckpointReader } from "./checkpoint-reader.ts";
import { checkParent, countsDeltas } from "./delta-history.ts";
import { CorruptCheckpointError } from "./errors.ts";
import type { CheckpointRow } from "./queries.ts";

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

type Reader = Pick<CheckpointReader, "page" | "rows" | "body">;

/**
 * Reads every checkpoint of a thread, and compares what it says of its parent with the parent: also whether all is there
 * that its delta channels are put together from.
 */
export async function verifyThread(reader: Reader, threadId: string): Promise<Verification> {
  const damaged: DamagedCheckpoint[] = [];
  const unlike: (DamagedCheckpoint & { readonly parentId: string | null })[] = [];
  let checked = 0;
  let after: readonly string[] = [];
  for (;;) {
    const more = after.length === 0 ? "" : "and (c.checkpoint_id, c.checkpoint_ns) < ($2, $3)";
    const where = `where c.thread_id = $1 ${more}`;
    const { rows, load } = await reader.page({ where, values: [threadId, ...after], limit: PAGE });
    for (const row of rows) {
      const { checkpoint_ns: namespace, checkpoint_id: checkpointId } = row;
      checked += 1;
      const reason = await check(reader, row, load).then(() => null, reasonOf);
      if (reason !== null) damaged.push({ namespace, checkpointId, reason });
      else if (isUnlikeParent(row)) {
        const unlikeParent = "its parent is another one than it was made from";
        const parentId = row.parent_checkpoint_id;
        unlike.push({ namespace, checkpointId, reason: unlikeParent, parentId });
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) break;
    after = [last.checkpoint_id, last.checkpoint_ns];
  }
  // Where the parent is damaged, that is why they are unlike.
  const known = new Set(damaged.map((of) => placeIn(of.namespace, of.checkpointId)));
  for (const { parentId, ...link } of unlike) {
    if (!known.has(placeIn(link.namespace, parentId))) damaged.push(link);
  }
  return { checked, damaged };
}

/** @throws {CorruptCheckpointError} */
async function check(
  reader: Reader,
  row: CheckpointRow,
  load: (row: CheckpointRow) => Promise<unknown>,
): Promise<void> {
  await load(row);
  const { thread_id: threadId, checkpoint_ns: namespace, parent_checkpoint_id: id } = row;
  if (id === null || isOfStock(row) || !countsDeltas(row.metadata)) return;
  const [parent] = (await reader.rows({ threadId, namespace, id })).checkpoints;
  checkParent(row, parent, (await reader.body(row)).body);
}

function placeIn(namespace: string, id: string | null): string {
  return JSON.stringify([namespace, id]);
}

function isUnlikeParent({
  parent_hash: expected,
  parent_row_hash: found,
}: Pick<CheckpointRow, "parent_hash" | "parent_row_hash">): boolean {
  return expected !== null && found !== null && !expected.equals(found);
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof CorruptCheckpointError) return thrown.reason;
  throw thrown;
}
