import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { withAncestors } from "../compile/guards/waiting.ts";
import { withResumeFlag } from "../compile/run/run-config.ts";
import { lastState } from "../compile/guards/inputs.ts";
import type { GraphState } from "../state/channels.ts";
import { NothingToResumeError } from "./errors.ts";

/**
 * Returns the checkpoint from which an unfinished turn resumes: the thread's last one, or for a cancelled turn the one
 * before the cancellation. A turn cancelled under `checkpoint_frequency: every_turn` has none.
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
    if (before !== null) return withResumeFlag(before);
  }
  // Not `next`: LangGraph leaves out nodes that ask again after an unreadable answer.
  if (last.snapshot.tasks.length === 0) throw new NothingToResumeError(threadId, last.status);
  return config;
}

/** Returns the newest ancestor checkpoint without the cancellation, which takes one or two nodes to complete. */
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
