import type { RunnableConfig } from "@langchain/core/runnables";
import { getCheckpointId } from "@langchain/langgraph-checkpoint";
import { CheckpointConfigError } from "./errors.ts";

/** What a config says of where to read or write. */
export interface Place {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | null;
}

/** @throws {CheckpointConfigError} */
export function placeOf(config: RunnableConfig): Place {
  const { thread_id: threadId, checkpoint_ns: namespace } = config.configurable ?? {};
  if (threadId === undefined || threadId === null) throw new CheckpointConfigError("thread_id");
  return {
    threadId: String(threadId),
    namespace: String(namespace ?? ""),
    checkpointId: getCheckpointId(config) || null,
  };
}
