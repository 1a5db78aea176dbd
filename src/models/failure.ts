import type { AIMessage } from "@langchain/core/messages";
import { errorMessage } from "../errors.ts";
import { type FailureReason, failureReasons } from "../state/usage.ts";
import { headOf } from "../values/text.ts";

export interface Failure {
  readonly reason: FailureReason;
  /** HTTP status, where there was a response. */
  readonly status: number | null;
  /** Milliseconds the server asked to wait. */
  readonly retryAfterMs: number | null;
  /** Whether the same request may succeed on this model a little later. */
  readonly transient: boolean;
  /** Whether it was asked with tools and takes none: then it may answer without. */
  readonly lacksTools: boolean;
  /** Where no connection was made. */
  readonly unreachable: UnreachableServer | null;
  readonly thrown: unknown;
}

/** Reasons for which a fallback model is asked by default: those for which another model may do better. */
export const defaultFallbackReasons: readonly FailureReason[] = failureReasons.filter(
  (reason) => reason !== "auth" && reason !== "bad_request",
);

/** Thrown for a reply that is none; classified as `bad_reply`. */
export class BadReply extends Error {
  override readonly name = "BadReply";
}

/** Thrown for an answer that stopped in the middle, or never began; classified as `outage`. */
export class BrokenStream extends Error {
  override readonly name = "BrokenStream";
}

/** Thrown for a model that sent no token in time; classified as `timeout`. */
export class SilentModel extends Error {
  override readonly name = "SilentModel";
}

/** Characters that are kept of what a model said instead of a reply. */
const mostSaid = 10_000;

/** Thrown for a reply that its provider withheld, or that is a refusal; classified by its reason. */
export class WithheldReply extends Error {
  override readonly name = "WithheldReply";
  readonly reason: "content_filter" | "refusal";
  /** What the model said of it; empty if nothing. */
  readonly said: string;

  /** The message that came, with its usage. */
  readonly received: AIMessage;

  constructor(reason: "content_filter" | "refusal", said: string, received: AIMessage) {
    const kept = headOf(said, mostSaid);
    super(withheld[reason]);
    this.reason = reason;
    this.said = kept;
    this.received = received;
  }
}

const withheld = {
  content_filter: "the reply was withheld",
  refusal: "the reply is a refusal",
} as const;

/** Thrown where no connection to a server is made; classified as `outage`. */
export class UnreachableServer extends Error {
  override readonly name = "UnreachableServer";

