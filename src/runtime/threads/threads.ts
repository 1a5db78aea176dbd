import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import type { ValueChange } from "../../state/value-diff.ts";
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
} from "./archive.ts";

import type { ContextOptions, ThreadContext } from "./context-options.ts";
import type { CheckpointTrigger, CheckpointView, NodeOutcome } from "./checkpoint-view.ts";
import type { StoredTask } from "../../compile/pending-tasks.ts";
import type { MeasuredPath } from "./plan-times.ts";
import type { ThreadPlan } from "./read-plans.ts";
import type { SkippedCheckpoint } from "./sound-checkpoint.ts";
import type { ChannelDiff } from "./state-diff.ts";
import type { StoredState } from "./stored-state.ts";
import type { SettledCall } from "./watch-journal.ts";

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
  /** Where the new thread begins. Default: the last checkpoint. */
  readonly checkpointId?: string;
  /** 1 to 255 characters; no such thread may be there. Default: a new id. */
  readonly newThreadId?: string;
  /** The agent that the thread is of; needed to check `modifiedState`. */
  readonly agent?: AgentDefinition;
  /**
   * Updates by channel, each applied as a node's would be: lists (`messages`, `steps`) are appended to, `usage` is added
   * to, `nodes` and `turn` are merged by key, everything else is replaced. What is next stays next.
   */
  readonly modifiedState?: Readonly<Record<string, unknown>>;
}

export interface ReplayOptions extends CheckpointRef, TurnOptions, AcceptOptions {}

export interface RecoverOptions extends TurnOptions, AcceptOptions {
  readonly threadId: string;
  /** Where to go on. Default: the last checkpoint. */
  readonly checkpointId?: string;
}

/**
 * Why recovery did or did not run anything. `resumed`: it ran what was pending. `waiting`: people are waited for.
 * `over`: the last turn has ended, and nothing is pending.
 */
export type RecoveryReason = "resumed" | "waiting" | "over";

/** What recovering a thread came to. */
export interface Recovery<Output = unknown, Exec = unknown, Attempt = unknown> {
  readonly threadId: string;
  /** The sound checkpoint that the thread went on from. */
  readonly from: CheckpointRef;
  /** Checkpoints on the way back to it that it could not go on from, newest first. */
  readonly skipped: readonly SkippedCheckpoint[];
  /** For people: channels that are stored and unknown, or known and not stored. */
  readonly warnings: readonly string[];
  /** Tool calls whose results were taken from the journal instead of being made again. */
  readonly settled: readonly SettledCall[];
  readonly reason: RecoveryReason;
  /** The same in words for people, with who is waited for. */
  readonly message: string;
  /** What people are asked; empty unless `reason` is `waiting`, or the run has come to wait. */
  readonly waiting: readonly PendingRequest[];
  /** What the run came to; null unless `reason` is `resumed`. */
  readonly result: ExecuteResult<Output, Exec, Attempt> | null;
}

/**
 * Threads that a runtime keeps: their past, and other ways on from it. The past itself is never changed. Every method that
 * is given a thread's id throws InvalidThreadIdError for one that no thread can have.
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
   * The state at a checkpoint; without one, at the last.
   * @throws NoCheckpointError, CorruptCheckpointError, NoArchiveError
   */
  stateAt(of: { threadId: string; checkpointId?: string }): Promise<StoredState>;
  /** How `b` differs from `a`, channel by channel; equal states have no difference. @throws as `stateAt` */
  diff(a: CheckpointRef, b: CheckpointRef): Promise<readonly ChannelDiff[]>;
  /**
   * What the model read when a step was made, or would read for the next one: made by the nodes themselves, up to the
   * call. Nothing is run or written, and no model is asked.
   *
   * @throws NoCheckpointError, CorruptCheckpointError, UnknownTurnError, UnknownStepError, NothingReadError,
   * ContextNotKeptError, DefinitionNotKeptError, ContextOverflowError, DefinitionChangedError, InvalidRunOptionError, NoCheckpointerError; with
   * an input UnfinishedTurnError, TurnLimitError, InvalidInputError
   */
  context(of: ContextOptions): Promise<ThreadContext>;
  /**
   * The plans of the last turn, under way or not, those of planners within workers after the one that they are within;
   * empty where it has none. @throws NoCheckpointError, CorruptCheckpointError, NoCheckpointerError
   */
  plans(threadId: string): Promise<readonly ThreadPlan[]>;
  /**
   * Makes a new thread that begins at a checkpoint, and shares what is stored of it. Nothing is run; a turn that was under
   * way there is resumed by `executeAgent` with `input: null`. A fork of the last checkpoint waits for the same answers and
   * keeps what has ended beside them; after any other, and with a modified state, what was next there runs again.
   *
   * @returns the checkpoint that the new thread goes on from
   * @throws NoCheckpointError, CorruptCheckpointError, ThreadExistsError, InvalidThreadIdError, InvalidStateUpdateError,
   * ForeignThreadError, DefinitionChangedError, NoArchiveError; nothing is written then
   */
  fork(of: ForkOptions): Promise<CheckpointRef>;
  /**
   * Runs on from a checkpoint in the same thread, as a new branch of it: what was pending there runs again, tools
   * included, and people are asked again. The branch is what the thread goes on with afterwards.
   *
   * @throws NoCheckpointError, CorruptCheckpointError, NothingToResumeError, ForeignThreadError, DefinitionChangedError, ThreadBusyError,
   * ThreadLockedError, and what `executeAgent` throws
   */
  replay<Input, Output, Exec, Attempt>(
    agent: AgentDefinition<Input, Output, Exec, Attempt>,
    of: ReplayOptions,
  ): Promise<ExecuteResult<Output, Exec, Attempt>>;
  /**
   * Goes on with a turn that was cut off, from the last checkpoint that is sound and whose next nodes the agent has. Tool
   * calls that had ended are not made again. It is safe to call twice, and from two processes.
   *
   * @throws NoCheckpointError, CorruptCheckpointError when none is sound, NoWayOnError, ForeignThreadError,
   * DefinitionChangedError, ThreadBusyError,
   * ThreadLockedError, and what `executeAgent` throws
   */
  recover<Input, Output, Exec, Attempt>(
    agent: AgentDefinition<Input, Output, Exec, Attempt>,
    of: RecoverOptions,
  ): Promise<Recovery<Output, Exec, Attempt>>;
  /**
   * Reads every checkpoint of a thread, agents inside of it included, and each stored value once.
   * @throws NoArchiveError, NoCheckpointError
   */
  verify(threadId: string, options?: VerifyOptions): Promise<ThreadVerification>;
  /**
   * Removes old checkpoints, and what only they needed.
   * @throws NoArchiveError, NoCheckpointError, InvalidRetentionError, ThreadBusyError, ThreadLockedError
   */
  prune(of: PruneOptions): Promise<PruneResult>;
  /** Removes a thread, and what the journal knows of it. A thread that is not there is gone already. */
  delete(threadId: string): Promise<void>;
  /** A whole thread as lines of JSON. @throws NoArchiveError, NoCheckpointError */
  export(threadId: string): AsyncGenerator<string>;
  /** What `export` gave, as a thread of the same or of another id. @throws NoArchiveError, ThreadExistsError */
  import(
    lines: AsyncIterable<string> | Iterable<string>,
    options?: { threadId?: string },
  ): Promise<ImportResult>;
}
