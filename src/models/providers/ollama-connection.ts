import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { ChatOllama, type ChatOllamaCallOptions, type ChatOllamaInput } from "@langchain/ollama";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import {
  BadReply,
  BrokenStream,
  OutOfTime,
  RefusedRequest,
  UnreachableServer,
} from "../failure.ts";
import { withoutValues } from "../redact.ts";

export type ChatRequest = Parameters<ChatOllama["client"]["chat"]>[0];

export interface OllamaConnectionOptions {
  /** Of the server, without credentials and without a slash at its end. */
  readonly url: string;
  /** Sent with every request; what is thrown holds none of their values. */
  readonly headers: Readonly<Record<string, string>>;
  /** Further texts that nothing that is thrown may hold. */
  readonly secrets?: readonly string[];
  /** Milliseconds of one request, its stream included. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Further fields of requests; those that Ollama does not know as such are options of the model. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
}

/** Longest delay of a timer; more than that would be over at once. */
const longestTimerMs = 2 ** 31 - 1;
/** Milliseconds without a word after which the system asks whether the server is still there. */
const probeAfterMs = 60_000;
/** Milliseconds for a connection to be made; the system itself waits for minutes. */
const connectMs = 10_000;
/** Addresses of servers that have answered in this process. */
const answered = new Set<string>();
/** Of what is kept of a refusal, whatever a server in between writes. */
const longestRefusal = 4_096;

/**
 * Chats with one Ollama server. Every request has a socket of its own, which is closed with it: none is dead by the time
 * it is reused, and a server notices at once that the reader is gone. The only time limit is `timeoutMs` (`fetch`
 * would end after five minutes without a word, which a large model needs to be loaded and to read a long prompt).
 */
export class OllamaConnection {
  readonly #options: OllamaConnectionOptions;
  readonly #redact: (text: string) => string;

  constructor(options: OllamaConnectionOptions) {
    this.#options = options;
    const { headers, secrets = [] } = options;
    this.#redact = withoutValues([...Object.values(headers), ...secrets]);
  }

  /**
   * The reply in its chunks; the request ends with the signal, and when the caller stops reading.
   * @throws the signal's reason, OutOfTime, UnreachableServer, RefusedRequest, BrokenStream, BadReply, or Node's error of the network
   */
  async *chat(request: ChatRequest, signal?: AbortSignal): AsyncGenerator<ReplyChunk> {
    signal?.throwIfAborted();
    const { timeoutMs, clock } = this.#options;
    const ending = new AbortController();
    const onAbort = (): void => ending.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const forget =
      timeoutMs === undefined
        ? () => undefined
        : clock.after(Math.min(timeoutMs, longestTimerMs), () =>
            ending.abort(new OutOfTime(overdue(timeoutMs))),
          );
    try {
      const response = await this.#post(this.#bodyOf(request), ending.signal);
      const status = response.statusCode ?? 0;
      if (status < 200 || status >= 300) throw await refusal(response, status);
      yield* replyChunks(response as AsyncIterable<Uint8Array>);
    } catch (thrown) {
      throw ending.signal.aborted ? ending.signal.reason : this.#harmless(thrown);
    } finally {
      forget();
      signal?.removeEventListener("abort", onAbort);
      ending.abort();
    }
  }

  #bodyOf(request: ChatRequest): object {
    const { think, keep_alive, ...options } = this.#options.extra ?? {};
    const hasOptions = Object.keys(options).length > 0;
    return {
      ...request,
      ...(think !== undefined && { think }),
      ...(keep_alive !== undefined && { keep_alive }),
      ...(hasOptions && { options: { ...request.options, ...options } }),
      stream: true,
    };
  }

