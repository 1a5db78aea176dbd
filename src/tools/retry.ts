import type { Clock } from "../clock.ts";
import type { AgentTool } from "../definition/tool.ts";
import { StratagraphError } from "../errors.ts";
import { isFrozenObjectError } from "./handler-errors.ts";

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

/** Before the handler ran: the call would be refused again. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof StratagraphError && refusals.has(thrown.code);
}

const refusals = new Set(["tool_input", "missing_secret", "no_sandbox"]);

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
const longestBackoff = 60_000;

/**
 * Milliseconds before retry number `retry`, from 1: the tool's backoff doubled for each, half of it for sure and the
 * other half at random, so that callers who failed together do not come back together.
 */
export function backoffMs(base: number, retry: number, random: () => number): number {
  const whole = Math.min(base * 2 ** (retry - 1), longestBackoff);
  return whole / 2 + (random() * whole) / 2;
}

/** @throws the signal's reason, at once when it aborts */
export function pause(
  delayMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => {
      stop();
      reject(signal.reason as Error);
    };
    const stop = clock.after(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
