import type { RunnableConfig } from "@langchain/core/runnables";
import { Overwrite } from "@langchain/langgraph";
import type { GraphState } from "../state/channels.ts";
import { isTerminal } from "../state/lifecycle.ts";
import type { AgentGraph } from "./agent-graph.ts";
import { TurnLimitError, UnfinishedTurnError } from "./errors.ts";
import { publicRequest, readWaiting } from "./waiting-requests.ts";

/** What reading where a turn starts needs of a graph. */
export type StartableGraph = Pick<
  AgentGraph,
  "checkpointer" | "getState" | "getStateHistory" | "updateState"
>;

/** The last checkpoint of a thread, or null for a thread that has none. */
export async function lastState(graph: StartableGraph, config: RunnableConfig) {
  const snapshot = await graph.getState(config);
  const values = snapshot.values as Partial<GraphState>;
  const exists = snapshot.createdAt !== undefined;
  return exists ? { snapshot, values, status: values.status ?? "CREATED" } : null;
}

/**
 * From which checkpoint a new turn starts: the thread's last one. A turn that FAILED, was CANCELLED or never got past
 * its input is left behind: the new one starts where that one did, so the thread goes on from its last completed turn.
 * Where that is not kept, it starts after the turn that FAILED, whose messages stay.
 *
 * @param everyTurn whether turns keep one checkpoint each. A new thread then gets an empty one first, so that there is
 * something to start from again.
 * @throws UnfinishedTurnError, TurnLimitError
 */
export async function startOfNewTurn(
  graph: StartableGraph,
  thread: RunnableConfig,
  limits: { threadId: string; everyTurn: boolean; maxTurns: number },
): Promise<RunnableConfig> {
  const last = await lastState(graph, thread);
  if (last === null) {
    if (limits.everyTurn) await graph.updateState(thread, { status: "CREATED" }, "finalize");
    return thread;
  }
  const { status, snapshot } = last;
  const turnNumber = last.values.turn_number ?? -1;
  const isOver = status === "COMPLETED" || status === "CREATED";
  if (isOver && snapshot.next.length === 0) {
    if (turnNumber + 1 >= limits.maxTurns) throw new TurnLimitError(limits.maxTurns);
    return thread;
  }
  const neverBegan = isOver && snapshot.next.every((node) => beginnings.includes(node));
  if (!isTerminal(status) && !neverBegan) {
    const { waiting } = await readWaiting(graph, thread);
    throw new UnfinishedTurnError(limits.threadId, status, waiting.map(publicRequest));
  }
  const turnBefore = neverBegan ? turnNumber : turnNumber - 1;
  for await (const begun of graph.getStateHistory(thread, { filter: { source: "input" } })) {
    const before = begun.parentConfig;
    if (before === undefined) {
      if (turnBefore < 0) return begun.config;
      break;
    }
    // Inputs that were refused stand on top of each other, and a turn that kept one checkpoint has none of its own.
    const state = await graph.getState(before);
    const values = state.values as Partial<GraphState>;
    const reached = values.turn_number ?? -1;
    if (reached === turnBefore && state.next.length === 0) return before;
    if (reached < turnBefore) break;
  }
  const { parentConfig } = snapshot;
  if (parentConfig !== undefined && (await lastState(graph, parentConfig)) !== null) {
    return parentConfig;
  }
  // What it began from was pruned, or belongs to the thread that this one was forked from.
  return graph.updateState(thread, { status: new Overwrite("CREATED") }, "finalize");
}

/** What is next while a turn has only its input. */
export const beginnings: readonly string[] = ["__start__", "initialize"];
