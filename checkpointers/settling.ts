/** Knows what is being written for each thread, and what could not be. */
export class Settling {
  readonly #pending = new Map<string, Set<Promise<unknown>>>();
  readonly #failed = new Map<string, unknown>();

  /** Returns `work` as it is. */
  track<Result>(threadId: string, work: Promise<Result>): Promise<Result> {
    const pending = this.#pending.get(threadId) ?? new Set();
    this.#pending.set(threadId, pending);
    const ended = (): void => {
      pending.delete(work);
      if (pending.size === 0 && this.#pending.get(threadId) === pending) {
        this.#pending.delete(threadId);
      }
    };
    pending.add(work);
    work.then(ended, (thrown: unknown) => {
      this.#failed.set(threadId, thrown);
      ended();
    });
    return work;
  }

  /** A run begins with what is stored: what could not be written before is of no consequence to it. */
  begin(threadId: string): void {
    this.#failed.delete(threadId);
  }

  /**
   * Waits until nothing more is written for the thread. LangGraph begins each put when the one before has ended, so it
   * looks again until nothing comes.
   */
  async ended(threadId: string): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const pending = this.#pending.get(threadId);
      if (pending === undefined) return;
      await Promise.allSettled(pending);
    }
  }

  /**
   * Waits likewise.
   *
   * @throws what one of the writes has thrown since the run began: LangGraph puts nothing after that
   */
  async settled(threadId: string): Promise<void> {
    await this.ended(threadId);
    if (this.#failed.has(threadId)) throw this.#failed.get(threadId);
  }
}
