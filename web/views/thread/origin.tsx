import { isRecord } from "../../components/schema/fields.ts";
import { links } from "../../links.ts";
import type { Thread } from "./thread-records.ts";

/** Where a fork began. */
export interface Origin {
  readonly threadId: string;
  readonly checkpointId: string;
  /** The run that was replayed; null if the thread was forked only. */
  readonly runId: string | null;
}

/** Returns where a thread or a run was forked from, as its metadata have it; null if it is no fork. */
export function originOf(metadata: Thread["metadata"]): Origin | null {
  const from = metadata["replayed_from"] ?? metadata["forked_from"];
  if (!isRecord(from)) return null;
  const { thread_id: threadId, checkpoint_id: checkpointId, run_id: runId } = from;
  if (typeof threadId !== "string" || typeof checkpointId !== "string") return null;
  return { threadId, checkpointId, runId: typeof runId === "string" ? runId : null };
}

/** Leads from a fork to the checkpoint at which it began. */
export function OriginLink({ origin: { threadId, checkpointId } }: { origin: Origin }) {
  const short = threadId.length > 8 ? `${threadId.slice(0, 8)}…` : threadId;
  return (
    <a href={links.checkpoint(threadId, checkpointId)} title={threadId}>
      a checkpoint of thread <span class="mono">{short}</span>
    </a>
  );
}
