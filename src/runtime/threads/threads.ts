import type { StoredTask } from "../../compile/guards/waiting.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { MemoryEntry } from "../../memory/entry.ts";
import type { ModelCallPage, ModelCallQuery } from "../../models/calls/call-log.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import type { Status } from "../../state/lifecycle.ts";
import type { ValueChange } from "../../values/diff.ts";
import type { AcceptOptions } from "../definition-changed.ts";
import type { ExecuteResult } from "../run-result.ts";
import type { TurnOptions } from "../run-turn.ts";
import type {
  ImportResult,
  Page,
  PruneOptions,
  PruneResult,
  ThreadListOptions,
  ThreadSummary,
  ThreadVerification,
  VerifyOptions,
} from "../../durable-saver.ts";
import type {
  ChannelDiff,
  CheckpointTrigger,
  CheckpointView,
  NodeOutcome,
} from "./checkpoint-view.ts";
import type { ContextOptions, ThreadContext } from "./context-options.ts";
import type { ThreadPath } from "./path.ts";
import type { MeasuredPath, ThreadPlan } from "./plans.ts";
import type { SettledCall } from "./services.ts";
import type { SkippedCheckpoint } from "./intact-checkpoint.ts";
import type { StoredState } from "./stored.ts";
export type {
  ChannelDiff,
  CheckpointTrigger,
  CheckpointView,
  ContextOptions,
  MeasuredPath,
  NodeOutcome,
  SettledCall,
  SkippedCheckpoint,
  StoredState,
  StoredTask,
  ThreadContext,
  ThreadPath,
  ThreadPlan,
  ValueChange,
};

/** One checkpoint of one thread. */
export interface CheckpointRef {
  readonly threadId: string;
  readonly checkpointId: string;
}

export interface ForkOptions extends AcceptOptions {
  readonly threadId: string;
  /** The checkpoint at which the new thread begins. Default: the last one. */
  readonly checkpointId?: string;
  /** 1 to 255 characters; must not exist yet. Default: a new id. */
  readonly newThreadId?: string;
  /** The agent of the thread; needed to check `modifiedState`. */
  readonly agent?: AgentDefinition;
  /**
   * Updates by channel, each applied as a node's would be: lists (`messages`, `steps`) are appended to, `usage` is
   * added to, `nodes` and `turn` are merged by key, everything else is replaced. The nodes to run next stay the same.
   */
  readonly modifiedState?: Readonly<Record<string, unknown>>;
}

export interface ReplayOptions extends CheckpointRef, TurnOptions, AcceptOptions {
  /** Whether the run is of a new thread, which begins at the checkpoint. Default: with either of the next two. */
  readonly asNewThread?: boolean;
  /** 1 to 255 characters; must not exist yet. Default: a new id, or none without `asNewThread`. */
  readonly newThreadId?: string;
  /** Updates by channel, as for a fork. The thread itself is never changed: the run is of a new thread. */
  readonly modifiedState?: ForkOptions["modifiedState"];
}

export interface RecoverOptions extends TurnOptions, AcceptOptions {
  readonly threadId: string;
  /** The checkpoint from which to resume. Default: the last one. */
  readonly checkpointId?: string;
}

/**
 * Why recovery did or did not run anything. `resumed`: it ran pending tasks. `waiting`: it waits for people. `over`:
 * the last turn has ended, and nothing is pending.
 */
export type RecoveryReason = "resumed" | "waiting" | "over";

/** An entry of long-term memory, without its text. */
type RecoveredMemory = Pick<MemoryEntry, "id" | "memory_type" | "last_accessed">;

/** The outcome of recovering a thread. */
export interface Recovery<Output = unknown, Exec = unknown, Attempt = unknown> {
  readonly threadId: string;
  /** The intact checkpoint from which the thread resumed. */
  readonly from: CheckpointRef;
  /** The skipped checkpoints above it, newest first. */
  readonly skipped: readonly SkippedCheckpoint[];
  /** Text for users: channels that are stored but unknown, or known but not stored. */
  readonly warnings: readonly string[];
  /** Tool calls whose results were reused from the journal instead of being called again. */
  readonly settled: readonly SettledCall[];
  /**
   * The 10 entries of long-term memory of this agent and thread that were accessed last, newest access first; empty
   * without long-term memory, and if it cannot be read, which `warnings` says.
   */
  readonly memories: readonly RecoveredMemory[];
  readonly reason: RecoveryReason;
  /** A summary for users, including the people it waits for. */
  readonly message: string;
  /** Pending human requests; empty unless `reason` is `waiting`, or the resumed run waits. */
  readonly waiting: readonly PendingRequest[];
  /** The result of the run; null unless `reason` is `resumed`. */
  readonly result: ExecuteResult<Output, Exec, Attempt> | null;
}

