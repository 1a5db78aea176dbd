import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { idTime } from "./id-time.ts";
import { toJsonb } from "./jsonb.ts";
import type { KnownCheckpoint } from "./known-checkpoints.ts";

/** What listings say of a checkpoint, as it is stored beside it. */
export function summarize(
  checkpoint: Checkpoint,
  of: { readonly parent: KnownCheckpoint | undefined; readonly bytes: number },
): unknown {
  return toJsonb({
    nodes: nodesThatRan(checkpoint, of.parent),
    status: statusOf(checkpoint),
    ...agentOf(checkpoint),
    bytes: of.bytes,
    // Ids of LangGraph's own tell when they were made.
    ...(idTime(checkpoint.id) === null && { at: checkpoint.ts }),
  });
}

/** Nodes whose view of the channels is another than in the parent. */
function nodesThatRan(checkpoint: Checkpoint, parent: KnownCheckpoint | undefined): string[] {
  if (parent === undefined) return [];
  return Object.entries(checkpoint.versions_seen ?? {})
    .filter(([node, seen]) => {
      if (node.startsWith("__")) return false;
      const before = parent.seen[node] ?? {};
      return Object.entries(seen).some(([channel, version]) => before[channel] !== version);
    })
    .map(([node]) => node);
}

function agentOf({ channel_values }: Checkpoint): { readonly agent?: string } {
  const { turn } = channel_values as { turn?: { agent?: unknown } | null };
  return typeof turn?.agent === "string" ? { agent: turn.agent } : {};
}

function statusOf({ channel_values }: Checkpoint): string | null {
  const { status } = channel_values as { status?: unknown };
  return typeof status === "string" ? status : null;
}
