/** Does what is asked for one run in the order in which it was asked for; runs do not wait for each other. */
export class RunQueue {
  /** Of each run that has work under way, the last piece. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `work` does, which begins when all that was asked for the run before has ended. */
  add<T>(runId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(runId) ?? Promise.resolve();
    const done = before.then(work, work);
    const forget = () => {
      if (this.#last.get(runId) === done) this.#last.delete(runId);
    };
    this.#last.set(runId, done);
    void done.then(forget, forget);
    return done;
  }
}
