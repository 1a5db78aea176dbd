import { inspect } from "node:util";
import { errorMessage, StratagraphError } from "../errors.ts";
import type { FailureReason, ModelCallRecord } from "../state/usage.ts";
import { noUsage, type Usage } from "../state/usage.ts";
import { headOf, truncateModelText } from "../values/text.ts";
import { type Failure, WithheldReply } from "./failure.ts";

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
 * No model answered. `reason`, `status` and `tries` are about the chosen model; what became of its fallbacks is in
 * `fallbacks`. The code is `model_refusal` or `content_filter` if the last one refused or its reply was withheld. The
 * message holds no key.
 */
export class ModelCallError extends StratagraphError {
  readonly code: "model_call" | "model_refusal" | "content_filter";
  override readonly kind = "run";
  override readonly transient: boolean;
  /** `provider:model` */
  readonly ref: string;
  readonly reason: FailureReason;
  /** HTTP status, where there was a response. */
  readonly status: number | null;
  /** Requests made to the model, at least 1; 0 if its provider's circuit was open. */
  readonly tries: number;
  /**
   * Whether it, or a fallback, was asked with tools and takes none: then the same may succeed with the tools worded in
   * text. `reason` is `bad_request` for the one that takes none.
   */
  readonly lacksTools: boolean;
  readonly fallbacks: readonly FailedFallback[];
  /** What a model that refused said, at most 2,000 characters; empty otherwise. */
  readonly said: string;
  /** Tokens and cost of replies that were withheld, and the number of all requests. */
  readonly usage: Usage;
  /** Every request that was made, in order. */
  readonly calls: readonly ModelCallRecord[];

  constructor(facts: ModelCallFacts) {
    super(facts.message, { cause: facts.cause });
    this.ref = facts.ref;
    this.reason = facts.reason;
    this.code = codes[facts.lastReason ?? facts.reason] ?? "model_call";
    this.transient = facts.transient ?? transientReasons.has(facts.reason);
    this.status = facts.status ?? null;
    this.tries = facts.tries ?? 1;
    this.lacksTools = facts.lacksTools ?? false;
    this.fallbacks = facts.fallbacks ?? [];
    this.said = facts.said ?? "";
    this.usage = facts.usage ?? noUsage;
    this.calls = facts.calls ?? [];
  }
}

/**
 * Returns an error whose message has what the model said instead of a reply; the same one if it said nothing. What models
 * say is kept out of messages until it is known that no output rail has to check it.
 */
export function withModelWords(error: ModelCallError): ModelCallError {
  if (error.said === "") return error;
  const { message, cause, ref, reason, status, transient, tries, lacksTools } = error;
  const { fallbacks, said: words, usage, calls, code } = error;
  const lastReason = code === "model_refusal" ? "refusal" : reason;
  const facts = { cause, ref, reason, lastReason, status, transient, tries, lacksTools };
  const shown = `${message} The model said: ${JSON.stringify(headOf(words, 500))}`;
  return new ModelCallError({ ...facts, fallbacks, said: words, usage, calls, message: shown });
}

const codes: Partial<Record<FailureReason, ModelCallError["code"]>> = {
  refusal: "model_refusal",
  content_filter: "content_filter",
};

const transientReasons: ReadonlySet<FailureReason> = new Set(["rate_limit", "outage", "timeout"]);

