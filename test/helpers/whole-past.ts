import { openCheckpointer } from "../../checkpointers/postgres.ts";
import type { Database } from "../../src/storage/database.ts";

/** Every checkpoint of a thread as a new checkpointer reads it, agents inside included, by namespace and id. */
export async function wholePast(
  database: Database,
  threadId: string,
): Promise<Record<string, unknown>> {
  const checkpointer = await openCheckpointer(database);
  const found: Record<string, unknown> = {};
  for await (const tuple of checkpointer.list({ configurable: { thread_id: threadId } })) {
    const { checkpoint, metadata, parentConfig, config } = tuple;
    const key = `${config.configurable?.["checkpoint_ns"]} ${checkpoint.id}`;
    const whole = { checkpoint, metadata, parentConfig };
    found[key] = JSON.parse(JSON.stringify(whole)) as unknown;
  }
  return found;
}
