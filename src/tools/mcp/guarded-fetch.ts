import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { ServerSpec } from "../../definition/schema/servers.ts";
import type { Secrets } from "../secrets.ts";

export type RemoteSpec = Extract<ServerSpec, { transport: "http" | "sse" }>;

/** An answer was larger than one message may be. */
export class TooLargeError extends Error {}

/** A header's value holds what HTTP forbids. The value itself is not named: it may be a secret. */
export class BadHeaderError extends Error {}

export interface GuardedFetchOptions {
  readonly spec: RemoteSpec;
  readonly secrets: Secrets;
  /** The address with its secrets, as it was when the connection was made. */
  readonly url: URL;
  /** An answer's body has ended; `error` is why, where it broke off. `hasEventId`: it can be resumed. */
  onEnd(end: StreamEnd): void;
}

export interface StreamEnd {
  readonly method: string;
  /** What was sent, where it was text. */
  readonly sent: string | null;
  readonly isStream: boolean;
  readonly hasEventId: boolean;
  readonly error: Error | undefined;
}

/**
 * A `fetch` that fills in the address and the headers with the secrets of the moment, for every single request, and that
 * bounds what one message of an answer may hold. LangChain's adapter keeps the headers of the first request, and the
 * SDK has no bound.
 */
export function guardedFetch(options: GuardedFetchOptions): FetchLike {
  const { spec, secrets, url } = options;
  return async (input, init = {}) => {
    const isEndpoint = String(input) === url.href;
    const target = isEndpoint ? await secrets.resolve(spec.endpoint) : input;
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(spec.headers)) {
      const filled = await secrets.resolve(value);
      try {
        headers.set(name, filled);
      } catch {
        throw new BadHeaderError(`its header ${name} has a name or value that HTTP does not allow`);
      }
    }
    const response = await fetch(target, { ...init, headers });
    if (response.body === null) return response;
    const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    const sent = typeof init.body === "string" ? init.body : null;
    const method = init.method ?? "GET";
    const body = bounded(response.body, isStream, (end) =>
      options.onEnd({ ...end, method, sent, isStream }),
    );
    const guarded = new Response(body, response);
    // The SDK follows redirects itself, from the address of the answer.
    Object.defineProperty(guarded, "url", { value: response.url });
    return guarded;
  };
}

type BodyEnd = Pick<StreamEnd, "hasEventId" | "error">;

function bounded(
  body: ReadableStream<Uint8Array>,
  isStream: boolean,
  onEnd: (end: BodyEnd) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const size = isStream ? new EventSize() : new BodySize();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            onEnd({ hasEventId: size.hasEventId, error: undefined });
            return;
          }
          if (size.add(value) > maxMessageBytes) {
            const mebibytes = maxMessageBytes / 1024 / 1024;
            throw new TooLargeError(`its answer has more than ${mebibytes} MiB`);
          }
          controller.enqueue(value);
        } catch (thrown) {
          const error = thrown instanceof Error ? thrown : new Error(String(thrown));
          controller.error(error);
          onEnd({ hasEventId: size.hasEventId, error });
          await reader.cancel().catch(() => {});
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read before it is asked for, so that the end is seen after all of it was taken.
    { highWaterMark: 0 },
  );
}

/** Bytes of a whole body. */
class BodySize {
  readonly hasEventId = false;
  #bytes = 0;

  add(chunk: Uint8Array): number {
    this.#bytes += chunk.length;
    return this.#bytes;
  }
}

/** Bytes of the event that a stream is in: events end with an empty line. */
class EventSize {
  hasEventId = false;
  #bytes = 0;
  /** Whether nothing of the line has come yet. */
  #isLineStart = true;

  add(chunk: Uint8Array): number {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.hasEventId ||= /(?:^|[\r\n])id:/.test(text.toString("latin1"));
    let from = 0;
    for (let at = text.indexOf(0x0a); at !== -1; at = text.indexOf(0x0a, from)) {
      const length = at - from - (text[at - 1] === 0x0d ? 1 : 0);
      const isEmpty = length <= 0 && this.#isLineStart;
      this.#bytes = isEmpty ? 0 : this.#bytes + (at - from) + 1;
      this.#isLineStart = true;
      from = at + 1;
    }
    const rest = text.length - from;
    this.#bytes += rest;
    if (rest > 0 && !(rest === 1 && text[from] === 0x0d)) this.#isLineStart = false;
    return this.#bytes;
  }
}

/** The most bytes one message of a server may have. */
export const maxMessageBytes = 64 * 1024 * 1024;

/**
 * Codes of errors that a transport puts in the place of an answer, since the SDK's client would wait for that answer for
 * ever. They lie outside of what JSON-RPC keeps for itself.
 */
export const invalidResponseCodes = {
  /** The connection ended before the answer came. */
  lost: -31_001,
  /** The answer cannot be read. */
  unreadable: -31_002,
} as const;

export function invalidResponse(
  id: RequestId,
  kind: keyof typeof invalidResponseCodes,
  message: string,
): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: invalidResponseCodes[kind], message } };
}

/**
 * Which request a line that cannot be read was meant to answer: by the id at its start or end, where servers write it,
 * or else the only request under way. Undefined for lines that are no messages, such as logs.
 */
export function answeredRequest(
  { head, tail }: { readonly head: string; readonly tail: string },
  pending: ReadonlySet<RequestId>,
): RequestId | undefined {
  if (!/"jsonrpc"/.test(head) && !/"jsonrpc"/.test(tail)) return undefined;
  const id = /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*"?(\d+)/.exec(head)?.[1];
  const lastId = /"id"\s*:\s*"?(\d+)"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}?\s*$/.exec(tail)?.[1];
  const found = [id, lastId].map(Number).find((one) => pending.has(one));
  if (found !== undefined) return found;
  const [only, ...others] = pending;
  return others.length === 0 ? only : undefined;
}
