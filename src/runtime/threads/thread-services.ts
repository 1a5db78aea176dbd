import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { NoCheckpointerError } from "../errors.ts";
import type { CompileServices } from "../../compile/compile-agent.ts";
import { archiveIn, type CheckpointArchive } from "./archive.ts";
import { NoArchiveError } from "./errors.ts";
import type { WatchedJournal } from "./watch-journal.ts";

/** What a runtime's threads are made from. */
export interface ThreadServices {
  readonly run: CompileServices;
  /** The error that the checkpointers throw where nothing is stored; null for a whole thread. */
  noCheckpoint(threadId: string, checkpointId: string | null): Error;
  /** Forgets what is kept of a thread beside its checkpoints. */
  forget?(threadId: string): Promise<void>;
  /** The journal of `run`, which says what it knew. */
  readonly journal?: Pick<WatchedJournal, "watch"> | undefined;
}

/** @throws NoCheckpointerError */
export function checkpointerOf({ run }: ThreadServices): BaseCheckpointSaver {
  if (run.checkpointer === undefined) throw new NoCheckpointerError("thread");
  return run.checkpointer;
}

/**
 * @param asked the method of `runtime.threads` that needs the archive
 * @throws NoArchiveError
 */
export function archiveOf<Method extends keyof CheckpointArchive>(
  { run }: ThreadServices,
  asked: string,
  ...methods: readonly Method[]
): Pick<CheckpointArchive, Method> {
  const archive = archiveIn(run.checkpointer, methods);
  if (archive !== null) return archive;
  throw new NoArchiveError(asked, run.checkpointer?.constructor.name ?? null);
}

/**
 * A checkpoint of the thread itself; without an id the last one.
 * @throws NoCheckpointError, CorruptCheckpointError
 */
export async function checkpointAt(
  services: ThreadServices,
  { threadId, checkpointId }: { threadId: string; checkpointId?: string | undefined },
): Promise<CheckpointTuple> {
  const tuple = await checkpointerOf(services).getTuple({
    configurable: {
      thread_id: threadId,
      checkpoint_ns: "",
      ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
    },
  });
  if (tuple !== undefined) return tuple;
  throw services.noCheckpoint(threadId, checkpointId ?? null);
}
