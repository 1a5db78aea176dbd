/** What of a checkpointer's failures concerns a run. Those of LangGraph's interface alone have none of these methods. */
export interface RunWatch {
  /**
   * Until the returned function is called: the first put that fails is told to `onFailure` instead of rejecting, which
   * nothing would handle under `async` durability, and the puts after it are left out.
   */
  watchRun?(threadId: string, onFailure: (error: unknown) => void): () => void;
  /** Makes a watched run one that has failed: nothing more of it is put. */
  refuseRun?(threadId: string, error: unknown): void;
  /** Resolves when nothing is being put any more. */
  settled?(threadId: string): Promise<void>;
}

/**
 * Runs something that is worth no more than what is kept of it. When a put fails, or the thread's lock is lost, the run
 * is told by its signal, nothing more of it is put, and when it has ended, however it did, that error is thrown.
 *
 * @param of.signal the caller's, which ends the run as well, though well
 * @param of.lost aborts when the thread's lock is lost, with the error as its reason
 * @throws what a put has thrown, or the reason of `lost`
 */
export async function guardedRun<Result>(
  watch: RunWatch | undefined,
  of: {
    readonly threadId: string;
    readonly signal: AbortSignal | undefined;
    readonly lost: AbortSignal | undefined;
  },
  run: (signal: AbortSignal, hasFailed: () => boolean) => Promise<Result>,
): Promise<Result> {
  const { threadId, signal, lost } = of;
  lost?.throwIfAborted();
  const ending = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    ending.abort(error);
  };
  const endWatch = watch?.watchRun?.(threadId, fail);
  const onLost = (): void => {
    fail(lost?.reason);
    watch?.refuseRun?.(threadId, lost?.reason);
  };
  lost?.addEventListener("abort", onLost);
  let result: Result;
  try {
    result = await run(
      signal ? AbortSignal.any([signal, ending.signal]) : ending.signal,
      () => failure !== undefined,
    );
  } catch (thrown) {
    // A run that is thrown out of may leave puts behind that are still on their way.
    if (endWatch !== undefined) await watch?.settled?.(threadId).catch(() => undefined);
    if (failure === undefined) throw thrown;
    throw failure.error;
  } finally {
    lost?.removeEventListener("abort", onLost);
    endWatch?.();
  }
  if (failure !== undefined) throw failure.error;
  return result;
}
