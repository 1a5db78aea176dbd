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
 * @throws UnfinishedTurnError
 */
export async function startOfNewTurn(
  graph: AgentGraph,
  config: RunnableConfig,
  threadId: string,
): Promise<RunnableConfig> {
  const last = await lastState(graph, config);
  if (last === null || last.status === "COMPLETED") return config;
  if (!isTerminal(last.status)) {
    if (last.snapshot.next.length === 0 && last.status === "CREATED") return config;
    throw new UnfinishedTurnError(threadId, last.status);
  }
  const inputs = graph.getStateHistory(config, { filter: { source: "input" }, limit: 1 });
  for await (const begun of inputs) return begun.parentConfig ?? begun.config;
  return config;
}

/**
 * From which checkpoint an unfinished turn goes on: the thread's last one, or for a cancelled turn the one before it
 * was cancelled.
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
  if (last.status === "CANCELLED" && last.snapshot.parentConfig) return last.snapshot.parentConfig;
  if (last.snapshot.next.length === 0) throw new NothingToResumeError(threadId, last.status);
  return config;
}
