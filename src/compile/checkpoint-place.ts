import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { isRecord } from "../state/is-record.ts";

/** Ours says when all that it was given for a thread is durable. */
export type Saver = BaseCheckpointSaver & { durable?(threadId: string): Promise<void> };

/** The checkpoint that a node was started from, beside which the node may keep writes of its own. */
export interface CheckpointPlace {
  readonly saver: Saver;
  readonly config: RunnableConfig;
  /** Of the node's task, in which ids of writes are unique. */
  readonly task: string;
  /** Whether the checkpoint itself is stored only when the run waits. */
  readonly isKeptLate: boolean;
}

/**
 * Null where nothing keeps the checkpoint.
 * @param config what LangGraph gave the node
 */
export function checkpointPlace({ configurable = {} }: RunnableConfig): CheckpointPlace | null {
  const saver = configurable["__pregel_checkpointer"] as Saver | undefined;
  const task: unknown = configurable["__pregel_task_id"];
  const namespace: unknown = configurable["checkpoint_ns"];
  const checkpoints: unknown = configurable["checkpoint_map"];
  if (saver === undefined || typeof task !== "string") return null;
  if (typeof namespace !== "string" || !isRecord(checkpoints)) return null;
  const graph = namespace.split("|").slice(0, -1).join("|");
  const checkpoint = checkpoints[graph];
  if (typeof checkpoint !== "string") return null;
  const { thread_id } = configurable;
  return {
    saver,
    task,
    isKeptLate: configurable["__pregel_durability"] === "exit",
    config: { configurable: { thread_id, checkpoint_ns: graph, checkpoint_id: checkpoint } },
  };
}
