import type { CompileServices } from "../compile/compile-agent.ts";

/** Keeps others out of a thread: other processes too. */
export interface ThreadLock {
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
