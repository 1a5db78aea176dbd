import { errorMessage } from "../errors.ts";
import { ModelCallError } from "./errors.ts";
import type { Failure, FailureReason } from "./failure.ts";

/** A model that was asked and did not answer. */
export interface FailedModel {
  readonly ref: string;
  readonly failure: Failure;
  /** Requests made, at least 1. */
  readonly tries: number;
}

/** @param redact takes secrets out of what the provider said, for the message and for the cause */
export function modelCallError(
  failed: FailedModel,
  fallback: FailedModel | null,
  redact: (text: string) => string,
): ModelCallError {
  return new ModelCallError({
    ref: failed.ref,
    reason: failed.failure.reason,
    status: failed.failure.status,
    ...(isGone(failed) && (fallback === null || isGone(fallback)) && { transient: false }),
    tries: failed.tries,
    lacksTools: failed.failure.lacksTools || (fallback?.failure.lacksTools ?? false),
    message: describe(failed, fallback, redact),
    fallback: fallback && {
      ref: fallback.ref,
      reason: fallback.failure.reason,
      status: fallback.failure.status,
    },
    cause: safeCause(failed.failure.thrown, redact),
  });
}

/** Whether the same would fail again: the server has never been there. */
function isGone({ failure: { unreachable } }: FailedModel): boolean {
  return unreachable?.hasAnswered === false;
}

const said: Record<FailureReason, string> = {
  rate_limit: "it is rate limited",
  quota: "the account's quota is used up",
  outage: "it could not be reached or broke off",
  context_overflow: "the request is longer than its context window",
  auth: "the API key was not accepted",
  bad_request: "it refused the request",
  bad_reply: "its reply was no chat reply",
};

const advice: Record<FailureReason, string> = {
  rate_limit: "Try again later, or name a fallback_model in llm_config.",
  quota: "Raise the quota, or name a fallback_model in llm_config.",
  outage: "Check the server and the network, or name a fallback_model in llm_config.",
  context_overflow:
    "Shorten the input or the memory, or name a fallback_model with a longer window.",
  auth: "Check the provider's API key in the environment.",
  bad_request: "Check the model's name and the options in llm_config.",
  bad_reply: "Check that the base URL is that of a chat completions server.",
};

function describe(
  failed: FailedModel,
  fallback: FailedModel | null,
  redact: (text: string) => string,
): string {
  const own = sentence(`The model "${failed.ref}"`, failed, redact);
  if (fallback === null) return `${own} ${adviceFor(failed)}`;
  const other = sentence(`Its fallback "${fallback.ref}"`, fallback, redact);
  return `${own} ${other} ${adviceFor(fallback)}`;
}

function adviceFor({ ref, failure }: FailedModel): string {
  if (failure.unreachable !== null) return failure.unreachable.advice;
  if (!failure.lacksTools) return advice[failure.reason];
  return `Set modelOptions.toolCalling["${ref}"] to false, so that tools are worded in text for it, or name a model that takes tools.`;
}

function sentence(
  subject: string,
  { failure, tries }: FailedModel,
  redact: (text: string) => string,
): string {
  const status = failure.status === null ? "" : ` (HTTP ${failure.status})`;
  const times = tries === 1 ? "" : ` after ${tries} tries`;
  const detail = redact(firstLine(errorMessage(failure.thrown)));
  return `${subject} did not answer: ${said[failure.reason]}${status}${times}: ${detail}`;
}

/** Providers append help pages and whole bodies after the first line. */
function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  const short = line.length > 300 ? `${line.slice(0, 300)}…` : line;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}

/** The thrown value itself, unless it would show a secret: then an error of the same name with the redacted message. */
function safeCause(thrown: unknown, redact: (text: string) => string): unknown {
  if (!(thrown instanceof Error)) return redact(String(thrown));
  const shown = `${thrown.message}\n${thrown.stack ?? ""}`;
  if (redact(shown) === shown) return thrown;
  const safe = new Error(redact(thrown.message));
  safe.name = thrown.name;
  return safe;
}
