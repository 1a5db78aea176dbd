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
    threadId: checkName("thread_id", String(threadId)),
    namespace: checkName("checkpoint_ns", String(namespace ?? "")),
    checkpointId: checkName("checkpoint_id", getCheckpointId(config)) || null,
  };
}

/** They stand together in an index, whose rows hold some 2,700 bytes. */
const MAX_BYTES = 850;
const UNSTORABLE = /\0|\p{Surrogate}/u;

function checkName(key: string, name: string): string {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_BYTES) {
    throw new CheckpointConfigError(key, `it has ${bytes} bytes, more than ${MAX_BYTES}`);
  }
  if (UNSTORABLE.test(name)) {
    throw new CheckpointConfigError(key, "it holds a NUL character or half a surrogate pair");
  }
  return name;
}