  #post(body: object, signal: AbortSignal): Promise<IncomingMessage> {
    const url = new URL(`${this.#options.url}/api/chat`);
    const send = url.protocol === "https:" ? requestSecure : requestPlain;
    const headers = {
      "content-type": "application/json",
      accept: "application/x-ndjson, application/json",
      "user-agent": "stratagraph",
      ...lowerCased(this.#options.headers),
    };
    return new Promise((resolve, reject) => {
      const sent = send(url, { method: "POST", headers, agent: false, signal });
      let isConnected = false;
      sent.on("socket", (socket) => {
        socket.setKeepAlive(true, probeAfterMs);
        socket.setTimeout(connectMs, () => {
          sent.destroy(new Error(`no connection within ${connectMs / 1000} s`));
        });
        socket.once("connect", () => {
          isConnected = true;
          socket.setTimeout(0);
        });
      });
      sent.on("error", (thrown) => {
        reject(isConnected || signal.aborted ? worded(thrown) : this.#unreachable(worded(thrown)));
      });
      sent.on("response", (response) => {
        answered.add(this.#options.url);
        // An error between two reads is thrown at the next read.
        response.on("error", () => undefined);
        resolve(response);
      });
      sent.end(JSON.stringify(body));
    });
  }

  #unreachable(cause: Error): UnreachableServer {
    const { url } = this.#options;
    return new UnreachableServer(
      this.#redact(`no Ollama server answers at ${url} (${cause.message})`),
      "Start it with `ollama serve`, or set OLLAMA_HOST or ollama_client_config.host to where it is.",
      answered.has(url),
    );
  }

  /** What was thrown, unless it says a secret: then the same without it. */
  #harmless(thrown: unknown): unknown {
    const said = errorMessage(thrown);
    const safe = this.#redact(said);
    if (!(thrown instanceof Error) || safe === said) return thrown;
    if (thrown instanceof RefusedRequest) {
      return new RefusedRequest(safe, thrown.status, thrown.headers);
    }
    const Same = thrown.constructor as new (message: string) => Error;
    const { code } = thrown as { code?: unknown };
    return Object.assign(new Same(safe), code !== undefined && { code });
  }
}

/** A host with several addresses, as localhost has, fails at each of them, with an error that says nothing itself. */
function worded(thrown: Error & { readonly code?: string }): Error {
  const { code } = thrown;
  if (!(thrown instanceof AggregateError)) return thrown;
  const message = thrown.errors.map(errorMessage).join("; ");
  return Object.assign(new Error(message), { code });
}

function overdue(timeoutMs: number): string {
  return `The reply was not whole after the ${timeoutMs.toLocaleString("en")} ms of ollama_client_config.timeout_ms`;
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Ollama says `{"error": "…"}`; a server in between may say anything. */
async function refusal(response: IncomingMessage, status: number): Promise<RefusedRequest> {
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) {
    body += String(chunk);
    if (body.length >= longestRefusal) break;
  }
  const text = saidError(body) ?? body.trim().slice(0, longestRefusal);
  const message = text === "" ? `${status} ${response.statusMessage ?? ""}`.trim() : text;
  const { "retry-after": seconds, "retry-after-ms": exact } = response.headers;
  return new RefusedRequest(message, status, { "retry-after": seconds, "retry-after-ms": exact });
}

function saidError(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === "string" && error !== "" ? error : null;
  } catch {
    return null;
  }
}

/** One line of a reply. */
type ReplyChunk = Awaited<ReturnType<ChatOllama["client"]["chat"]>>;

/**
 * The lines of JSON of `/api/chat`, up to the one that says it is done.
 * @throws BrokenStream when it ends before, when the server says an error in the middle (its status is 200 by then), or
 * when it has loaded or unloaded the model instead of replying; BadReply when it is something else
 */
export async function* replyChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ReplyChunk> {
  let saysAnything = false;
  for await (const line of jsonLines(bytes)) {
    const chunk = asChunk(line);
    const { content, thinking, tool_calls } = chunk.message;
    saysAnything ||= Boolean(content || thinking) || (tool_calls?.length ?? 0) > 0;
    if (chunk.done && !saysAnything && /^(un)?load$/.test(chunk.done_reason ?? "")) {
      throw new BrokenStream(
        `The server ${chunk.done_reason}ed the model and replied nothing (done_reason "${chunk.done_reason}")`,
      );
    }
    yield chunk;
    if (chunk.done) return;
  }
  throw new BrokenStream("The stream ended before the reply was done");
}

