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

/** @throws {CheckpointConfigError} when no database can hold the name that a config has under `key` */
export function checkName(key: string, name: string): string {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new CheckpointConfigError(key, problem);
  return name;
}

/** Why no database can hold a name, as part of a sentence. */
export function nameProblem(name: string): string | undefined {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_BYTES) return `it has ${bytes} bytes, more than ${MAX_BYTES}`;
  if (UNSTORABLE.test(name)) return "it holds a NUL character or half a surrogate pair";
  return undefined;
}
