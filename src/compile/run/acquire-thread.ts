import type { RunnableConfig } from "@langchain/core/runnables";
import { StratagraphError } from "../../errors.ts";
import { TurnCancelledError } from "../errors.ts";
import { PrivateConfig } from "./run-config.ts";

/** Another run or edit in this process holds the thread. */
export class ThreadBusyError extends StratagraphError {
  readonly code = "thread_busy";

  constructor(readonly threadId: string) {
    super(`Thread "${threadId}" is running a turn. Wait for it, or use another thread.`);
  }
}

/** A lock on a thread, also against other processes. */
export interface ThreadLock {
  /** Aborts when the lock is lost: runs on the thread must stop. */
  readonly signal?: AbortSignal;
  /** Aborts when another process asks to cancel the run on the thread, with TurnCancelledError as the reason. */
  readonly cancelled?: AbortSignal;
  release(): Promise<void>;
}

/** The external dependencies of holding threads. */
export interface ThreadKeeper {
  /** The owner of the threads. Default: the keeper itself. */
  readonly checkpointer?: object | undefined;
  /**
   * Locks a thread, or reports who holds it. If left out, only runs of this process are mutually exclusive.
   *
   * @throws ThreadLockedError
   */
  lockThread?(threadId: string): Promise<ThreadLock>;
}

const threadsOf = new WeakMap<object, Map<string, HeldThread>>();

/** Returns the held threads of a checkpointer, by id. */
function heldOf(owner: object): Map<string, HeldThread> {
  const held = threadsOf.get(owner) ?? new Map<string, HeldThread>();
  threadsOf.set(owner, held);
  return held;
}

const holder = new PrivateConfig<HeldThread>("holder");

/** A thread that no other run or edit can acquire until it is released. */
export class HeldThread {
  /** Resolves when it has been released. */
  readonly released: Promise<void>;
  readonly #cancelling = new AbortController();
  #lock: ThreadLock | undefined;
  #resolve: () => void = () => undefined;

  constructor(
    private readonly owner: object,
    readonly threadId: string,
    /** Aborts the run on the thread, which then releases it. */
    private readonly ending: AbortSignal | undefined,
  ) {
    this.released = new Promise((resolve) => (this.#resolve = resolve));
    heldOf(owner).set(threadId, this);
  }

  /** Aborts when the thread's lock is lost. */
  get lockLost(): AbortSignal | undefined {
    return this.#lock?.signal;
  }

  /** Aborts when the run on the thread must end CANCELLED, with TurnCancelledError as the reason. */
  get cancelled(): AbortSignal {
    return this.#cancelling.signal;
  }

  /** Ends the run on the thread CANCELLED; the first reason counts. Has no effect on edits. */
  cancel(reason: string | null): void {
    this.#cancelling.abort(new TurnCancelledError(this.threadId, reason));
  }

  get isEnding(): boolean {
    return this.ending?.aborted ?? false;
  }

  isOf(owner: object, threadId: string): boolean {
    return this.owner === owner && this.threadId === threadId;
  }

  get isHeld(): boolean {
    return heldOf(this.owner).get(this.threadId) === this;
  }

  async lock(keeper: Pick<ThreadKeeper, "lockThread">): Promise<void> {
    this.#lock = await keeper.lockThread?.(this.threadId);
    const asked = this.#lock?.cancelled;
    asked?.addEventListener("abort", () => this.#cancelling.abort(asked.reason), { once: true });
  }

  /** Returns the config for a run or an edit by the holder. */
  within<Config extends RunnableConfig>(config: Config): Config {
    return holder.with(config, this);
  }

  /** Releases the thread. Idempotent. */
  async release(): Promise<void> {
    if (!this.isHeld) return;
    try {
      await this.#lock?.release();
    } finally {
      heldOf(this.owner).delete(this.threadId);
      this.#resolve();
    }
  }
}

/** Returns the thread if this process holds it. */
export function heldThread(
  { checkpointer }: { readonly checkpointer: object },
  threadId: string,
): HeldThread | undefined {
  return heldOf(checkpointer).get(threadId);
}

/** Returns the thread held for a config; undefined after its release. */
export function heldBy(config: Pick<RunnableConfig, "configurable">): HeldThread | undefined {
  const thread = holder.in(config);
  return thread?.isHeld === true ? thread : undefined;
}

/**
 * Acquires a thread. It does not wait, except for a run of this process that was aborted and is about to end.
 *
 * @param ending aborts the run that the thread is acquired for
 * @throws ThreadBusyError if this process holds it, ThreadLockedError if another one does
 */
export async function acquireThread(
  keeper: ThreadKeeper,
  threadId: string,
  ending?: AbortSignal,
): Promise<HeldThread> {
  const owner = keeper.checkpointer ?? keeper;
  const held = heldOf(owner);
  for (let other = held.get(threadId); other !== undefined; other = held.get(threadId)) {
    if (!other.isEnding) throw new ThreadBusyError(threadId);
    await other.released;
  }
  const thread = new HeldThread(owner, threadId, ending);
  try {
    await thread.lock(keeper);
  } catch (thrown) {
    await thread.release();
    throw thrown;
  }
  return thread;
}

/**
 * Runs `run` while it holds the thread.
 *
 * @throws ThreadBusyError, ThreadLockedError
 */
export async function withThread<Result>(
  keeper: ThreadKeeper,
  threadId: string,
  run: (thread: HeldThread) => Promise<Result>,
): Promise<Result> {
  const thread = await acquireThread(keeper, threadId);
  try {
    return await run(thread);
  } finally {
    await thread.release();
  }
}
