import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { pendingTasks } from "../compile/pending-tasks.ts";
import { beginnings } from "../compile/turn-start.ts";
import { endOfWorkflow } from "../state/branch.ts";
import type { GraphState } from "../state/channels.ts";
import { isTerminal } from "../state/lifecycle.ts";

/** Why a thread cannot go on from a checkpoint, though it is as it was written. */
export interface DeadEnd {
  readonly cause: "stray_input" | "missing_node";
  /** For people. */
  readonly reason: string;
}

/** Null for a checkpoint that a thread can go on from. */
export function deadEndAt(
  tuple: CheckpointTuple,
  graph: Pick<AgentGraph, "nodes">,
): DeadEnd | null {
  const next = pendingTasks(tuple).map(({ node }) => node);
  if (next.length === 0) return null;
  const { status = "CREATED", branches = [] } = tuple.checkpoint
    .channel_values as Partial<GraphState>;
  const isOver = status === "CREATED" || status === "COMPLETED" || isTerminal(status);
  // Earlier versions wrote an input on top of whatever was there.
  if (!isOver && next.every((node) => beginnings.includes(node))) {
    const reason = `an input was written there while the turn before it was ${status}, and no turn can begin from it`;
    return { cause: "stray_input", reason };
  }
  const places = branches.flatMap(({ at }) => (at === endOfWorkflow ? [] : at));
  const missing = [...next, ...places].find((node) => !Object.hasOwn(graph.nodes, node));
  if (missing === undefined) return null;
  const reason = `the node ${missing} is next, and the agent has no such node`;
  return { cause: "missing_node", reason };
}
