import type { RunnableConfig } from "@langchain/core/runnables";
import {
  compareChannelVersions,
  copyCheckpoint,
  uuid6,
  type BaseCheckpointSaver,
  type ChannelVersions,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { definitionHashKey } from "../../compile/definition-stamps.ts";
import { definitionHashIn } from "../definition-changed.ts";

/**
 * Writes a child of a checkpoint in which some channels have other values, and everything else is as it was: what is
 * next stays next. Unlike the graph's `updateState` it acts for no node and needs no graph. Tasks of the child are its own:
 * those that had ended or asked somebody run again.
 *
 * @param values whole values by channel, as the reducers have made them
 * @param definitionHash of the definition that the thread goes on under. Default: the checkpoint's own.
 * @returns the child's config
 */
export async function amendCheckpoint(
  checkpointer: BaseCheckpointSaver,
  tuple: CheckpointTuple,
  {
    values,
    definitionHash,
  }: { values: Readonly<Record<string, unknown>>; definitionHash?: string },
): Promise<RunnableConfig> {
  const step = (tuple.metadata?.step ?? -1) + 1;
  const checkpoint = copyCheckpoint(tuple.checkpoint);
  const version = checkpointer.getNextVersion(latest(checkpoint.channel_versions) as never);
  const versions: ChannelVersions = {};
  for (const [channel, value] of Object.entries(values)) {
    checkpoint.channel_values[channel] = value;
    versions[channel] = version;
  }
  Object.assign(checkpoint.channel_versions, versions);
  const metadata: CheckpointMetadata = {
    source: "fork",
    step,
    parents: tuple.metadata?.parents ?? {},
  };
  const hash = definitionHash ?? definitionHashIn(tuple.metadata);
  return checkpointer.put(
    {
      configurable: {
        thread_id: tuple.config.configurable?.["thread_id"],
        checkpoint_ns: tuple.config.configurable?.["checkpoint_ns"] ?? "",
        checkpoint_id: tuple.checkpoint.id,
        ...(hash !== null && { [definitionHashKey]: hash }),
      },
    },
    { ...checkpoint, id: uuid6(step), ts: new Date().toISOString() },
    metadata,
    versions,
  );
}

function latest(versions: ChannelVersions): string | number | undefined {
  return Object.values(versions).reduce<string | number | undefined>(
    (most, version) =>
      most === undefined || compareChannelVersions(version, most) > 0 ? version : most,
    undefined,
  );
}
