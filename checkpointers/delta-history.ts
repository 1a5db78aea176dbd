import type { CheckpointPendingWrite, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import type { DatabasePool } from "../src/storage/pool.ts";
import { isOfStock, type CheckpointPlace, type CheckpointReader } from "./checkpoint-reader.ts";
import type { CheckpointQueries, CheckpointRow } from "./queries.ts";
import { readRows } from "./read-rows.ts";

interface VisitedRow extends CheckpointRow {
  /** Channels that no newer ancestor had a value of; none for the checkpoint itself. */
  wanted: string[];
  /** Those of them that this one has a value of. */
  found: string[];
}

/**
 * What LangGraph's delta channels are put together from: of each channel the nearest ancestor's value, and all writes
 * since, oldest first. One statement, however far back that is.
 *
 * @returns null when a checkpoint of the stock class is on the way, or one that is damaged beyond what the database can read
 * @throws {CorruptCheckpointError}
 */
export async function deltaHistory(
  place: CheckpointPlace,
  channels: readonly string[],
  parts: {
    readonly pool: DatabasePool;
    readonly queries: CheckpointQueries;
    readonly reader: CheckpointReader;
  },
): Promise<Record<string, DeltaChannelHistory> | null> {
  const { pool, queries, reader } = parts;
  const statement = { name: `${queries.name}-delta-history`, text: queries.deltaHistory };
  const values = [place.threadId, place.namespace, place.id, channels];
  const result = await pool.query({ ...statement, values }).catch((thrown: unknown) => {
    if (isOfData(thrown)) return null;
    throw thrown;
  });
  if (result === null) return null;
  const rows = readRows(result.rows as never);
  const writes = new Map<string, CheckpointPendingWrite[]>(channels.map((name) => [name, []]));
  const seeds = new Map<string, unknown>();
  const visited = rows.checkpoints as readonly VisitedRow[];
  for (const row of visited.toReversed()) {
    if (isOfStock(row)) return null;
    reader.check(row);
    if (row.wanted.length === 0) continue;
    for (const write of await reader.writesOf(row)) {
      if (row.wanted.includes(write[1])) writes.get(write[1])!.push(write);
    }
    if (row.found.length === 0) continue;
    const { checkpoint } = await reader.load(row, rows);
    for (const channel of row.found) seeds.set(channel, checkpoint.channel_values[channel]);
  }
  return Object.fromEntries(
    channels.map((channel) => [
      channel,
      {
        writes: writes.get(channel)!,
        ...(seeds.has(channel) && { seed: seeds.get(channel) }),
      },
    ]),
  );
}

/** Whether a statement failed for the data that it met: SQLSTATE class 22. */
function isOfData(thrown: unknown): boolean {
  const { code } = thrown as { code?: unknown };
  return typeof code === "string" && /^22[0-9A-Z]{3}$/.test(code);
}