export interface CancelOptions {
  /** Stored with the turn, and shown. 1 to 500 characters without control characters. Default: none. */
  readonly reason?: string;
  /** Milliseconds to wait for a run to end, 0 to 600,000. Default 10,000. */
  readonly waitMs?: number;
}

/** What a cancellation has led to. */
export interface Cancellation {
  readonly threadId: string;
  /**
   * `cancelled`: the turn has ended CANCELLED. `requested`: the process that runs it was asked, and has not ended it
   * yet. `ended`: the turn ended before the request took effect.
   */
  readonly outcome: "cancelled" | "requested" | "ended";
  /** The status that is stored last. */
  readonly status: Status;
}

/** The memories that were removed with a thread. */
export interface ForgottenMemories {
  readonly memories: number;
  /** Archived copies. */
  readonly archived: number;
}

/**
 * The threads of a runtime: their history, forks, replays and recovery. Existing checkpoints never change. Every method
 * that takes a thread id throws InvalidThreadIdError if it is malformed.
 */
export interface Threads {
  /** Most recently updated first. @throws NoArchiveError */
  list(options?: ThreadListOptions): Promise<Page<ThreadSummary>>;
  /** Newest first, without loading values. @throws NoArchiveError, NoCheckpointError */
  history(
    threadId: string,
    options?: { cursor?: string; limit?: number; namespace?: string },
  ): Promise<Page<CheckpointView>>;
  /**
   * Returns the state at a checkpoint; at the last one if no id is given. `namespace` is that of a nested agent; default
   * the thread itself.
   *
   * @throws NoCheckpointError, CorruptCheckpointError, NoArchiveError
   */
  stateAt(of: {
    threadId: string;
    checkpointId?: string;
    namespace?: string;
  }): Promise<StoredState>;
  /** Returns the differences of `b` from `a` by channel; equal states have none. @throws as `stateAt` */
  diff(a: CheckpointRef, b: CheckpointRef): Promise<readonly ChannelDiff[]>;
  /**
   * Returns what the model read for a step, or would read for the next one. The nodes themselves compose it in a dry
   * run: nothing is written, and no model is called.
   *
   * @throws NoCheckpointError, CorruptCheckpointError, UnknownTurnError, UnknownStepError, NothingReadError,
   * ContextNotStoredError, DefinitionNotStoredError, ContextOverflowError, DefinitionChangedError,
   * InvalidRunOptionError, NoCheckpointerError; with an input UnfinishedTurnError, TurnLimitError, InvalidInputError
   */
  context(of: ContextOptions): Promise<ThreadContext>;
  /**
   * Returns the plans of the last turn, or of the turn at a checkpoint, running or ended, each followed by those of planners within its workers. Empty
   * if it has none. @throws NoCheckpointError, CorruptCheckpointError, NoCheckpointerError
   */
  plans(
    threadId: string,
    options?: { readonly checkpointId?: string },
  ): Promise<readonly ThreadPlan[]>;
  /**
   * Returns the nodes that a thread and its nested agents ran, in the order in which they ended, from the metadata of its
   * newest 10,000 checkpoints. @throws NoCheckpointError, NoArchiveError
   */
  path(threadId: string): Promise<ThreadPath>;
  /**
   * Creates a thread that begins at a checkpoint of another and shares its stored data. Nothing is run; `executeAgent`
   * with `input: null` resumes an unfinished turn. A fork of the last checkpoint waits for the same answers and keeps
   * completed tasks. After any other checkpoint, or with a modified state, the next nodes run again.
   *
   * @returns the checkpoint from which the new thread resumes
   * @throws NoCheckpointError, CorruptCheckpointError, ThreadExistsError, InvalidThreadIdError,
   * InvalidStateUpdateError, ForeignThreadError, DefinitionChangedError, NoArchiveError; nothing is written then
   */
  fork(of: ForkOptions): Promise<CheckpointRef>;
  /**
   * Runs again from a checkpoint in the same thread, as a new branch: its pending nodes run again, tools included, and
   * people are asked again. Afterwards the thread continues from the new branch.
   *
   * With `asNewThread`, `newThreadId` or `modifiedState` it does so in a new thread, a fork with that state, whose id the
   * result has. The thread stays as it was, its journal too. All checks precede the first write, and a fork that cannot
   * be completed is removed; a run that throws later leaves a thread that `executeAgent` resumes with `input: null`.
   *
   * @throws NoCheckpointError, CorruptCheckpointError, NothingToResumeError, ForeignThreadError,
   * DefinitionChangedError, ThreadBusyError, ThreadLockedError, and the errors of `executeAgent`; for a new thread
   * InvalidRunOptionError, ThreadExistsError, InvalidStateUpdateError, NoArchiveError
   */
  replay<Input, Output, Exec, Attempt>(
    agent: AgentDefinition<Input, Output, Exec, Attempt>,
    of: ReplayOptions,
  ): Promise<ExecuteResult<Output, Exec, Attempt>>;
  /**
   * Resumes an interrupted turn from the last intact checkpoint whose next nodes the agent has. Completed tool calls
   * are not repeated. It is safe to call twice, and from two processes.
   *
   * @throws NoCheckpointError, CorruptCheckpointError if none is intact, NoWayOnError, ForeignThreadError,
   * DefinitionChangedError, ThreadBusyError, ThreadLockedError, and the errors of `executeAgent`
   */
  recover<Input, Output, Exec, Attempt>(
    agent: AgentDefinition<Input, Output, Exec, Attempt>,
    of: RecoverOptions,
  ): Promise<Recovery<Output, Exec, Attempt>>;
  /**
   * Ends the turn of a thread CANCELLED. A run of this process, or of another one on the same Postgres database, is
   * aborted as by its `signal`: model calls and tool calls end. A turn that waits or was interrupted ends at once, and
   * its requests can no longer be answered. The turn can be resumed like any cancelled one. Of concurrent cancellations
   * the first reason counts.
   *
   * @throws NoCheckpointError for an unknown thread, NothingToCancelError if no turn is unfinished,
   * InvalidRunOptionError, NoCheckpointerError, ThreadLockedError if the database has no requests
   */
  cancel(threadId: string, options?: CancelOptions): Promise<Cancellation>;
  /**
   * Reads every checkpoint of a thread, nested agents included, and each stored value once.
   *
   * @throws NoArchiveError, NoCheckpointError
   */
  verify(threadId: string, options?: VerifyOptions): Promise<ThreadVerification>;
  /**
   * Removes old checkpoints, with the data that only they referenced.
   *
   * @throws NoArchiveError, NoCheckpointError, InvalidRetentionError, ThreadBusyError, ThreadLockedError
   */
  prune(of: PruneOptions): Promise<PruneResult>;
  /**
   * Reads the requests to models that a thread's turns made, oldest first: failed ones, retries and fallbacks too. Empty
   * if the runtime records none.
   *
   * @throws InvalidThreadIdError, InvalidCallCursorError
   */
  calls(of: ModelCallQuery): Promise<ModelCallPage>;
  /**
   * Removes a thread, its journal and its short-term memories; with `memory`, all that agents remember from it. Removes
   * nothing that does not exist.
   */
  delete(
    threadId: string,
    options?: { /** Default false. */ readonly memory?: boolean },
  ): Promise<ForgottenMemories>;
  /** Yields a whole thread as lines of JSON. @throws NoArchiveError, NoCheckpointError */
  export(threadId: string): AsyncGenerator<string>;
  /**
   * Imports the lines of `export` as a thread with the same or another id. @throws NoArchiveError, ThreadExistsError
   */
  import(
    lines: AsyncIterable<string> | Iterable<string>,
    options?: { threadId?: string },
  ): Promise<ImportResult>;
}

