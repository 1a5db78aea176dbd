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
import { type AgentGraph, definitionHashKey, stampOf } from "../../compile/agent-graph.ts";
import { tryUpdate } from "../../compile/guards/updates.ts";
import { hasAnsweredTask, pendingTasks } from "../../compile/guards/waiting.ts";
import { beginnings } from "../../compile/guards/inputs.ts";
import { type HeldThread, withThread } from "../../compile/run/acquire-thread.ts";
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
  const values = await checkedValues(services, tuple, options);
  const [last] = (await archive.listSummaries({ threadId, limit: 1 })).items;
  // Tasks that completed at an old checkpoint are stored with it, and would be applied unchanged.
  const isPast = last?.id !== tuple.checkpoint.id && pendingTasks(tuple).length > 0;
  return withThread(services.run, newThreadId, async () => {
    const ref = { threadId, checkpointId: tuple.checkpoint.id };
    return copyThread(services, { ...ref, newThreadId }, async () => {
      if (values === null && !isPast && !(await isAnsweredIn(checkpointer, newThreadId)))
        return { threadId: newThreadId, checkpointId: tuple.checkpoint.id };
      const copied = await checkpointAt(services, { threadId: newThreadId });
      const { configurable } = await updateCheckpointState(checkpointer, copied, {
        values: values ?? {},
      });
      return { threadId: newThreadId, checkpointId: String(configurable?.["checkpoint_id"]) };
    });
  });
}

/** Copies a thread up to a checkpoint, and removes the copy if it cannot be completed. */
async function copyThread<Result>(
  services: ThreadServices,
  of: CheckpointRef & { readonly newThreadId: string },
  complete: () => Promise<Result>,
): Promise<Result> {
  const archive = archiveOf(services, "fork", "forkThread", "drain");
  const { newThreadId } = of;
  await archive.forkThread(of);
  try {
    const result = await complete();
    await archive.drain(newThreadId);
    return result;
  } catch (thrown) {
    await checkpointerOf(services).deleteThread(newThreadId);
    throw thrown;
  }
}

/** Returns whether answers to the original thread would count in its fork, nested agents included. */
async function isAnsweredIn(checkpointer: BaseCheckpointSaver, threadId: string): Promise<boolean> {
  // One checkpoint per agent.
  for await (const tuple of checkpointer.list({ configurable: { thread_id: threadId } })) {
    if (hasAnsweredTask(tuple)) return true;
  }
  return false;
}

/** Checks the agent of a fork. Returns the values that replace stored ones; null if there are none. */
async function checkedValues(
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
  const values = modifiedValues({ agent, graph }, tuple, modifiedState);
  return Object.keys(values).length === 0 ? null : values;
}

/** @throws InvalidStateUpdateError */
function modifiedValues(
  { agent, graph }: { readonly agent: AgentDefinition; readonly graph: AgentGraph },
  tuple: CheckpointTuple,
  modifiedState: ForkOptions["modifiedState"] = {},
): Readonly<Record<string, unknown>> {
  const { channels } = graph;
  return tryUpdate({ definition: agent, channels }, valuesOf(tuple), modifiedState);
}

export async function replayThread(
  services: ThreadServices,
  agent: AgentDefinition,
  options: ReplayOptions,
): Promise<ExecuteResult> {
  const { threadId, newThreadId, modifiedState } = options;
  checkThreadId(threadId);
  const isNew = newThreadId !== undefined || modifiedState !== undefined;
  if (isNew && options.asNewThread === false) {
    throw new InvalidRunOptionError(
      "asNewThread",
      "newThreadId and modifiedState are for a new thread; leave it out, or set it to true",
    );
  }
  if (isNew || options.asNewThread === true) return replayAsNewThread(services, agent, options);
  const run = await prepareRun(agent, services.run, options);
  return withThread(services.run, threadId, async (held) => {
    const tuple = await replayedCheckpoint(services, run, options);
    held.lockLost?.throwIfAborted();
    await newBranch(services, { run, tuple, values: withNewRun(services, tuple) });
    return runTurn(run, { held, input: null, start: threadConfig(threadId) });
  });
}

