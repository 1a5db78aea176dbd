import type { Clock } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import type { CallContext } from "./call-context.ts";

/** A tool call took longer than `execution.timeout_ms`: the reason with which its handler's signal aborts. */
export class ToolTimeoutError extends StratagraphError {
  readonly code = "tool_timeout";
  override readonly kind = "run";

  constructor(
    readonly tool: string,
    readonly timeoutMs: number,
  ) {
    super(
      `Tool "${tool}" did not end within ${timeoutMs.toLocaleString("en")} ms and was aborted. Ask it for less, or raise its execution.timeout_ms.`,
    );
  }
}

/** The longest delay that timers of Node take. */
const maxDelayMs = 2 ** 31 - 1;

export interface SettleOptions {
  readonly tool: string;
  /** Null where the handler bounds its own time. */
  readonly timeoutMs: number | null;
  /** `clock.monotonic()` when the call began. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly context: CallContext;
}

/**
 * Waits for a handler's promise, no longer than its time and no longer than the run goes on. Whatever the promise does
 * afterwards is ignored.
 * @throws ToolTimeoutError; the signal's reason; what the handler rejects with.
 */
export function settle<T>(pending: PromiseLike<T>, options: SettleOptions): Promise<T> {
  const { tool, timeoutMs, startedAt, signal, clock, context } = options;
  return new Promise<T>((resolve, reject) => {
    const end = () => {
      stopTimer();
      signal.removeEventListener("abort", onAbort);
    };
    const stop = (reason: unknown) => {
      end();
      reject(reason);
      context.abort(reason);
    };
    const onAbort = () => stop(signal.reason);
    const remaining = (timeoutMs ?? 0) - (clock.monotonic() - startedAt);
    const stopTimer =
      timeoutMs === null
        ? () => {}
        : clock.after(Math.min(Math.max(remaining, 0), maxDelayMs), () =>
            stop(new ToolTimeoutError(tool, timeoutMs)),
          );
    signal.addEventListener("abort", onAbort);
    void Promise.resolve(pending).finally(end).then(resolve, reject);
    if (signal.aborted) onAbort();
  });
}
