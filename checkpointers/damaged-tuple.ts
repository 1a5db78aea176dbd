import type { RunnableConfig } from "@langchain/core/runnables";
import type { Checkpoint, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { CorruptCheckpointError } from "./errors.ts";

/** Whether LangGraph may be asking which checkpoint is the newest: it takes the id out of a config that had one. */
export function asksForNewestId({ configurable = {} }: RunnableConfig): boolean {
  return (
    Object.hasOwn(configurable, "checkpoint_id") && configurable["checkpoint_id"] === undefined
  );
}

/** A damaged checkpoint by its id. Reading anything else of it throws `damage`. */
export function damagedTuple(damage: CorruptCheckpointError): CheckpointTuple {
  const { threadId, namespace, checkpointId } = damage;
  const refuse = () => {
    throw damage;
  };
  const checkpoint = new Proxy({ id: checkpointId } as Checkpoint, {
    get: (target, key) => (key === "id" ? target.id : refuse()),
    has: refuse,
    ownKeys: refuse,
    getOwnPropertyDescriptor: refuse,
  });
  const tuple = {
    config: {
      configurable: {
        thread_id: threadId,
        checkpoint_ns: namespace,
        checkpoint_id: checkpointId,
      },
    },
    checkpoint,
  };
  const refused = { get: refuse, enumerable: true };
  return Object.defineProperties(tuple, {
    metadata: refused,
    parentConfig: refused,
    pendingWrites: refused,
  });
}