/** Checks all options before it writes anything. Holds the new thread from its first checkpoint to the end of the run. */
async function replayAsNewThread(
  services: ThreadServices,
  agent: AgentDefinition,
  options: ReplayOptions,
): Promise<ExecuteResult> {
  const prepared = await prepareReplay(services, agent, options);
  const { newThreadId, run } = prepared;
  return withThread(services.run, newThreadId, async (held) => {
    await copyAsBranch(services, prepared, held);
    return runTurn(run, { held, input: null, start: threadConfig(newThreadId) });
  });
}

/**
 * Creates the thread of a replay without running it: `executeAgent` with `input: null` does, also in another process.
 * Checks all options before it writes anything.
 *
 * @param options.turnId id of the turn that the new thread runs. Default: a new one
 * @throws as `threads.replay`
 */
export async function forkForReplay(
  services: ThreadServices,
  agent: AgentDefinition,
  options: ReplayOptions & { readonly turnId?: string },
): Promise<CheckpointRef> {
  const prepared = await prepareReplay(services, agent, options);
  const { newThreadId: threadId } = prepared;
  return withThread(services.run, threadId, async (held) => {
    const { configurable } = await copyAsBranch(services, prepared, held);
    return { threadId, checkpointId: String(configurable?.["checkpoint_id"]) };
  });
}

/** A replay as a new thread whose options are valid. */
interface PreparedReplay {
  readonly from: CheckpointRef;
  readonly newThreadId: string;
  readonly run: PreparedRun;
  /** Values of channels in the new thread. */
  readonly values: Readonly<Record<string, unknown>>;
}

async function prepareReplay(
  services: ThreadServices,
  agent: AgentDefinition,
  options: ReplayOptions & { readonly turnId?: string },
): Promise<PreparedReplay> {
  const archive = archiveOf(services, "replay", "forkThread", "drain");
  const { threadId, modifiedState, turnId } = options;
  const newThreadId = checkThreadId(options.newThreadId ?? services.run.ids());
  const run = await prepareRun(agent, services.run, options);
  await archive.drain(threadId);
  const tuple = await replayedCheckpoint(services, run, options);
  const modified = modifiedValues({ agent, graph: run.graph }, tuple, modifiedState);
  const values = { ...modified, ...withNewRun(services, tuple, { modified, turnId }) };
  return { from: { threadId, checkpointId: tuple.checkpoint.id }, newThreadId, run, values };
}

async function copyAsBranch(
  services: ThreadServices,
  { from, newThreadId, run, values }: PreparedReplay,
  held: HeldThread,
): Promise<RunnableConfig> {
  return copyThread(services, { ...from, newThreadId }, async () => {
    const copied = await checkpointAt(services, { threadId: newThreadId });
    held.lockLost?.throwIfAborted();
    return newBranch(services, { run, tuple: copied, values });
  });
}

/**
 * Returns the checkpoint of a replay.
 * @throws NoCheckpointError, CorruptCheckpointError, ForeignThreadError, DefinitionChangedError, OtherUserError,
 * NothingToResumeError
 */
async function replayedCheckpoint(
  services: ThreadServices,
  { graph }: PreparedRun,
  options: ReplayOptions,
): Promise<CheckpointTuple> {
  const { threadId, checkpointId } = options;
  const tuple = await checkpointAt(services, { threadId, checkpointId });
  await refuseOthers(graph, tuple, { ...options, checkpointer: checkpointerOf(services) });
  refuseOtherUser(tuple, options);
  if (pendingTasks(tuple).length > 0) return tuple;
  const { status } = valuesOf(tuple) as Partial<GraphState>;
  throw new NothingToResumeError(threadId, status ?? "CREATED");
}

/**
 * Returns the turn with a new run id, so that a replay does not reuse journal entries of the original turn. A turn that
 * has not begun gets its own when it does.
 */
function withNewRun(
  services: ThreadServices,
  tuple: CheckpointTuple,
  of: { readonly modified?: Partial<GraphState>; readonly turnId?: string | undefined } = {},
): Readonly<Record<string, unknown>> {
  const { turn } = { ...(valuesOf(tuple) as Partial<GraphState>), ...of.modified };
  const hasBegun = pendingTasks(tuple).every(({ node }) => !beginnings.includes(node));
  if (turn === undefined || !hasBegun) return {};
  return { turn: { ...turn, run: of.turnId ?? services.run.ids() } };
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
