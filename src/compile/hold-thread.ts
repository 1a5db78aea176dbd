import type { RunnableConfig } from "@langchain/core/runnables";
import { StratagraphError } from "../errors.ts";
import { PrivateConfig } from "./private-config.ts";

/** Another run or edit in this process is on the thread. */
export class ThreadBusyError extends StratagraphError {
  readonly code = "thread_busy";

  constructor(readonly threadId: string) {
    super(`Thread "${threadId}" is running a turn. Wait for it, or use another thread.`);
  }
}

/** Keeps others out of a thread: other processes too. */
export interface ThreadLock {
  /** Aborts when the lock is lost: what runs on the thread has to stop. */
  readonly signal?: AbortSignal;
  release(): Promise<void>;
}

/** What holding threads needs from the outside. */
export interface ThreadKeeper {
  /** Whose threads they are. Left out, those of the keeper itself. */
  readonly checkpointer?: object | undefined;
  /**
   * Takes a thread, or says who has it. Left out, only runs of this process are kept apart.
   * @throws ThreadLockedError
   */
  lockThread?(threadId: string): Promise<ThreadLock>;
}

const threadsOf = new WeakMap<object, Map<string, HeldThread>>();

/** The threads of a checkpointer that are held, by id. */
function heldOf(owner: object): Map<string, HeldThread> {
  const held = threadsOf.get(owner) ?? new Map<string, HeldThread>();
  threadsOf.set(owner, held);
  return held;
}

const holder = new PrivateConfig<HeldThread>("holder");

/** A thread that no other run or edit takes until it is released. */
export class HeldThread {
  /** Resolves when it has been released. */
  readonly released: Promise<void>;
  #lock: ThreadLock | undefined;
  #resolve: () => void = () => undefined;

  constructor(
    private readonly owner: object,
    readonly threadId: string,
    /** Aborts what runs on the thread, which is then about to release it. */
    private readonly ending: AbortSignal | undefined,
  ) {
    this.released = new Promise((resolve) => (this.#resolve = resolve));
    heldOf(owner).set(threadId, this);
  }

  /** Aborts when the thread's lock is lost. */
  get lost(): AbortSignal | undefined {
    return this.#lock?.signal;
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
  }

  /** The config of a run or an edit that the holder makes. */
  within<Config extends RunnableConfig>(config: Config): Config {
    return holder.with(config, this);
  }

  /** Any number of times. */
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

/** The thread that the holder of a config has; undefined when it has been released. */
export function heldBy(config: Pick<RunnableConfig, "configurable">): HeldThread | undefined {
  const thread = holder.in(config);
  return thread?.isHeld === true ? thread : undefined;
}

/**
 * Takes a thread. Does not wait, except for a run of this process that has been aborted and is about to end.
 *
 * @param ending aborts the run that the thread is taken for
 * @throws ThreadBusyError when this process has it, ThreadLockedError when another one has
 */
export async function takeThread(
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
 * Runs something while no other run or edit is on the thread.
 * @throws ThreadBusyError, ThreadLockedError
 */
export async function holdThread<Result>(
  keeper: ThreadKeeper,
  threadId: string,
  run: (thread: HeldThread) => Promise<Result>,
): Promise<Result> {
  const thread = await takeThread(keeper, threadId);
  try {
    return await run(thread);
  } finally {
    await thread.release();
  }
}