function asChunk(line: unknown): ReplyChunk {
  if (typeof line !== "object" || line === null) throw notOllama(JSON.stringify(line));
  const { error, message, done } = line as {
    error?: unknown;
    message?: { content?: unknown } | null;
    done?: unknown;
  };
  if (typeof error === "string") throw new BrokenStream(error);
  if (typeof message === "object" && message !== null) return line as ReplyChunk;
  // A server in between may leave out the empty message at the end.
  if (done === true) {
    return { ...line, message: { role: "assistant", content: "" } } as ReplyChunk;
  }
  throw notOllama(JSON.stringify(line));
}

async function* jsonLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder();
  // Only what is new is searched for line breaks: a line may come in very many parts.
  let open: string[] = [];
  let isBegun = false;
  for await (const part of bytes) {
    const [first = "", ...others] = decoder.decode(part, { stream: true }).split("\n");
    open.push(first);
    for (const next of others) {
      const line = open.join("");
      open = [next];
      if (line.trim() === "") continue;
      yield parsed(line);
      isBegun = true;
    }
  }
  const rest = open.join("");
  if (rest.trim() === "") return;
  try {
    yield JSON.parse(rest);
  } catch {
    if (!isBegun) throw notOllama(rest);
    throw new BrokenStream("The stream ended in the middle of a line");
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw notOllama(line);
  }
}

const shownOfLine = 80;

function notOllama(line: string): BadReply {
  const shown = line.length > shownOfLine ? `${line.slice(0, shownOfLine)}…` : line;
  return new BadReply(
    `Expected lines of JSON with a message, as Ollama's /api/chat sends them; got: ${shown}`,
  );
}

/**
 * Ollama models that stop working when the call is aborted, or no longer read. ChatOllama looks at its signal between
 * words only, so that a model that is still loading or reading a long prompt would keep running without a reader.
 */
export class AbortableOllama extends ChatOllama {
  // Not a field: LangChain shows fields in traces.
  readonly #connection: OllamaConnection;

  constructor(fields: ChatOllamaInput, connection: OllamaConnection) {
    super(fields);
    this.#connection = connection;
  }

  /**
   * Ollama can make no model call a tool, but write JSON of a schema, also one that takes no tools: a function that has
   * to be called becomes the form of the text.
   */
  override bindTools(tools: BindToolsInput[], options: Partial<ChatOllamaCallOptions> = {}) {
    const [tool, ...others] = tools;
    const isForced = options.tool_choice === "any" && tool !== undefined && others.length === 0;
    if (!isForced) return super.bindTools(tools, options);
    const { tool_choice: _forced, ...rest } = options;
    const { parameters } = convertToOpenAITool(tool).function;
    return this.withConfig({ ...rest, format: parameters });
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const chunks = super._streamResponseChunks.call(
      this.#for(options.signal),
      messages,
      options,
      runManager,
    );
    let calls = 0;
    for await (const chunk of chunks) {
      // ChatOllama says 0 of each: what merges by it alone would make one call of several, or of a text, which has 0 there.
      if (AIMessageChunk.isInstance(chunk.message)) {
        for (const call of chunk.message.tool_call_chunks ?? []) call.index = ++calls;
      }
      yield chunk;
    }
  }

  /** This model with a client of its own, whose requests end with the signal. */
  #for(signal: AbortSignal | undefined): this {
    const client = {
      chat: async (request: ChatRequest) => this.#connection.chat(request, signal),
      // Asked for when the signal has aborted, and the request with it.
      abort: () => undefined,
    };
    return Object.assign(Object.create(this) as this, { client });
  }
}
