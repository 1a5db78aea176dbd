import type { Clock } from "../clock.ts";
import type { ToolContext } from "../definition/tool/tool.ts";
import { errorMessage, StratagraphError } from "../errors.ts";
import type { ToolOutcome, ToolPrediction, ToolResult } from "../state/step-record.ts";
import { truncationNote, truncateText, headOf } from "../values/text.ts";
import { MissingSecretError } from "./missing-secret-error.ts";
import type { Secrets } from "./secrets.ts";

/**
 * Thrown by a handler whose tool ran as it should and did not reach its aim: file not found, nothing to divide by. The
 * call's outcome is `failure` with this message; anything else that a handler throws is an `error`.
 */
export class ToolFailure extends StratagraphError {
  readonly code = "tool_failure";
  override readonly kind = "run";
}

/** By code, since a handler may have got its class from another copy of this package. */
export function isToolFailure(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown as { code?: unknown }).code === "tool_failure";
}

/** Characters of a thrown message that a result keeps. */
const maxErrorCharacters = 2_000;

/** Characters of a longer text that are cleaned, since the cut may leave a beginning that cleaning would not recognise. */
const cleanedCharacters = 16 * maxErrorCharacters;

/**
 * The text of what a handler threw, whatever it was; never throws itself.
 * @param clean removes confidential values from a text that is cut
 */
export function thrownText(thrown: unknown, clean?: (text: string) => string): string {
  let text: string;
  try {
    text = errorMessage(thrown);
    if (typeof text !== "string") text = String(text);
  } catch {
    text = "";
  }
  if (text === "")
    text = `it threw ${typeof thrown === "object" ? "an error" : "a value"} without a message`;
  if (clean === undefined || text.length <= maxErrorCharacters) {
    return truncateText(text, maxErrorCharacters);
  }
  const looked = headOf(text, cleanedCharacters);
  const left = text.length - looked.length;
  const cleaned = clean(looked);
  if (left === 0) return truncateText(cleaned, maxErrorCharacters);
  const head = headOf(cleaned, maxErrorCharacters);
  return head + truncationNote(left + cleaned.length - head.length);
}

/** The part of a prediction that is run. */
export type ToolCall = Pick<ToolPrediction, "id" | "name" | "args">;

/** How a call ended. `error` is null on success. */
export interface CallEnd {
  readonly outcome: ToolOutcome;
  readonly result: unknown;
  readonly error: string | null;
}

/** The record of a call; the fields that the reasoning fills in later are empty. */
export function toolResult(call: ToolCall, end: CallEnd, elapsedMs: number): ToolResult {
  return {
    id: call.id,
    name: call.name,
    args: call.args,
    result: end.result,
    error: end.error,
    outcome: end.outcome,
    execution_time_ms: Math.round(elapsedMs * 1000) / 1000,
    insights: "",
    learning: "",
    relevance: "",
  };
}

/** The record of a call that was not made. */
export function refusedCall(call: ToolCall, error: string): ToolResult {
  return toolResult(call, { outcome: "error", result: null, error }, 0);
}

/**
 * What one call's handler is given. The signal is made when the handler first asks for it, because most handlers end
 * at once and a signal costs more than such a call.
 */
export class CallContext implements ToolContext {
  readonly callId: string;
  readonly agent: string | undefined;
  readonly now: () => Date;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  readonly #secrets: Secrets | undefined;

  /** A property, so that handlers may take it out of the context. */
  readonly secret = async (name: string): Promise<string> => {
    if (this.#secrets === undefined) throw new MissingSecretError(name);
    return this.#secrets.get(name);
  };

  constructor(
    callId: string,
    env: {
      readonly clock: Clock;
      readonly agent?: string | undefined;
      readonly secrets?: Secrets | undefined;
    },
  ) {
    this.callId = callId;
    this.agent = env.agent;
    this.now = () => env.clock.now();
    this.#secrets = env.secrets;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}

/**
 * What people answered to the `interrupt()`s of handlers in the node that makes the calls. LangGraph gives a node its
 * answers in the order in which they were asked for.
 */
export interface HandlerInterrupts {
  /** Times that the node has called `interrupt()` in this run of it. */
  readonly asked: number;
  /** Whether there are answers that were not taken yet. */
  readonly hasAnswers: boolean;
  /** Passes over answers that a call took which is not made again. */
  skip(count: number): void;
}

/** Causes of causes that are looked at. */
const deepestCause = 8;

/**
 * The interrupt of LangGraph that a handler let through, also as the cause of an error that it made of it; undefined
 * where there is none. By name, since a handler may have got LangGraph from another copy.
 */
export function interruptIn(thrown: unknown): Error | undefined {
  let one = thrown;
  for (let depth = 0; depth < deepestCause && one instanceof Error; depth += 1) {
    if (one.name === "GraphInterrupt" || one.name === "NodeInterrupt") return one;
    one = one.cause;
  }
  return undefined;
}