/** Returns threads whose code is loaded on the first method call. */
export function lazyThreads(load: () => Promise<Threads>): Threads {
  let loading: Promise<Threads> | undefined;
  const loaded = () => (loading ??= load());
  return {
    list: async (options) => (await loaded()).list(options),
    history: async (threadId, options) => (await loaded()).history(threadId, options),
    stateAt: async (of) => (await loaded()).stateAt(of),
    diff: async (a, b) => (await loaded()).diff(a, b),
    context: async (of) => (await loaded()).context(of),
    plans: async (threadId, options) => (await loaded()).plans(threadId, options),
    path: async (threadId) => (await loaded()).path(threadId),
    fork: async (of) => (await loaded()).fork(of),
    replay: async (agent, of) => (await loaded()).replay(agent, of),
    recover: async (agent, of) => (await loaded()).recover(agent, of),
    cancel: async (threadId, options) => (await loaded()).cancel(threadId, options),
    verify: async (threadId, options) => (await loaded()).verify(threadId, options),
    prune: async (of) => (await loaded()).prune(of),
    calls: async (of) => (await loaded()).calls(of),
    delete: async (threadId, options) => (await loaded()).delete(threadId, options),
    async *export(threadId) {
      yield* (await loaded()).export(threadId);
    },
    import: async (lines, options) => (await loaded()).import(lines, options),
  };
}
