import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { withAncestors } from "../compile/ancestors.ts";
import { goingOn } from "../compile/cancellation.ts";
import { lastState } from "../compile/turn-start.ts";
import type { GraphState } from "../state/channels.ts";
import { NothingToResumeError } from "./errors.ts";

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
