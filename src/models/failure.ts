import { errorMessage } from "../errors.ts";

/** Why a model did not answer. */
export type FailureReason =
  /** Too many requests for now. */
  | "rate_limit"
  /** The account's credit or quota is used up. */
  | "quota"
  /** Network error, 5xx, broken stream, or a model that threw something unknown. */
  | "outage"
  /** The request is longer than the model's window. */
  | "context_overflow"
  /** 401 or 403. */
  | "auth"
  /** Any other 4xx, or tools for a model that takes none: the request itself is wrong. */
  | "bad_request"
  /** It answered something that is no chat reply. */
  | "bad_reply";

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

/** Reasons for which another model may do better. */
export const fallbackReasons: ReadonlySet<FailureReason> = new Set([
  "rate_limit",
  "quota",
  "outage",
  "context_overflow",
  "bad_reply",
] as const);

/** Thrown for a reply that is none; classified as `bad_reply`. */
export class BadReply extends Error {
  override readonly name = "BadReply";
}

/** Thrown for an answer that stopped in the middle, or never began; classified as `outage`. */
export class BrokenStream extends Error {
  override readonly name = "BrokenStream";
}

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
  const text = chain.map((error) => `${codeOf(error) ?? ""} ${errorMessage(error)}`).join("\n");
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

  if (unreachable !== null) return made("outage", unreachable.hasAnswered);
  // Before the status: llama.cpp says so with 500.
  if (lacksTools) return made("bad_request", false);
  if (isOverflow(chain, status, text)) return made("context_overflow", false);
  if (status === 402 || /insufficient[_ ]quota|exceeded your current quota/i.test(text)) {
    return made("quota", false);
  }
  if (status === 429 || (status === null && /rate_limit_exceeded|rate_limit_error/.test(text))) {
    return made("rate_limit", true);
  }
  if (status === 401 || status === 403) return made("auth", false);
  if (status === 408 || status === 409 || (status !== null && status >= 500)) {
    return made("outage", true);
  }
  if (status !== null && status >= 400) return made("bad_request", false);
  if (chain.some((error) => error instanceof BrokenStream)) return made("outage", true);
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

/** Ollama's client says `status_code`, most say `status`, some keep the whole response. */
function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { status, statusCode, status_code, response } = error as Record<string, unknown>;
  const nested =
    typeof response === "object" && response !== null
      ? (response as { status?: unknown }).status
      : undefined;
  for (const value of [status, statusCode, status_code, nested]) {
    if (typeof value === "number" && value >= 100 && value < 600) return value;
  }
  return null;
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
  if (exact !== null && Number.isFinite(Number(exact))) return Math.max(0, Number(exact));
  if (seconds === null || !Number.isFinite(Number(seconds))) return null;
  return Math.max(0, Number(seconds) * 1000);
}

function header(headers: unknown, name: string): string | null {
  if (typeof headers !== "object" || headers === null) return null;
  if (headers instanceof Headers) return headers.get(name);
  const value = (headers as Record<string, unknown>)[name];
  return typeof value === "string" ? value : null;
}

const overflowText =
  /context_length_exceeded|exceed_context_size|maximum context length|context window|context size|context length|prompt is too long|input token count|input is too long|too many (input )?tokens/i;

function isOverflow(chain: readonly unknown[], status: number | null, text: string): boolean {
  if (status === 413) return true;
  if (chain.some((error) => error instanceof Error && error.name === "ContextOverflowError")) {
    return true;
  }
  return (status === null || status === 400 || status === 422) && overflowText.test(text);
}

const networkCodes =
  /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EHOST|ENETUN|EPROTO|UND_ERR|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
const networkText =
  /connection error|fetch failed|^terminated$|socket hang up|other side closed|premature close|network error|timed? ?out|did not receive done/i;

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
