import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { PendingRequest } from "../../state/human-request.ts";
import type { CheckpointArchive, CheckpointSummary } from "./archive.ts";
import { viewsOf, type CheckpointView } from "./checkpoint-view.ts";
import { pendingTasks, type StoredTask } from "../../compile/pending-tasks.ts";
import { storedRequests } from "./stored-requests.ts";

/** The whole state of a thread at one checkpoint. */
export interface StoredState extends CheckpointView {
  /** Every channel that has a value, without LangGraph's own. Deeply frozen where the checkpointer freezes. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The nodes that come next, or came next; empty where nothing was left to do. */
  readonly next: readonly string[];
  /** What `next` has come to. */
  readonly tasks: readonly StoredTask[];
  /** What people are asked here, in agents inside of this one too. */
  readonly waiting: readonly PendingRequest[];
  /** Which version of each channel the checkpoint has. Equal versions are equal values, in other threads too. */
  readonly channelVersions: Readonly<Record<string, string | number>>;
  /** SHA-256 (hex) over the checkpoint's content; null where the checkpointer keeps none. */
  readonly integrityHash: string | null;
}

export async function storedState(
  tuple: CheckpointTuple,
  summary: CheckpointSummary,
  source: {
    readonly archive: Pick<CheckpointArchive, "definitionOf">;
    readonly checkpointer: Pick<BaseCheckpointSaver, "getTuple">;
  },
): Promise<StoredState> {
  const [view] = await viewsOf([summary], source);
  const tasks = pendingTasks(tuple);
  return {
    ...(view as CheckpointView),
    values: valuesOf(tuple),
    next: [...new Set(tasks.map(({ node }) => node))],
    tasks: tasks.map(({ id: _id, ...task }) => task),
    waiting: await storedRequests(source.checkpointer, tuple),
    channelVersions: ownOnly(tuple.checkpoint.channel_versions),
    integrityHash: summary.integrityHash ?? null,
  };
}

/** The channels of the agent, without those by which LangGraph says what is next. */
export function valuesOf({ checkpoint }: Pick<CheckpointTuple, "checkpoint">) {
  return ownOnly(checkpoint.channel_values);
}

function ownOnly<Value>(channels: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(channels).filter(([name]) => !/^(branch:|join:|__)/.test(name)),
  );
}
