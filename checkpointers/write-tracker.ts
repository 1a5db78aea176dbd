interface WatchedRun {
  readonly onFailure: (error: unknown) => void;
  /** Set when something could not be written: nothing more is to be. */
  failure: { readonly error: unknown } | null;
}

/** Knows what is being written for each thread, who runs it, and what could not be written. */
export class WriteTracker {
  readonly #pending = new Map<string, Set<Promise<unknown>>>();
  readonly #runs = new Map<string, WatchedRun>();
  /** Of threads whose runs nobody watches, since something was read of them. */
  readonly #failed = new Map<string, { readonly error: unknown }>();

  /** Until the returned function is called, failures of the thread's writes are told instead of thrown, the first one. */
  watch(threadId: string, onFailure: (error: unknown) => void): () => void {
    const run: WatchedRun = { onFailure, failure: null };
    this.#runs.set(threadId, run);
    return () => {
      if (this.#runs.get(threadId) === run) this.#runs.delete(threadId);
    };
  }

  /** Has a watched run write nothing more. */
  refuse(threadId: string, error: unknown): void {
    const run = this.#runs.get(threadId);
    if (run === undefined || run.failure !== null) return;
    run.failure = { error };
    run.onFailure(error);
  }

  /**
   * Does the work, unless the thread's run has failed before.
   *
   * @throws what the work throws, where nobody watches
   */
  async write(threadId: string, work: () => Promise<void>): Promise<void> {
    const run = this.#runs.get(threadId);
    if (run?.failure) return;
    try {
      await this.#track(threadId, work());
    } catch (thrown) {
      if (run === undefined) throw thrown;
      this.refuse(threadId, thrown);
    }
  }

  /** Of a run that nobody watches: it begins with what is stored, and earlier failures are of no consequence to it. */
  resetFailures(threadId: string): void {
    this.#failed.delete(threadId);
  }

  /** Waits for what has begun, however it ends. */
  async drain(threadId: string): Promise<void> {
    const pending = this.#pending.get(threadId);
    if (pending !== undefined) await Promise.allSettled(pending);
  }

  /**
   * Waits until nothing more is written for the thread: LangGraph begins each put when the one before has ended.
   *
   * @throws what one of the run's writes has thrown: LangGraph puts nothing after that
   */
  async flush(threadId: string): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const pending = this.#pending.get(threadId);
      if (pending === undefined) break;
      await Promise.allSettled(pending);
    }
    const failure = this.#runs.get(threadId)?.failure ?? this.#failed.get(threadId);
    if (failure) throw failure.error;
  }

  async #track(threadId: string, work: Promise<void>): Promise<void> {
    const pending = this.#pending.get(threadId) ?? new Set();
    this.#pending.set(threadId, pending);
    pending.add(work);
    try {
      await work;
    } catch (error) {
      this.#failed.set(threadId, { error });
      throw error;
    } finally {
      pending.delete(work);
      if (pending.size === 0 && this.#pending.get(threadId) === pending) {
        this.#pending.delete(threadId);
      }
    }
  }
}
