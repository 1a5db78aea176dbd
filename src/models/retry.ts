import type { Clock } from "../clock.ts";
import type { Failure } from "./failure.ts";

export interface RetryPolicy {
  /** Tries after the first one, at least 0. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry; doubled for each further one, at most 8,000, the upper half of it at random. */
  readonly backoffMs: number;
  /** A number in [0, 1). */
  readonly random: () => number;
}

const longestBackoffMs = 8_000;
/** A server that asks for more than this is not waited for. */
const longestAskedMs = 60_000;

/**
 * Milliseconds to wait before the next try, or null when there is none. A wait that the server asked for is kept exactly.
 * @param tried tries made so far, at least 1
 */
export function retryDelay(failure: Failure, tried: number, policy: RetryPolicy): number | null {
  if (!failure.transient || tried > policy.maxRetries) return null;
  if (failure.retryAfterMs !== null) {
    return failure.retryAfterMs <= longestAskedMs ? failure.retryAfterMs : null;
  }
  const most = Math.min(longestBackoffMs, policy.backoffMs * 2 ** (tried - 1));
  return Math.round(most / 2 + (most / 2) * policy.random());
}

/**
 * Waits on the clock.
 * @throws the signal's reason when it aborts first
 */
export function waitFor(delayMs: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => finish(() => reject(signal?.reason as Error));
    const cancel = clock.after(delayMs, () => finish(resolve));
    function finish(settle: () => void): void {
      cancel();
      signal?.removeEventListener("abort", onAbort);
      settle();
    }
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
