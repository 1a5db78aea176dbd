import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, StateSnapshot } from "@langchain/langgraph";
import {
  type CheckpointTuple,
  compareChannelVersions,
  uuid5,
} from "@langchain/langgraph-checkpoint";
import { errorMessage } from "../../errors.ts";
import { requestOf, type WaitingRequest } from "../../state/human-request.ts";
import { isRecord } from "../../values/json.ts";
import { waitsOfSubtasks } from "../planner/subtask-log.ts";

/** The parts of a compiled graph that reading a thread needs. */
export interface ReadableGraph {
  readonly checkpointer?: BaseCheckpointSaver | boolean | undefined;
  getState(config: RunnableConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
}

export interface WaitingThread {
  readonly snapshot: StateSnapshot;
  readonly waiting: readonly WaitingRequest[];
}

/** Reads a thread and its pending requests, nested graphs included. Reads nothing else if none is pending. */
export async function readWaiting(
  graph: ReadableGraph,
  config: RunnableConfig,
): Promise<WaitingThread> {
  const snapshot = await graph.getState(config, { subgraphs: true });
  return { snapshot, waiting: await waitingIn(snapshot, graph.checkpointer) };
}

/**
 * Returns the interrupts of unfinished tasks. LangGraph keeps those of answered tasks that have ended in the same
 * superstep.
 */
async function waitingIn(
  snapshot: StateSnapshot,
  checkpointer: ReadableGraph["checkpointer"],
): Promise<readonly WaitingRequest[]> {
  const interrupted = snapshot.tasks.filter(({ interrupts }) => interrupts.length > 0);
  if (interrupted.length === 0 || typeof checkpointer !== "object") return [];
  const tuple = await checkpointer.getTuple(snapshot.config);
  const ended = new Set(
    (tuple?.pendingWrites ?? [])
      .filter(([, channel]) => !unfinished.has(channel))
      .map(([task]) => task),
  );
  const found = new Map<string, WaitingRequest>();
  for (const { id, value } of waitsOfSubtasks(tuple?.pendingWrites ?? [])) {
    const request = requestOf(String(id), value, "subtask");
    found.set(request.id, request);
  }
  for (const task of interrupted) {
    if (ended.has(task.id)) continue;
    // Before version 1.7 LangGraph stored one interrupt per task: the last one of a nested graph.
    const inside = isSnapshot(task.state) ? await waitingIn(task.state, checkpointer) : [];
    const own = task.interrupts.map(({ id, value }) => requestOf(String(id), value, task.name));
    for (const request of inside.length > 0 ? inside : own) found.set(request.id, request);
  }
  return [...found.values()];
}

function isSnapshot(state: unknown): state is StateSnapshot {
  return isRecord(state) && Array.isArray(state["tasks"]);
}

/** A task to run next at a checkpoint. */
export interface StoredTask {
  readonly node: string;
  /** `pending`: it has not run; `done`: its writes are stored, and are applied when its siblings have ended too. */
  readonly state: "pending" | "done" | "interrupted" | "failed";
  /** The error it threw; null unless it failed. */
  readonly error: string | null;
}

/** A stored task with LangGraph's id, under which its writes are stored. */
export interface PendingTask extends StoredTask {
  readonly id: string;
}

/**
 * Returns the tasks to run next at a checkpoint, and their progress, for a graph whose nodes choose their successors,
 * as an agent's do. Read from stored data alone: it needs no graph, and works for one that has changed since.
 */
export function pendingTasks(
  tuple: Pick<CheckpointTuple, "checkpoint" | "metadata" | "pendingWrites" | "config">,
): readonly PendingTask[] {
  const { checkpoint, metadata, pendingWrites = [] } = tuple;
  const { channel_values: values, channel_versions: versions, versions_seen: seen } = checkpoint;
  const namespace = namespaceOf(tuple);
  const step = String((metadata?.step ?? -1) + 1);
  const idOf = (node: string, ...path: unknown[]) => {
    const place = namespace === "" ? node : `${namespace}|${node}`;
    return uuid5(JSON.stringify([place, step, node, ...path]), checkpoint.id);
  };
  const pulled = Object.keys(values).flatMap((channel) => {
    const node = nodeTriggeredBy(channel);
    const version = versions[channel];
    if (node === null || version === undefined) return [];
    const last = seen[node]?.[channel];
    if (last !== undefined && compareChannelVersions(version, last) <= 0) return [];
    return [{ id: idOf(node, "__pregel_pull", [channel]), node }];
  });
  const sends: unknown = values["__pregel_tasks"];
  const pushed = (Array.isArray(sends) ? sends : []).flatMap((send: unknown, index) => {
    if (!isRecord(send) || typeof send["node"] !== "string") return [];
    return [{ id: idOf(send["node"], "__pregel_push", String(index)), node: send["node"] }];
  });
  return [...pushed, ...pulled].map((task) => ({ ...task, ...stateOf(task.id, pendingWrites) }));
}

/**
 * Returns whether a task was answered and has not ended: one that asked for approval, and whose tool now asks.
 * LangGraph stores the answers that such a task has read.
 */
export function hasAnsweredTask(tuple: Parameters<typeof pendingTasks>[0]): boolean {
  const open = new Set(
    pendingTasks(tuple).flatMap(({ id, state }) => (state === "done" ? [] : [id])),
  );
  return (tuple.pendingWrites ?? []).some(
    ([task, channel, value]) =>
      channel === "__resume__" && open.has(task) && Array.isArray(value) && value.length > 0,
  );
}

export function namespaceOf({ config }: Pick<CheckpointTuple, "config">): string {
  const namespace: unknown = config.configurable?.["checkpoint_ns"];
  return typeof namespace === "string" ? namespace : "";
}

/** Returns the checkpoint namespace of an agent that runs within a task. */
export function namespaceInside(task: PendingTask, namespace: string): string {
  const own = `${task.node}:${task.id}`;
  return namespace === "" ? own : `${namespace}|${own}`;
}

const toNode = "branch:to:";

function nodeTriggeredBy(channel: string): string | null {
  if (channel === "__start__") return channel;
  return channel.startsWith(toNode) ? channel.slice(toNode.length) : null;
}

/** The channels that an unfinished task writes. */
const unfinished: ReadonlySet<string> = new Set([
  "__error__",
  "__error_source_node__",
  "__interrupt__",
  "__resume__",
  "__scheduled__",
]);

function stateOf(
  id: string,
  writes: NonNullable<CheckpointTuple["pendingWrites"]>,
): Pick<StoredTask, "state" | "error"> {
  const own = writes.filter(([task]) => task === id);
  // LangGraph keeps the interrupts of answered tasks that have ended.
  if (own.some(([, channel]) => !unfinished.has(channel))) return { state: "done", error: null };
  if (own.some(([, channel]) => channel === "__interrupt__")) {
    return { state: "interrupted", error: null };
  }
  const failure = own.find(([, channel]) => channel === "__error__");
  if (failure === undefined) return { state: "pending", error: null };
  const thrown: unknown = failure[2];
  const message = isRecord(thrown) ? thrown["message"] : undefined;
  return { state: "failed", error: typeof message === "string" ? message : errorMessage(thrown) };
}

/** A checkpoint as a saver or as a graph reads it. */
interface Checkpointed {
  readonly config: RunnableConfig;
}

/**
 * Yields a checkpoint and its ancestors, newest first. At the end of a run without other checkpoints, LangGraph stores
 * the first one again, with itself as parent. In savers that store it so, the walk ends there.
 */
export async function* withAncestors<T extends Checkpointed>(
  from: T,
  parentOf: (checkpoint: T) => Promise<T | undefined>,
): AsyncGenerator<T> {
  const seen = new Set<string>();
  let checkpoint: T | undefined = from;
  while (checkpoint !== undefined) {
    const place = placeOf(checkpoint);
    if (seen.has(place)) return;
    seen.add(place);
    yield checkpoint;
    checkpoint = await parentOf(checkpoint);
  }
}

function placeOf({ config: { configurable } }: Checkpointed): string {
  return JSON.stringify([configurable?.["thread_id"], configurable?.["checkpoint_id"]]);
}
