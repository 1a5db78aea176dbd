import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import type { ExecuteResult } from "../run-result.ts";
import type { TurnOptions } from "../run-turn.ts";
import type {
  CheckpointSummary,
  ImportResult,
  Page,
  PruneOptions,
  PruneResult,
  ThreadSummary,
  ThreadVerification,
} from "./archive.ts";

/** One checkpoint of one thread. */
export interface CheckpointRef {
  readonly threadId: string;
  readonly checkpointId: string;
}

/**
 * Why a checkpoint was written. `input`: a turn was given its input. `node`: nodes ran. `tool_result`: one of them ran
 * tools. `turn_complete`: a turn came to its end, well or not. `manual`: somebody changed the state, or a fork or a
 * replay began there.
 */
export type CheckpointTrigger = "input" | "node" | "tool_result" | "turn_complete" | "manual";

/** `interrupted`: it waits for somebody. `failure`: it threw, and runs again when the thread is resumed. */
export type NodeOutcome = "success" | "failure" | "interrupted";

/** A checkpoint in a thread's history. */
export interface CheckpointView extends CheckpointSummary {
  /** Supersteps before it on its own branch, from 0. Branches of one thread share numbers. */
  readonly sequenceNum: number;
  readonly trigger: CheckpointTrigger;
  /** How the nodes ended that ran to make it (`success`), and those that were started from it and did not end. */
  readonly nodeOutcomes: Readonly<Record<string, NodeOutcome>>;
}

/** A task that is next at a checkpoint. */
export interface StoredTask {
  readonly node: string;
  /** `pending`: it has not run; `done`: what it wrote is stored, and is applied when its siblings have ended too. */
  readonly state: "pending" | "done" | "interrupted" | "failed";
  /** What it threw; null unless it failed. */
  readonly error: string | null;
}

/** The whole state of a thread at one checkpoint. */
export interface StoredState extends CheckpointView {
  /** Every channel that has a value, without LangGraph's own. Deeply frozen where the checkpointer freezes. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The nodes that run when the thread goes on from here; empty where nothing is left to do. */
  readonly next: readonly string[];
  /** What `next` has come to so far. */
  readonly tasks: readonly StoredTask[];
  /** What people are asked here, in agents inside of this one too. */
  readonly waiting: readonly PendingRequest[];
  /** Which version of each channel the checkpoint has. Equal versions are equal values, in other threads too. */
  readonly channelVersions: Readonly<Record<string, string | number>>;
  /** SHA-256 (hex) over the checkpoint's content; null where the checkpointer keeps none. */
  readonly integrityHash: string | null;
}

/** One difference inside of a channel. */
export interface ValueChange {
  /** Where: `notes[3].title`; empty for the channel's value itself. */
  readonly path: string;
  readonly kind: "added" | "removed" | "changed";
  /** A short form of the value for people; null where there was none. */
  readonly before: string | null;
  readonly after: string | null;
  /** The whole difference in words: `+2 elements at 5: …`. */
  readonly text: string;
}

/** How a channel differs between two checkpoints. */
export interface ChannelDiff {
  readonly channel: string;
  readonly kind: "added" | "removed" | "changed";
  /** In the order of the value; the first {@link maxChanges} of them. */
  readonly changes: readonly ValueChange[];
  /** Further differences that are left out. */
  readonly omitted: number;
}

/** Differences of a channel that are shown. */
export const maxChanges = 50;

export interface ForkOptions {
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
  /** Whether a definition that differs from the one the checkpoint was made under is fine. Default false. */
  readonly acceptChanges?: boolean;
}

export interface ReplayOptions extends CheckpointRef, TurnOptions {
  /** Whether a definition that differs from the one the checkpoint was made under is fine. Default false. */
  readonly acceptChanges?: boolean;
}

export interface RecoverOptions extends TurnOptions {
  readonly threadId: string;
  /** Where to go on. Default: the last checkpoint. */
  readonly checkpointId?: string;
  /** Whether a definition that differs from the one the checkpoint was made under is fine. Default false. */
  readonly acceptChanges?: boolean;
}

/** A damaged checkpoint that recovery went past. */
export interface SkippedCheckpoint {
  readonly checkpointId: string;
  readonly reason: string;
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
  /** Damaged checkpoints on the way back to it, newest first. */
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

/** A tool call that the journal knew. */
export interface SettledCall {
  readonly callId: string;
  readonly tool: string;
  /** Its state in the journal, as that says it. */
  readonly state: string;
}

/** Threads that a runtime keeps: their past, and other ways on from it. The past itself is never changed. */
export interface Threads {
  /** Most recently updated first. @throws NoArchiveError */
  list(options?: { cursor?: string; limit?: number }): Promise<Page<ThreadSummary>>;
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
   * Makes a new thread that begins at a checkpoint, and shares its past. Nothing is run; a turn that was under way there
   * is resumed by `executeAgent` with `input: null`.
   *
   * @returns the checkpoint that the new thread begins with
   * @throws NoCheckpointError, CorruptCheckpointError, ThreadExistsError, InvalidThreadIdError, InvalidStateUpdateError,
   * DefinitionChangedError, NoArchiveError; nothing is written then
   */
  fork(of: ForkOptions): Promise<CheckpointRef>;
  /**
   * Runs on from a checkpoint in the same thread, as a new branch of it: what was pending there runs again, tools
   * included, and people are asked again. The branch is what the thread goes on with afterwards.
   *
   * @throws NoCheckpointError, CorruptCheckpointError, NothingToResumeError, DefinitionChangedError, ThreadBusyError,
   * ThreadLockedError, and what `executeAgent` throws
   */
  replay<Input, Output, Exec, Attempt>(
    agent: AgentDefinition<Input, Output, Exec, Attempt>,
    of: ReplayOptions,
  ): Promise<ExecuteResult<Output, Exec, Attempt>>;
  /**
   * Goes on with a turn that was cut off, from the last checkpoint that is sound. Tool calls that had ended are not made
   * again. It is safe to call twice, and from two processes.
   *
   * @throws NoCheckpointError, CorruptCheckpointError when none is sound, DefinitionChangedError, ThreadBusyError,
   * ThreadLockedError, and what `executeAgent` throws
   */
  recover<Input, Output, Exec, Attempt>(
    agent: AgentDefinition<Input, Output, Exec, Attempt>,
    of: RecoverOptions,
  ): Promise<Recovery<Output, Exec, Attempt>>;
  /** Reads every checkpoint of a thread, agents inside of it included. @throws NoArchiveError */
  verify(threadId: string): Promise<ThreadVerification>;
  /** Removes old checkpoints, and what only they needed. @throws NoArchiveError */
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