  constructor(
    message: string,
    /** What to do about it. */
    readonly advice: string,
    /** Whether it has answered before: then it may be on its way back. */
    readonly hasAnswered: boolean,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Thrown for a request that took longer than it was allowed to; classified as `outage`. */
export class OutOfTime extends Error {
  override readonly name = "TimeoutError";
}

/** Thrown for an answer with a status of 300 and above; classified by the status and by what it says. */
export class RefusedRequest extends Error {
  override readonly name = "RefusedRequest";
  readonly status: number;
  /** Of the answer, such as say when to come back. */
  readonly headers: Readonly<Record<string, unknown>>;

  constructor(message: string, status: number, headers: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Reads any error that a LangChain chat model throws. Providers differ: status, code, name and message are all looked at. */
export function classifyFailure(thrown: unknown): Failure {
  const chain = causes(thrown);
  const status = first(chain, statusOf);
  const text = chain.map(wordsOf).join("\n");
  const retryAfterMs = first(chain, retryAfterOf);
  const lacksTools = isToolsUnsupportedError(text) && (status === null || status >= 400);
  const unreachable = chain.find((error) => error instanceof UnreachableServer) ?? null;
  const made = (reason: FailureReason, transient: boolean): Failure => ({
    reason,
    status,
    retryAfterMs,
    transient,
    lacksTools,
    unreachable,
    thrown,
  });

  const reply = chain.find((error) => error instanceof WithheldReply);
  if (reply !== undefined) return made(reply.reason, false);
  if (chain.some((error) => error instanceof SilentModel)) return made("timeout", true);
  if (unreachable !== null) return made("outage", unreachable.hasAnswered);
  // Before the status: llama.cpp says so with 500.
  if (lacksTools) return made("bad_request", false);
  if (isOverflow(chain, status, text)) return made("context_overflow", false);
  if (status === 402 || (quotaText.test(text) && !shortQuotaText.test(text))) {
    return made("quota", false);
  }
  if (isFiltered(status, text)) return made("content_filter", false);
  if (status === 429 || (status === null && /rate_limit_exceeded|rate_limit_error/.test(text))) {
    return made("rate_limit", true);
  }
  if ((status === 400 || status === 403) && goneText.test(text)) {
    return made("model_not_found", false);
  }
  if (status === 401 || status === 403 || /\bAPI_KEY_INVALID\b/.test(text)) {
    return made("auth", false);
  }
  if (unreadableCallText.test(text)) return made("bad_reply", true);
  if (status === 404 || status === 410) return made("model_not_found", false);
  if (status === 408 || status === 409 || (status !== null && status >= 500)) {
    return made("outage", true);
  }
  if (status !== null && status >= 400) return made("bad_request", false);
  if (chain.some((error) => error instanceof BrokenStream)) return made("outage", true);
  if (overloadedText.test(text)) return made("outage", true);
  if (chain.some(isNetworkError)) return made("outage", true);
  if (chain.some(isGarbage)) return made("bad_reply", false);
  return made("outage", false);
}

function causes(thrown: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let error = thrown; error !== undefined && error !== null && chain.length < 8;) {
    chain.push(error);
    error = typeof error === "object" ? (error as { cause?: unknown }).cause : undefined;
  }
  return chain;
}

function first<T>(chain: readonly unknown[], read: (error: unknown) => T | null): T | null {
  for (const error of chain) {
    const found = read(error);
    if (found !== null) return found;
  }
  return null;
}

/** Ollama's client says `status_code`, most say `status`, some keep the whole response, AWS's says it of the answer. */
function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { status, statusCode, status_code, response, $metadata } = error as Record<string, unknown>;
  const nested =
    typeof response === "object" && response !== null
      ? (response as { status?: unknown }).status
      : undefined;
  const answer = $metadata as { readonly httpStatusCode?: number } | undefined;
  // It is 200 where the answer could not be read.
  const answered = (answer?.httpStatusCode ?? 0) >= 400 ? answer?.httpStatusCode : undefined;
  for (const value of [status, statusCode, status_code, nested, answered]) {
    if (typeof value === "number" && value >= 100 && value < 600) return value;
  }
  return null;
}

/** AWS's errors say what they are in their names. */
function wordsOf(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  return `${codeOf(error) ?? ""} ${name} ${errorMessage(error)}`;
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null) return null;
  const { code, error: body } = error as { code?: unknown; error?: unknown };
  if (typeof code === "string") return code;
  const inner =
    typeof body === "object" && body !== null ? (body as { code?: unknown }).code : null;
  return typeof inner === "string" ? inner : null;
}

function retryAfterOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const headers = (error as { headers?: unknown }).headers;
  const seconds = header(headers, "retry-after");
  const exact = header(headers, "retry-after-ms");
  if (headers === undefined) return retryInfoMs(error);
  if (exact !== null && Number.isFinite(Number(exact))) return Math.max(0, Number(exact));
  if (seconds === null || !Number.isFinite(Number(seconds))) return null;
  return Math.max(0, Number(seconds) * 1000);
}

