import {
  compareChannelVersions,
  uuid5,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { errorMessage } from "../errors.ts";
import { isRecord } from "../state/is-record.ts";

/** A task that is next at a checkpoint. */
export interface StoredTask {
  readonly node: string;
  /** `pending`: it has not run; `done`: what it wrote is stored, and is applied when its siblings have ended too. */
  readonly state: "pending" | "done" | "interrupted" | "failed";
  /** What it threw; null unless it failed. */
  readonly error: string | null;
}

/** The same with LangGraph's id of it, under which its writes are stored. */
export interface PendingTask extends StoredTask {
  readonly id: string;
}

/**
 * What is next at a checkpoint of a graph whose nodes say themselves where to go on, as an agent's do, and how far it has
 * come. Read from what is stored alone: no graph is needed, and one that has changed since makes no difference.
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
 * Whether a task has been answered and has not ended: one that asked for approval, and whose tool asks now. LangGraph
 * keeps the answers that such a task has read.
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

/** Where an agent that runs inside of a task keeps its checkpoints. */
export function namespaceInside(task: PendingTask, namespace: string): string {
  const own = `${task.node}:${task.id}`;
  return namespace === "" ? own : `${namespace}|${own}`;
}

const toNode = "branch:to:";

function nodeTriggeredBy(channel: string): string | null {
  if (channel === "__start__") return channel;
  return channel.startsWith(toNode) ? channel.slice(toNode.length) : null;
}

/** The channels that a task writes which has not ended. */
export const unfinished: ReadonlySet<string> = new Set([
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
  // LangGraph keeps the interrupts of tasks that were answered and have ended.
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
