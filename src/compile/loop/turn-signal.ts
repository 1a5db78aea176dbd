import type { Clock } from "../../clock.ts";
import { StratagraphError } from "../../errors.ts";

/** The turn ran longer than `execution_config.timeout_seconds`. Becomes the turn's failure. */
export class TurnTimeoutError extends StratagraphError {
  readonly code = "turn_timeout";
  override readonly kind = "run";

  constructor(readonly timeoutSeconds: number) {
    super(
      `The turn took longer than its ${timeoutSeconds} s. Raise execution_config.timeout_seconds, or give the agent less to do.`,
    );
  }
}

export interface TurnSignal {
  readonly signal: AbortSignal;
  /** Ends the timer and lets go of the outer signal. */
  release(): void;
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
