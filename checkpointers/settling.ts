/** Knows what is being written for each thread. */
export class Settling {
  readonly #pending = new Map<string, Set<Promise<unknown>>>();

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
    work.then(ended, ended);
    return work;
  }

  /** Waits for all that was begun for the thread until now; throws what one of them throws. */
  async settled(threadId: string): Promise<void> {
    const pending = this.#pending.get(threadId);
    if (pending !== undefined) await Promise.all(pending);
  }
}