export interface ModelCallFacts {
  readonly ref: string;
  readonly reason: FailureReason;
  /** Of the last model that was asked. Default: `reason`. */
  readonly lastReason?: FailureReason;
  readonly message: string;
  readonly status?: number | null;
  /** Default: of rate limits, outages and timeouts. */
  readonly transient?: boolean;
  readonly tries?: number;
  readonly lacksTools?: boolean;
  readonly fallbacks?: readonly FailedFallback[];
  readonly said?: string;
  readonly usage?: Usage;
  readonly calls?: readonly ModelCallRecord[];
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

/**
 * @param failed the models in the order in which they were asked, at least one
 * @param made what their requests came to
 * @param redact takes secrets out of what the provider said, for the message and for the cause
 */
export function modelCallError(
  failed: readonly [FailedModel, ...FailedModel[]],
  made: Pick<ModelCallFacts, "usage" | "calls">,
  redact: (text: string) => string,
): ModelCallError {
  const [first, ...others] = failed;
  const last = failed.at(-1) ?? first;
  return new ModelCallError({
    ...made,
    ref: first.ref,
    reason: first.failure.reason,
    lastReason: last.failure.reason,
    status: first.failure.status,
    ...(failed.every(isGone) && { transient: false }),
    tries: first.tries,
    lacksTools: failed.some(({ failure }) => failure.lacksTools),
    message: describe(failed, redact),
    fallbacks: others.map(({ ref, failure: { reason, status } }) => ({ ref, reason, status })),
    said: truncateModelText(redact(saidBy(last))),
    cause: safeCause(first.failure.thrown, redact),
  });
}

/** Whether the same would fail again: the server has never been there. */
function isGone({ failure: { unreachable } }: FailedModel): boolean {
  return unreachable?.hasAnswered === false;
}

function saidBy({ failure: { thrown } }: FailedModel): string {
  return thrown instanceof WithheldReply ? thrown.said : "";
}

const said: Record<FailureReason, string> = {
  rate_limit: "it is rate limited",
  quota: "the account's quota is used up",
  outage: "it could not be reached or broke off",
  timeout: "it sent nothing in time",
  context_overflow: "the request is longer than its context window",
  model_not_found: "its provider does not have it, or has retired it",
  content_filter: "its provider's content filter withheld the reply",
  refusal: "it refused",
  auth: "the API key was not accepted",
  bad_request: "it refused the request",
  bad_reply: "its reply was no chat reply",
};

const advice: Record<FailureReason, string> = {
  rate_limit: "Try again later, or name a fallback_model in llm_config.",
  quota: "Raise the quota, or name a fallback_model in llm_config.",
  outage: "Check the server and the network, or name a fallback_model in llm_config.",
  timeout: "Raise llm_config.timeout, or name a fallback_model in llm_config.",
  context_overflow:
    "Shorten the input or the memory, or name a fallback_model with a longer window.",
  model_not_found: "Check the model's name, or name a fallback_model in llm_config.",
  content_filter: "Change the request, or name a fallback_model in llm_config.",
  refusal: "Change the request, or name a fallback_model in llm_config.",
  auth: "Check the provider's API key in the environment.",
  bad_request: "Check the model's name and the options in llm_config.",
  bad_reply: "Check that the base URL is that of a chat completions server.",
};

function describe(
  failed: readonly [FailedModel, ...FailedModel[]],
  redact: (text: string) => string,
): string {
  const sentences = failed.map((one, at) =>
    describeFailure(at === 0 ? `The model "${one.ref}"` : `Its fallback "${one.ref}"`, one, redact),
  );
  return [...sentences, adviceFor(failed.at(-1) ?? failed[0])].join(" ");
}

function adviceFor({ ref, failure }: FailedModel): string {
  if (failure.unreachable !== null) return failure.unreachable.advice;
  if (!failure.lacksTools) return advice[failure.reason];
  return `Set modelOptions.toolCalling["${ref}"] to false, so that tools are worded in text for it, or name a model that takes tools.`;
}

/** Returns a sentence that says why a model did not answer. */
export function describeFailure(
  subject: string,
  { failure, tries }: Pick<FailedModel, "failure" | "tries">,
  redact: (text: string) => string,
): string {
  const status = failure.status === null ? "" : ` (HTTP ${failure.status})`;
  const times = tries < 2 ? "" : ` after ${tries} tries`;
  // Before it is cut: the beginning of a key has no form by which it is known.
  const detail = firstLine(redact(headOf(errorMessage(failure.thrown), readCharacters)));
  return `${subject} did not answer: ${said[failure.reason]}${status}${times}: ${detail}`;
}

/** Providers append help pages and whole bodies after the first line. */
function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  const short = line.length > 300 ? `${line.slice(0, 300)}…` : line;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}

/** Characters of a thrown text that are looked at. */
const readCharacters = 10_000;

/**
 * The thrown value itself, unless it, or an error or a field in it, would show a secret or a long text: then an error of
 * the same name with the redacted message.
 */
export function safeCause(thrown: unknown, redact: (text: string) => string): unknown {
  if (!(thrown instanceof Error)) return redact(headOf(String(thrown), readCharacters));
  const isShort = thrown.message.length <= readCharacters && !(thrown instanceof WithheldReply);
  if (isShort) {
    const shown = inspect(thrown, { depth: 6, maxStringLength: readCharacters });
    if (redact(shown) === shown) return thrown;
  }
  const safe = new Error(redact(headOf(thrown.message, readCharacters)));
  safe.name = thrown.name;
  return safe;
}
