import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { TriedChannel } from "../../compile/check-update.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import { valuesOf } from "./stored-state.ts";

/** The state that nodes read which are next at a checkpoint. */
export function graphStateAt(graph: AgentGraph, tuple: CheckpointTuple): GraphState {
  const values: Record<string, unknown> = { ...valuesOf(tuple) };
  for (const [name, channel] of ownChannels(graph)) {
    if (name in values) continue;
    const empty = channel.fromCheckpoint(undefined);
    if (empty.isAvailable()) values[name] = empty.get();
  }
  return values as unknown as GraphState;
}

/** The state after what a node has written, each channel by its reducer. Nothing is stored. */
export function stateAfter(graph: AgentGraph, state: GraphState, update: GraphUpdate): GraphState {
  const values: Record<string, unknown> = { ...state };
  const channels = new Map(ownChannels(graph));
  for (const [name, value] of Object.entries(update)) {
    const channel = channels.get(name);
    if (channel === undefined || value === undefined) continue;
    const written = channel.fromCheckpoint(values[name]);
    written.update([value]);
    values[name] = written.get();
  }
  return values as unknown as GraphState;
}

function ownChannels({ channels }: AgentGraph): readonly (readonly [string, TriedChannel])[] {
  return Object.entries(channels as unknown as Record<string, TriedChannel>).filter(
    ([name]) => !/^(branch:|join:|__)/.test(name),
  );
}