/** Google says it in the body: `"retryDelay": "20s"` of a detail. */
function retryInfoMs(error: object): number | null {
  const { errorDetails: details } = error as { readonly errorDetails?: unknown };
  if (!Array.isArray(details)) return null;
  for (const detail of details as readonly { readonly retryDelay?: unknown }[]) {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(String(detail?.retryDelay)) ?? [];
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return null;
}

function header(headers: unknown, name: string): string | null {
  if (typeof headers !== "object" || headers === null) return null;
  if (headers instanceof Headers) return headers.get(name);
  const value = (headers as Record<string, unknown>)[name];
  return typeof value === "string" ? value : null;
}

/** Anthropic's status is 400, AWS's 400, that of the others 429. */
const quotaText =
  /insufficient[_ ](quota|balance|credit|funds)|exceeded your current quota|credit balance is too low|billing[_ ](hard_limit|not_active)|spending limit|ServiceQuotaExceeded/i;
/** Google's quotas of a minute are worded like those of a day. */
const shortQuotaText = /PerMinute(?!.*PerDay)/;
/** Groq refuses a call that its model wrote and that it cannot read. */
const unreadableCallText = /\btool_use_failed\b/;
/** In the middle of a stream, whose status is 200. */
const overloadedText = /\boverloaded_error\b|ModelStreamErrorException|\bapi_error\b/i;

const overflowText =
  /context_length_exceeded|exceed_context_size|maximum context length|context window|context size|context length|prompt is too long|input token count|input is too long|too many (input )?tokens/i;

function isOverflow(chain: readonly unknown[], status: number | null, text: string): boolean {
  if (status === 413) return true;
  if (chain.some((error) => error instanceof Error && error.name === "ContextOverflowError")) {
    return true;
  }
  return (status === null || status === 400 || status === 422) && overflowText.test(text);
}

/** How providers refuse a request for what it says: OpenAI and Azure, Gemini, Bedrock. */
const filterText =
  /content_filter\b|content management policy|responsibleaipolicyviolation|content_policy_violation|prompt was blocked|output blocked by content filtering|blocked due to (safety|prohibited)|guardrail_intervened/i;

function isFiltered(status: number | null, text: string): boolean {
  return (status === null || status === 400 || status === 403) && filterText.test(text);
}

/** How providers say that a model is not there any more, or never was, with the status of a bad request. */
const goneText =
  /model_not_found|model_decommissioned|\bmodel[`'" :\w./-]{0,100}(does not exist|not found|has been (decommissioned|deprecated|retired|shut down)|is (deprecated|retired))|model identifier is invalid|invalid model( name| id|:)/i;

const networkCodes =
  /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EHOST|ENETUN|EPROTO|UND_ERR|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
const networkText =
  /connection error|fetch failed|^terminated$|socket hang up|other side closed|premature close|network error|timed? ?out|did not receive done|error reading from the stream/i;

function isNetworkError(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null && networkCodes.test(code)) return true;
  if (!(error instanceof Error)) return false;
  return error.name === "TimeoutError" || networkText.test(error.message);
}

function isGarbage(error: unknown): boolean {
  if (error instanceof BadReply || error instanceof SyntaxError) return true;
  // What LangChain runs into when a reply without choices is read.
  if (error instanceof TypeError) return true;
  return error instanceof Error && /received empty response|not valid json/i.test(error.message);
}

/** How servers say that a model takes no tools at all; that it cannot be made to call one is something else. */
const refusals = [
  // Ollama, also at its OpenAI-compatible address: `registry.ollama.ai/library/llama3:latest does not support tools`.
  /does not support (tools|function calling)\b/i,
  // vLLM started without a parser for calls: `"auto" tool choice requires --enable-auto-tool-choice and …`.
  /requires --enable-auto-tool-choice/i,
  // llama.cpp started without templates, and before it had them.
  /tools param requires --jinja/i,
  /unsupported param: tools\b/i,
  // Routers and hosted models.
  /no endpoints found that support tool use/i,
  /`?tool calling`? is not supported with this model/i,
  /function calling is not enabled for (this model|models\/)/i,
];

/** Whether what a server said of a request means that its model, as it is served, takes no tools. */
export function isToolsUnsupportedError(text: string): boolean {
  return refusals.some((refusal) => refusal.test(text));
}
