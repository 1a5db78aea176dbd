import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { valuesOf } from "./stored-state.ts";

/** What a checkpoint has that a graph has not, and the other way round, in words for people. */
export function channelWarnings(
  tuple: CheckpointTuple,
  graph: {
    readonly channels: Readonly<Record<string, unknown>>;
  },
): readonly string[] {
  const stored = Object.keys(valuesOf(tuple));
  const known = Object.keys(graph.channels).filter((name) => !/^(branch:|join:|__)/.test(name));
  const hasBegun = tuple.checkpoint.channel_versions["turn"] !== undefined;
  const written = new Set([...stored, ...Object.keys(tuple.checkpoint.channel_versions)]);
  // A turn that has not begun has not written them yet, and what has a default need not be written.
  const missing = hasBegun
    ? known.filter((channel) => !written.has(channel) && !hasDefault(graph.channels[channel]))
    : [];
  return [
    ...stored
      .filter((channel) => !known.includes(channel))
      .map((channel) => `the channel ${channel} is stored, and the agent has no such channel`),
    ...missing.map((channel) => `the agent has a channel ${channel}, and nothing is stored of it`),
  ];
}

function hasDefault(channel: unknown): boolean {
  return (channel as { isAvailable(): boolean }).isAvailable();
}
