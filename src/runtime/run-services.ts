import type { CompileServices } from "../compile/compile-agent.ts";

/** Keeps others out of a thread: other processes too. */
export interface ThreadLock {
  /** Aborts when the lock is lost: what runs on the thread has to stop. */
  readonly signal?: AbortSignal;
  release(): Promise<void>;
}

/** What running agents needs from the outside. */
export interface RunServices extends CompileServices {
  /**
   * Takes a thread, or says who has it. Left out, only runs of the same services are kept apart.
   * @throws ThreadLockedError
   */
  lockThread?(threadId: string): Promise<ThreadLock>;
}
