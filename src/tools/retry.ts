import { backoff } from "../async.ts";
import type { Clock } from "../clock.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import { isFrozenObjectError } from "./stateful-call.ts";
import type { CallContext } from "./tool-result.ts";

/** Codes of Node after which a request was never sent. */
const neverSent = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** Causes of causes that are looked at. */
const deepestCause = 5;

/** Whether a call that ended so may be made again: its tool is idempotent, or nothing can have been done. */
export function mayRetry({ definition, kind }: AgentTool, thrown: unknown): boolean {
  if (isRefusal(thrown) || (kind === "stateful" && isFrozenObjectError(thrown))) return false;
  return definition.execution.idempotent ? !isOutcome(thrown) : isSafe(thrown);
}

/** The call would be refused again: before its handler ran, or for what it asks for. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof StratagraphError && refusals.has(thrown.code);
}

const refusals = new Set(["tool_input", "missing_secret", "no_sandbox", "http_tool"]);

/** A tool that ran as it should and says that it failed; unless it says that another try is worth it. */
function isOutcome(thrown: unknown): boolean {
  return codeOf(thrown) === "tool_failure" && !isSafe(thrown);
}

/** Says so itself (`retryable: true`), or was never sent, or was turned away by a limit of requests. */
function isSafe(thrown: unknown): boolean {
  let one = thrown;
  for (let depth = 0; depth < deepestCause && typeof one === "object" && one !== null; depth += 1) {
    const { retryable, status, cause } = one as Readonly<Record<string, unknown>>;
    if (retryable === true || status === 429) return true;
    if (neverSent.has(String(codeOf(one)))) return true;
    one = cause;
  }
  return false;
}

function codeOf(thrown: unknown): unknown {
  return (thrown as { code?: unknown } | null)?.code;
}

/** The longest wait before a retry, in milliseconds. */
export const maxBackoffMs = 60_000;

/**
 * Returns the milliseconds to wait before a retry, at least as many as the server asked for (`retryAfterMs` of the error);
 * null if it asked for more than 60 s, since an earlier try would be turned away.
 */
export function retryDelay(
  thrown: unknown,
  retries: number,
  { baseMs, random }: { readonly baseMs: number; readonly random: () => number },
): number | null {
  const { retryAfterMs } = (thrown ?? {}) as { readonly retryAfterMs?: unknown };
  const asked = typeof retryAfterMs === "number" ? retryAfterMs : 0;
  if (asked > maxBackoffMs) return null;
  return Math.max(asked, backoff(retries, { baseMs, maxMs: maxBackoffMs, random }));
}

/** A tool call took longer than `execution.timeout_ms`: the reason with which its handler's signal aborts. */
export class ToolTimeoutError extends StratagraphError {
  readonly code = "tool_timeout";
  override readonly kind = "run";

  constructor(
    readonly tool: string,
    readonly timeoutMs: number,
    /** Whether the caller runs the tool. Default false. */
    isOfClient = false,
  ) {
    const ms = timeoutMs.toLocaleString("en");
    super(
      isOfClient
        ? `The caller, which runs tool "${tool}", returned no result within ${ms} ms. Whether the call took effect is not known.`
        : `Tool "${tool}" did not end within ${ms} ms and was aborted. Ask it for less, or raise its execution.timeout_ms.`,
    );
  }
}

/** The longest delay that timers of Node take. */
const maxDelayMs = 2 ** 31 - 1;

export interface TimeoutOptions {
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
export function withTimeout<T>(pending: PromiseLike<T>, options: TimeoutOptions): Promise<T> {
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
