import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  type ChannelVersions,
  type CheckpointMetadata,
  type CheckpointTuple,
  compareChannelVersions,
  copyCheckpoint,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { definitionHashKey, stampOf } from "../../compile/agent-graph.ts";
import { tryUpdate } from "../../compile/guards/updates.ts";
import { hasAnsweredTask, pendingTasks } from "../../compile/guards/waiting.ts";
import { withThread } from "../../compile/run/acquire-thread.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { GraphState } from "../../state/channels.ts";
import { definitionHashIn, refuseOthers } from "../definition-changed.ts";
import {
  checkThreadId,
  InvalidRunOptionError,
  NothingToResumeError,
  refuseOtherUser,
} from "../errors.ts";
import type { ExecuteResult } from "../run-result.ts";
import { graphOf, type PreparedRun, prepareRun, runTurn, threadConfig } from "../run-turn.ts";
import { archiveOf, checkpointAt, checkpointerOf, type ThreadServices } from "./services.ts";
import { valuesOf } from "./stored.ts";
import type { CheckpointRef, ForkOptions, ReplayOptions } from "./threads.ts";

/** Checks all options before it writes anything. */
export async function forkThread(
  services: ThreadServices,
  options: ForkOptions,
): Promise<CheckpointRef> {
  const archive = archiveOf(services, "fork", "forkThread", "listSummaries", "drain");
  const checkpointer = checkpointerOf(services);
  const { checkpointId } = options;
  const threadId = checkThreadId(options.threadId);
  const newThreadId = checkThreadId(options.newThreadId ?? services.run.ids());
  await archive.drain(threadId);
  const tuple = await checkpointAt(services, { threadId, checkpointId });
  const values = await modifiedValues(services, tuple, options);
  const [last] = (await archive.listSummaries({ threadId, limit: 1 })).items;
  // Tasks that completed at an old checkpoint are stored with it, and would be applied unchanged.
  const isPast = last?.id !== tuple.checkpoint.id && pendingTasks(tuple).length > 0;
  return withThread(services.run, newThreadId, async () => {
    await archive.forkThread({ threadId, checkpointId: tuple.checkpoint.id, newThreadId });
    try {
      if (values === null && !isPast && !(await isAnsweredIn(checkpointer, newThreadId)))
        return { threadId: newThreadId, checkpointId: tuple.checkpoint.id };
      const copied = await checkpointAt(services, { threadId: newThreadId });
      const { configurable } = await updateCheckpointState(checkpointer, copied, {
        values: values ?? {},
      });
      await archive.drain(newThreadId);
      return { threadId: newThreadId, checkpointId: String(configurable?.["checkpoint_id"]) };
    } catch (thrown) {
      await checkpointer.deleteThread(newThreadId);
      throw thrown;
    }
  });
}

/** Returns whether answers to the original thread would count in its fork, nested agents included. */
async function isAnsweredIn(checkpointer: BaseCheckpointSaver, threadId: string): Promise<boolean> {
  // One checkpoint per agent.
  for await (const tuple of checkpointer.list({ configurable: { thread_id: threadId } })) {
    if (hasAnsweredTask(tuple)) return true;
  }
  return false;
}

/** Returns the values that replace stored ones in the fork; null if there are none. */
async function modifiedValues(
  { run }: ThreadServices,
  tuple: CheckpointTuple,
  options: ForkOptions,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { agent, modifiedState } = options;
  if (agent === undefined) {
    if (modifiedState === undefined) return null;
    throw new InvalidRunOptionError(
      "agent",
      "modifiedState is checked against the agent's definition; pass the agent with it",
    );
  }
  const graph = await graphOf(agent, run);
  await refuseOthers(graph, tuple, { ...options, checkpointer: run.checkpointer });
  if (modifiedState === undefined) return null;
  const { channels } = graph;
  const values = tryUpdate({ definition: agent, channels }, valuesOf(tuple), modifiedState);
  return Object.keys(values).length === 0 ? null : values;
}

export async function replayThread(
  services: ThreadServices,
  agent: AgentDefinition,
  options: ReplayOptions,
): Promise<ExecuteResult> {
  const { threadId, checkpointId } = options;
  checkThreadId(threadId);
  const checkpointer = checkpointerOf(services);
  const run = await prepareRun(agent, services.run, options);
  return withThread(services.run, threadId, async (held) => {
    const tuple = await checkpointAt(services, { threadId, checkpointId });
    await refuseOthers(run.graph, tuple, { ...options, checkpointer });
    refuseOtherUser(tuple, options);
    const { turn, status } = valuesOf(tuple) as Partial<GraphState>;
    if (pendingTasks(tuple).length === 0) {
      throw new NothingToResumeError(threadId, status ?? "CREATED");
    }
    // A new run id: the fork must not reuse journal entries of the original turn.
    const values = turn === undefined ? {} : { turn: { ...turn, run: services.run.ids() } };
    held.lockLost?.throwIfAborted();
    await newBranch(services, { run, tuple, values });
    return runTurn(run, { held, input: null, start: threadConfig(threadId) });
  });
}

/** Makes a checkpoint the last one of its thread, regardless of later ones. */
export function newBranch(
  services: ThreadServices,
  of: { run: PreparedRun; tuple: CheckpointTuple; values: Readonly<Record<string, unknown>> },
): Promise<RunnableConfig> {
  const hash = stampOf(of.run.graph)?.hash;
  return updateCheckpointState(checkpointerOf(services), of.tuple, {
    values: of.values,
    ...(hash !== undefined && { definitionHash: hash }),
  });
}

/**
 * Writes a child of a checkpoint with some channels replaced and everything else unchanged, including the next nodes.
 * Unlike the graph's `updateState` it acts for no node and needs no graph. The child has tasks of its own: tasks that
 * had completed or waited run again.
 *
 * @param values whole values by channel, already merged by the reducers
 * @param endsTurn whether the child has no next nodes. Default false
 * @param definitionHash of the definition under which the thread continues. Default: the checkpoint's own.
 * @returns the child's config
 */
export async function updateCheckpointState(
  checkpointer: BaseCheckpointSaver,
  tuple: CheckpointTuple,
  {
    values,
    definitionHash,
    endsTurn = false,
  }: {
    values: Readonly<Record<string, unknown>>;
    definitionHash?: string;
    endsTurn?: boolean;
  },
): Promise<RunnableConfig> {
  const step = (tuple.metadata?.step ?? -1) + 1;
  const checkpoint = copyCheckpoint(tuple.checkpoint);
  const version = checkpointer.getNextVersion(latest(checkpoint.channel_versions) as never);
  const versions: ChannelVersions = {};
  for (const [channel, value] of Object.entries(values)) {
    checkpoint.channel_values[channel] = value;
    versions[channel] = version;
  }
  if (endsTurn) {
    // As if the nodes had taken what leads to them.
    for (const channel of Object.keys(checkpoint.channel_values)) {
      if (!leadsToNodes.test(channel)) continue;
      Reflect.deleteProperty(checkpoint.channel_values, channel);
      versions[channel] = version;
    }
  }
  Object.assign(checkpoint.channel_versions, versions);
  const metadata: CheckpointMetadata = {
    source: endsTurn ? "update" : "fork",
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

/** The channels by which LangGraph leads to the next nodes. */
const leadsToNodes = /^(?:branch:to:.*|__pregel_tasks|__start__)$/s;

function latest(versions: ChannelVersions): string | number | undefined {
  return Object.values(versions).reduce<string | number | undefined>(
    (most, version) =>
      most === undefined || compareChannelVersions(version, most) > 0 ? version : most,
    undefined,
  );
}
