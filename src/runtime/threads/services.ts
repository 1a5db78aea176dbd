import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { CompileServices } from "../../compile/compile-agent.ts";
import { StratagraphError } from "../../errors.ts";
import type { CallEntry, ToolJournal } from "../../tools/journal.ts";
import { NoCheckpointerError } from "../errors.ts";
import { durableSaver, type DurableSaver } from "../../durable-saver.ts";

/** The dependencies of a runtime's threads. */
export interface ThreadServices {
  readonly run: CompileServices;
  /** The error that checkpointers throw if nothing is stored; null for a whole thread. */
  noCheckpoint(threadId: string, checkpointId: string | null): Error;
  /** Removes stored data of a thread outside its checkpoints. */
  forget?(threadId: string): Promise<void>;
  /** Requests to processes that run threads of the same database; left out where no other process has it open. */
  readonly cancelRequests?: CancelRequestPort | undefined;
  /** The journal of `run`, which reports the calls it already knew. */
  readonly journal?: Pick<WatchedJournal, "watch"> | undefined;
}

/** Requests to cancel the runs of other processes. */
export interface CancelRequestPort {
  /** Asks the process that runs a thread to cancel it, and returns the time of the request. */
  add(threadId: string, reason: string | null): Promise<string>;
  /** Returns whether the request, or a later one, is still there. */
  isOpen(threadId: string, requestedAt: string): Promise<boolean>;
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
export function archiveOf<Method extends keyof DurableSaver>(
  { run }: ThreadServices,
  asked: string,
  ...methods: readonly Method[]
): Pick<DurableSaver, Method> {
  const archive = durableSaver(run.checkpointer, methods);
  if (archive !== null) return archive;
  throw new NoArchiveError(asked, run.checkpointer?.constructor.name ?? null);
}

/**
 * Returns a checkpoint of the thread itself, or of a nested agent; the last one if no id is given.
 *
 * @throws NoCheckpointError, CorruptCheckpointError
 */
export async function checkpointAt(
  services: ThreadServices,
  of: { threadId: string; checkpointId?: string | undefined; namespace?: string | undefined },
): Promise<CheckpointTuple> {
  const { threadId, checkpointId, namespace = "" } = of;
  const tuple = await checkpointerOf(services).getTuple({
    configurable: {
      thread_id: threadId,
      checkpoint_ns: namespace,
      ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
    },
  });
  if (tuple !== undefined) return tuple;
  throw services.noCheckpoint(threadId, checkpointId ?? null);
}

/** The runtime's checkpointer lacks a method that LangGraph's interface does not have. */
export class NoArchiveError extends StratagraphError {
  readonly code = "no_archive";

  constructor(
    /** The method of `runtime.threads`. */
    readonly method: string,
    /** Null without a checkpointer. */
    readonly checkpointer: string | null,
  ) {
    const found =
      checkpointer === null ? "the runtime has no checkpointer" : `the runtime has ${checkpointer}`;
    super(
      `threads.${method} needs a checkpointer that lists, copies and verifies threads, and ${found}. Leave checkpointer out of createRuntime, or pass a PostgresCheckpointer.`,
    );
  }
}

/** A tool call that the journal already knew when its node ran again. */
export interface SettledCall {
  readonly callId: string;
  readonly tool: string;
  /**
   * `finished`: its result was reused. `started`: it had begun, and its outcome is unknown. `damaged`: its journal
   * record differs from what was written, and its outcome is unknown.
   */
  readonly state: "finished" | "started" | "damaged";
  /** Whether it was called again because its result was not reused. */
  readonly idempotent: boolean;
}

interface WatchedJournal extends ToolJournal {
  /** Calls `found` for every already known call of a thread, until the returned function is called. */
  watch(threadId: string, found: (call: SettledCall) => void): () => void;
}

/** Wraps a journal so that it also reports the calls it already knew. */
export function watchJournal(journal: ToolJournal): WatchedJournal {
  const watchers = new Map<string, Set<(call: SettledCall) => void>>();
  return {
    async begin(entry: CallEntry) {
      const known = await journal.begin(entry);
      const { threadId, callId, tool, idempotent } = entry;
      if (known.state !== "new") {
        for (const found of watchers.get(threadId) ?? [])
          found({ callId, tool, state: known.state, idempotent });
      }
      return known;
    },
    find: (entry) => journal.find(entry),
    end: (key, end) => journal.end(key, end),
    withdraw: (key) => journal.withdraw(key),
    watch(threadId, found) {
      const watching = watchers.get(threadId) ?? new Set();
      watchers.set(threadId, watching.add(found));
      return () => {
        watching.delete(found);
        if (watching.size === 0) watchers.delete(threadId);
      };
    },
  };
}
