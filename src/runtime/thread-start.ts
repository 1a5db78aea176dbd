import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentGraph } from "../compile/compile-agent.ts";
import type { GraphState } from "../state/channels.ts";
import { isTerminal } from "../state/lifecycle.ts";
import { NothingToResumeError, UnfinishedTurnError } from "./errors.ts";

/** The last checkpoint of a thread, or null for a thread that has none. */
async function lastState(graph: AgentGraph, config: RunnableConfig) {
  const snapshot = await graph.getState(config);
  const values = snapshot.values as Partial<GraphState>;
  const exists = snapshot.createdAt !== undefined;
  return exists ? { snapshot, values, status: values.status ?? "CREATED" } : null;
}

/**
 * From which checkpoint a new turn starts: the thread's last one. A turn that FAILED or was CANCELLED is left behind:
 * the new one starts where that one did, so the thread goes on from its last completed turn.
 *
 * @param everyTurn whether turns keep one checkpoint each. A new thread then gets an empty one first, so that there is
 * something to start from again.
 * @throws UnfinishedTurnError
 */
export async function startOfNewTurn(
  graph: AgentGraph,
  thread: RunnableConfig,
  { threadId, everyTurn }: { threadId: string; everyTurn: boolean },
): Promise<RunnableConfig> {
  const last = await lastState(graph, thread);
  if (last === null) {
    if (everyTurn) await graph.updateState(thread, { status: "CREATED" }, "finalize");
    return thread;
  }
  const { status, snapshot } = last;
  if (status === "COMPLETED") return thread;
  if (!isTerminal(status)) {
    if (status === "CREATED" && snapshot.next.length === 0) return thread;
    throw new UnfinishedTurnError(threadId, status);
  }
  const turnNumber = last.values.turn_number ?? 0;
  const inputs = graph.getStateHistory(thread, { filter: { source: "input" }, limit: 1 });
  for await (const begun of inputs) {
    const before = begun.parentConfig;
    if (before === undefined && turnNumber === 0) return begun.config;
    // A turn that kept one checkpoint has no input of its own here: this one is an earlier turn's.
    const values = before && ((await graph.getState(before)).values as Partial<GraphState>);
    if (before !== undefined && values?.turn_number === turnNumber - 1) return before;
  }
  return snapshot.parentConfig ?? thread;
}

/**
 * From which checkpoint an unfinished turn goes on: the thread's last one, or for a cancelled turn the one before it
 * was cancelled. A turn that was cancelled under `checkpoint_frequency: every_turn` has none.
 *
 * @throws NothingToResumeError
 */
export async function startOfResumption(
  graph: AgentGraph,
  config: RunnableConfig,
  threadId: string,
): Promise<RunnableConfig> {
  const last = await lastState(graph, config);
  if (last === null) throw new NothingToResumeError(threadId, null);
  const before = last.snapshot.parentConfig;
  if (last.status === "CANCELLED" && before !== undefined) {
    const { next } = await graph.getState(before);
    if (next.length > 0) return before;
  }
  if (last.snapshot.next.length === 0) throw new NothingToResumeError(threadId, last.status);
  return config;
}
