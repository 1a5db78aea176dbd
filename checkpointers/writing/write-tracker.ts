/** A run that is watched. */
export class WatchedRun {
  #failure: { readonly error: unknown } | null = null;

  constructor(
    private readonly onFailure: (error: unknown) => void,
    /** Whether it goes on before its writes are stored. */
    readonly isAhead = false,
  ) {}

  /** The first failure: nothing more of the run is written. */
  get failure(): { readonly error: unknown } | null {
    return this.#failure;
  }

  fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    this.onFailure(error);
  }
}

/** Knows what is being written for each thread, who runs it, and what could not be written. */
export class WriteTracker {
  readonly #pending = new Map<string, Set<Promise<unknown>>>();
  readonly #runs = new Map<string, WatchedRun>();
  /** Write failures of threads without a watched run, since the last read. */
  readonly #failed = new Map<string, { readonly error: unknown }>();

  /** Reports the first write failure of the thread instead of throwing it, until the returned function is called. */
  watch(
    threadId: string,
    onFailure: (error: unknown) => void,
    { isAhead }: { readonly isAhead?: boolean } = {},
  ): () => void {
    const run = new WatchedRun(onFailure, isAhead);
    this.#runs.set(threadId, run);
    return () => {
      if (this.#runs.get(threadId) === run) this.#runs.delete(threadId);
    };
  }

  /** The run of a thread that is watched, and goes on before its writes are stored. */
  runAhead(threadId: string): WatchedRun | undefined {
    const run = this.#runs.get(threadId);
    return run?.isAhead === true ? run : undefined;
  }

  /** Has a watched run write nothing more. */
  refuse(threadId: string, error: unknown): void {
    this.#runs.get(threadId)?.fail(error);
  }

  /**
   * Does the work, unless the thread's run has failed before.
   *
   * @throws the errors of the work, if the thread is not watched
   */
  async write(threadId: string, work: () => Promise<void>): Promise<void> {
    const run = this.#runs.get(threadId);
    if (run?.failure) return;
    try {
      await this.#track(threadId, work());
    } catch (thrown) {
      if (run === undefined) throw thrown;
      run.fail(thrown);
    }
  }

  /** Clears earlier failures when an unwatched run begins: it begins with the stored state. */
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
