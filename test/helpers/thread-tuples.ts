import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { collect } from "./collect.ts";

/** Whatever a saver gives of a thread, newest first, the same for every thread that has the same in it. */
export async function threadTuples(saver: BaseCheckpointSaver, threadId: string) {
  const tuples = await collect(saver.list({ configurable: { thread_id: threadId } }));
  return tuples.map(({ config, parentConfig, checkpoint, metadata, pendingWrites }) => ({
    namespace: config.configurable!["checkpoint_ns"] as string,
    id: config.configurable!["checkpoint_id"] as string,
    parentId: (parentConfig?.configurable?.["checkpoint_id"] ?? null) as string | null,
    checkpoint,
    metadata,
    pendingWrites,
  }));
}
