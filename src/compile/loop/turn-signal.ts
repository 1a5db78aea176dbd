import type { Clock } from "../../clock.ts";
import { TurnTimeoutError } from "../errors.ts";

export interface TurnSignal {
  readonly signal: AbortSignal;
  /** Ends the timer and lets go of the outer signal. */
  readonly release: () => void;
}

/** A signal that aborts with the outer one, or with a {@link TurnTimeoutError} when `remainingMs` have passed. */
export function turnSignal(options: {
  clock: Clock;
  outer: AbortSignal | undefined;
  remainingMs: number;
  timeoutSeconds: number;
}): TurnSignal {
  const { clock, outer, remainingMs, timeoutSeconds } = options;
  const controller = new AbortController();
  const onOuterAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onOuterAbort();
  outer?.addEventListener("abort", onOuterAbort, { once: true });
  const timeUp = () => controller.abort(new TurnTimeoutError(timeoutSeconds));
  const stopTimer = remainingMs > 0 ? clock.after(remainingMs, timeUp) : (timeUp(), undefined);
  return {
    signal: controller.signal,
    release() {
      stopTimer?.();
      outer?.removeEventListener("abort", onOuterAbort);
    },
  };
}
