import { request as requestPlain, type IncomingMessage } from "node:http";
import { request as requestSecure } from "node:https";
import type { ChatOllama } from "@langchain/ollama";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { OutOfTime, RefusedRequest, UnreachableServer } from "../failure.ts";
import { withoutValues } from "../redact.ts";
import { replyChunks, type ReplyChunk } from "./ollama-chunks.ts";

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
 * it is used again, and a server knows at once that nobody reads on. There is no limit of time but `timeoutMs` (`fetch`
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
   * The reply in the pieces in which it comes; the request ends with the signal, and with whoever stops reading.
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
      const response = await this.#post({ ...request, stream: true }, ending.signal);
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
        // An error while nobody reads is thrown to the one who reads next.
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
