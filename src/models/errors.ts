import { errorMessage, StratagraphError } from "../errors.ts";
import type { Failure, FailureReason } from "./failure.ts";

/** A model string names no provider, no model, or a provider that is not known. */
export class UnknownModelError extends StratagraphError {
  readonly code = "unknown_model";
  readonly ref: string;
  readonly providers: readonly string[];
  /** The nearest valid string, where one is near. */
  readonly suggestion: string | null;

  constructor(ref: string, providers: readonly string[], suggestion: string | null) {
    super(
      `Unknown model "${ref}": expected provider:model with one of the providers ${providers.join(", ")}.` +
        (suggestion === null ? "" : ` Did you mean "${suggestion}"?`),
    );
    this.ref = ref;
    this.providers = providers;
    this.suggestion = suggestion;
  }
}

/** A provider's package is not installed. */
export class MissingProviderError extends StratagraphError {
  readonly code = "missing_provider_package";
  readonly packageName: string;

  constructor(packageName: string, options?: { cause?: unknown }) {
    super(
      `The package ${packageName} is not installed. Install it: npm install ${packageName}`,
      options,
    );
    this.packageName = packageName;
  }
}

/** A provider needs a key and the environment has none. */
export class MissingApiKeyError extends StratagraphError {
  readonly code = "missing_api_key";
  readonly ref: string;
  /** The environment variable that was looked for. */
  readonly variable: string;

  constructor(ref: string, variable: string, hint = "") {
    super(
      `The model "${ref}" needs an API key: set the environment variable ${variable}${hint}. ` +
        `To try things out without a key or a network, use the model "offline:rules".`,
    );
    this.ref = ref;
    this.variable = variable;
  }
}

/** An option of `llm_config` that neither the model nor its fallback takes, or whose value is out of range. */
export class ModelOptionError extends StratagraphError {
  readonly code = "model_option";
  readonly ref: string;
  readonly option: string;
  readonly allowed: readonly string[];

  /** @param problem what is wrong with the value of an option that is taken, as the rest of a sentence without a full stop */
  constructor(ref: string, option: string, allowed: readonly string[], problem?: string) {
    super(
      problem === undefined
        ? untaken(ref, option, allowed)
        : `The option "${option}" of the model "${ref}" ${problem}.`,
    );
    this.ref = ref;
    this.option = option;
    this.allowed = allowed;
  }
}

const clientConfig = "ollama_client_config";

/** `ollama_client_config` is no option of a model, but of the way to it, and nothing to choose instead of one. */
function untaken(ref: string, option: string, allowed: readonly string[]): string {
  const refused = `The model "${ref}" does not take the option "${option}"`;
  if (option === clientConfig) {
    return `${refused}: it says how an Ollama server is reached. Leave it out, or name a model of Ollama's ("ollama:…").`;
  }
  return `${refused}. It takes: ${allowed.filter((name) => name !== clientConfig).join(", ")}.`;
}

/**
 * Neither the model nor its fallback answered. `reason`, `status` and `tries` are about the model itself; what became of
 * its fallback is in `fallback`. The message holds no key.
 */
export class ModelCallError extends StratagraphError {
  readonly code = "model_call";
  override readonly kind = "run";
  override readonly transient: boolean;
  /** `provider:model` */
  readonly ref: string;
  readonly reason: FailureReason;
  /** HTTP status, where there was a response. */
  readonly status: number | null;
  /** Requests made to the model, at least 1. */
  readonly tries: number;
  /**
   * Whether it, or its fallback, was asked with tools and takes none: then the same may succeed with the tools worded in
   * text. `reason` is `bad_request` for the one that takes none.
   */
  readonly lacksTools: boolean;
  readonly fallback: FailedFallback | null;

  constructor(facts: ModelCallFacts) {
    super(facts.message, { cause: facts.cause });
    this.ref = facts.ref;
    this.reason = facts.reason;
    this.transient =
      facts.transient ?? (facts.reason === "rate_limit" || facts.reason === "outage");
    this.status = facts.status ?? null;
    this.tries = facts.tries ?? 1;
    this.lacksTools = facts.lacksTools ?? false;
    this.fallback = facts.fallback ?? null;
  }
}

export interface ModelCallFacts {
  readonly ref: string;
  readonly reason: FailureReason;
  readonly message: string;
  readonly status?: number | null;
  /** Default: of rate limits and outages. */
  readonly transient?: boolean;
  readonly tries?: number;
  readonly lacksTools?: boolean;
  readonly fallback?: FailedFallback | null;
  readonly cause?: unknown;
}

export interface FailedFallback {
  readonly ref: string;
  readonly reason: FailureReason;
  readonly status: number | null;
}

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
