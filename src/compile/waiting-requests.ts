import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, StateSnapshot } from "@langchain/langgraph";
import type { HumanRequest, PendingRequest } from "../state/human-request.ts";
import { unfinished } from "./pending-tasks.ts";
import { waitsOfSubtasks } from "./planner/subtask-log.ts";
import { isRecord } from "../state/is-record.ts";

/** What reading a thread needs of a compiled graph. */
export interface ReadableGraph {
  readonly checkpointer?: BaseCheckpointSaver | boolean | undefined;
  getState(config: RunnableConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
}

/** A LangGraph interrupt that waits for an answer. */
export interface WaitingRequest extends PendingRequest {
  /** Whether one of our nodes asks, and knows which answers it takes; else `proposed` is whatever was asked. */
  readonly isOurs: boolean;
}

/** A request as callers see it. */
export function publicRequest({ isOurs: _isOurs, ...request }: WaitingRequest): PendingRequest {
  return request;
}

export interface WaitingThread {
  readonly snapshot: StateSnapshot;
  readonly waiting: readonly WaitingRequest[];
}

/** Reads a thread, and what waits on it, in graphs inside of it too. Reads nothing else where nothing waits. */
export async function readWaiting(
  graph: ReadableGraph,
  config: RunnableConfig,
): Promise<WaitingThread> {
  const snapshot = await graph.getState(config, { subgraphs: true });
  return { snapshot, waiting: await waitingIn(snapshot, graph.checkpointer) };
}

/** Interrupts of tasks that have not ended. LangGraph keeps those of tasks that were answered and have ended beside them. */
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
    // Before version 1.7 LangGraph kept one interrupt with a task: of a graph inside of it, the last.
    const inside = isSnapshot(task.state) ? await waitingIn(task.state, checkpointer) : [];
    const own = task.interrupts.map(({ id, value }) => requestOf(String(id), value, task.name));
    for (const request of inside.length > 0 ? inside : own) found.set(request.id, request);
  }
  return [...found.values()];
}

function isSnapshot(state: unknown): state is StateSnapshot {
  return isRecord(state) && Array.isArray(state["tasks"]);
}

/** An interrupt as a request. */
export function requestOf(id: string, value: unknown, node: string): WaitingRequest {
  if (isRequest(value)) return { id, ...value, isOurs: true };
  const prompt = typeof value === "string" ? value : `${node}?`;
  const asked = { node, within: [], prompt, proposed: value, schema: {}, expires_at: null };
  return { id, kind: "input", ...asked, isOurs: false };
}

const kinds: ReadonlySet<unknown> = new Set(["approval", "input", "edit", "tool_approval"]);

function isRequest(value: unknown): value is HumanRequest {
  return isRecord(value) && kinds.has(value["kind"]) && typeof value["node"] === "string";
}
