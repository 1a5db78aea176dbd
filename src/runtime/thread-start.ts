import type { RunnableConfig } from "@langchain/core/runnables";
import { Overwrite, type StateSnapshot } from "@langchain/langgraph";
import { goingOn } from "../compile/cancellation.ts";
import type { AgentGraph } from "../compile/agent-graph.ts";
import type { GraphState } from "../state/channels.ts";
import { isTerminal } from "../state/lifecycle.ts";
import { TurnLimitError } from "../compile/errors.ts";
import { publicRequest, readWaiting } from "../compile/waiting-requests.ts";
import { withAncestors } from "../compile/ancestors.ts";
import { NothingToResumeError, UnfinishedTurnError } from "./errors.ts";

/** The last checkpoint of a thread, or null for a thread that has none. */
async function lastState(graph: AgentGraph, config: RunnableConfig) {
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
  graph: AgentGraph,
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
const beginnings: readonly string[] = ["__start__", "initialize"];

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
  if (last.status === "CANCELLED") {
    const before = await lastBeforeCancelling(graph, last.snapshot);
    if (before !== null) return goingOn(before);
  }
  // Not `next`: LangGraph leaves out who asks again after an answer that could not be read.
  if (last.snapshot.tasks.length === 0) throw new NothingToResumeError(threadId, last.status);
  return config;
}

/** Cancelling takes a node or two: the first checkpoint on the way back that knows nothing of it. */
async function lastBeforeCancelling(
  graph: AgentGraph,
  cancelled: StateSnapshot,
): Promise<RunnableConfig | null> {
  const parentOf = async ({ parentConfig }: StateSnapshot) =>
    parentConfig && graph.getState(parentConfig);
  for await (const { values, next, config } of withAncestors(cancelled, parentOf)) {
    if ((values as Partial<GraphState>).status === "CANCELLED") continue;
    return next.length > 0 ? config : null;
  }
  return null;
}
