import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { isRecord } from "../../state/is-record.ts";
import { withAncestors } from "../../compile/ancestors.ts";

type Source = Pick<BaseCheckpointSaver, "getTuple">;

/**
 * A checkpoint and those that it was made from, newest first; of a fork also those of the thread that it comes from.
 * Other branches are left out.
 */
export function branchBack(source: Source, from: CheckpointTuple): AsyncGenerator<CheckpointTuple> {
  return withAncestors(from, (tuple) => parentOf(source, tuple));
}

async function parentOf(
  source: Source,
  { parentConfig, config, metadata }: CheckpointTuple,
): Promise<CheckpointTuple | undefined> {
  const parent = parentConfig && (await source.getTuple(parentConfig));
  if (parent !== undefined) return parent;
  const origin = originIn(metadata, config);
  if (origin === null) return undefined;
  // A fork begins with a copy of the checkpoint itself.
  const original = await source.getTuple(origin);
  return original?.parentConfig && source.getTuple(original.parentConfig);
}

function originIn(metadata: unknown, { configurable }: RunnableConfig): RunnableConfig | null {
  const forked = isRecord(metadata) ? metadata["forked_from"] : undefined;
  if (!isRecord(forked)) return null;
  const { thread_id, checkpoint_id } = forked;
  if (thread_id === configurable?.["thread_id"]) return null;
  return {
    configurable: { ...configurable, checkpoint_map: undefined, thread_id, checkpoint_id },
  };
}
