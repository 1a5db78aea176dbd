import type { Durability } from "../compile/agent-graph.ts";
import type { DurableSaver } from "../durable-saver.ts";

/** The failure hooks of a checkpointer. Savers with only LangGraph's interface have none of them. */
type WriteFailureWatch = Partial<Pick<DurableSaver, "watchRun" | "refuseRun" | "drain" | "flush">>;

/**
 * Runs `run` and aborts it as soon as one of its checkpoints cannot be written or the thread's lock is lost. Later
 * writes of the run are dropped. When the run has ended, the error is thrown.
 *
 * @param of.signal the caller's, which also ends the run, but without an error
 * @param of.durability under `async` the run may be ahead of its writes, and is waited for until they are stored
 * @param of.lockLost aborts when the thread's lock is lost, with the error as its reason
 * @throws the error of a failed `put`, or the reason of `lockLost`
 */
export async function withWriteFailureGuard<Result>(
  watch: WriteFailureWatch | undefined,
  of: {
    readonly threadId: string;
    readonly signal: AbortSignal | undefined;
    readonly lockLost: AbortSignal | undefined;
    readonly durability: Durability;
  },
  run: (signal: AbortSignal, hasFailed: () => boolean) => Promise<Result>,
): Promise<Result> {
  const { threadId, signal, lockLost, durability } = of;
  lockLost?.throwIfAborted();
  const ending = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    ending.abort(error);
  };
  const endWatch = watch?.watchRun?.(threadId, fail, { isAhead: durability === "async" });
  const onLost = (): void => {
    fail(lockLost?.reason);
    watch?.refuseRun?.(threadId, lockLost?.reason);
  };
  lockLost?.addEventListener("abort", onLost);
  let result: Result;
  try {
    result = await run(
      signal ? AbortSignal.any([signal, ending.signal]) : ending.signal,
      () => failure !== undefined,
    );
    // The run has ended when all of it is stored.
    if (durability === "async") await watch?.drain?.(threadId);
  } catch (thrown) {
    // An aborted run may leave writes in flight, and puts behind them that must still be dropped.
    if (endWatch !== undefined) await watch?.flush?.(threadId).catch(() => undefined);
    if (failure === undefined) throw thrown;
    throw failure.error;
  } finally {
    lockLost?.removeEventListener("abort", onLost);
    endWatch?.();
  }
  if (failure !== undefined) throw failure.error;
  return result;
}
