import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { PassThrough, pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { errorMessage, StratagraphError } from "../../../errors.ts";
import { ToolFailure } from "../../tool-result.ts";
import { type HostAddress, HttpUnreachableError } from "./addresses.ts";

export interface Exchange {
  /** Default GET. */
  readonly method?: string;
  readonly body?: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Where to connect, whatever the URL's name leads to by now. */
  readonly addresses: readonly HostAddress[];
  readonly signal: AbortSignal;
  /** Bytes of the decompressed body that are read. */
  readonly maxBytes: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Decompressed; empty for a redirect. */
  readonly body: Buffer;
  /** Whether there was more than `maxBytes`. */
  readonly truncated: boolean;
}

/**
 * Makes one request, whose redirect is not followed.
 * @throws HttpUnreachableError; ToolFailure for a body that cannot be decompressed; the signal's reason
 */
export async function exchange(url: URL, options: Exchange): Promise<Answer> {
  const { signal } = options;
  signal.throwIfAborted();
  const request = send(url, options);
  try {
    const answer = await answered(request, options.body);
    const { statusCode: status = 0, headers } = answer;
    if (isRedirect({ status, headers })) {
      return { status, headers, body: Buffer.alloc(0), truncated: false };
    }
    const body = decodedBody(answer, headers["content-encoding"]);
    return { status, headers, ...(await firstBytes(body, options.maxBytes)) };
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof StratagraphError) throw thrown;
    throw new HttpUnreachableError(url.host, errorMessage(innermost(thrown)), {
      cause: innermost(thrown),
    });
  } finally {
    request.destroy();
  }
}

export function isRedirect({ status, headers }: Pick<Answer, "status" | "headers">): boolean {
  return [301, 302, 303, 307, 308].includes(status) && headers.location !== undefined;
}

function send(
  url: URL,
  { method = "GET", headers, body, addresses, signal }: Exchange,
): ClientRequest {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  return request(url, {
    method,
    headers: {
      "accept-encoding": "gzip, deflate, br",
      "user-agent": "stratagraph",
      ...(body !== undefined && { "content-length": String(body.length) }),
      ...headers,
    },
    // A connection of its own: one that is kept may have been made for a host by another rule.
    agent: false,
    lookup: pinned(addresses),
    signal,
  });
}

function pinned(addresses: readonly HostAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (all === true || first === undefined) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

function answered(request: ClientRequest, body?: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Stays for what goes wrong later, when the connection is cut on purpose.
    request.on("error", reject);
    request.once("response", resolve);
    request.end(body);
  });
}

async function firstBytes(
  body: Readable,
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly truncated: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > maxBytes) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: length > maxBytes };
}

/** A host with several addresses fails with one error that holds one for each. */
function innermost(thrown: unknown): unknown {
  return thrown instanceof AggregateError ? (thrown.errors[0] ?? thrown) : thrown;
}

/**
 * A body as it was before it was compressed. It is decompressed piece by piece as it is read, so that a reader who
 * stops early is not filled by a small body that stands for a large one.
 * @throws ToolFailure for a compression that is not known; as the stream's error for a body that is damaged
 */
function decodedBody(body: Readable, encoding = "identity"): Readable {
  const names = encoding
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity");
  const [name] = names;
  if (name === undefined) return body;
  const create = decoders[name];
  if (create === undefined || names.length > 1) {
    throw new ToolFailure(
      `The body is compressed with "${encoding.slice(0, 100)}", which is not read.`,
    );
  }
  const output = new PassThrough();
  const endEmpty = () => output.end();
  body.once("end", endEmpty);
  body.once("error", (thrown: Error) => output.destroy(thrown));
  body.once("readable", () => {
    const first = body.read() as Buffer | null;
    if (first === null) return;
    body.off("end", endEmpty);
    body.unshift(first);
    const decoder = create(first);
    decoder.once("error", (cause: NodeJS.ErrnoException) => {
      const isOurs = /^(?:Z_|ERR__)/.test(cause.code ?? "");
      output.destroy(
        isOurs
          ? new ToolFailure(`The body is no valid ${name} (${cause.message}).`, { cause })
          : cause,
      );
    });
    pipeline(body, decoder, output, () => {});
  });
  return output;
}

const decoders: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  br: () => createBrotliDecompress(),
  // Some servers leave out the header that the name calls for (RFC 9110 8.4.1.2).
  deflate: (first) => (((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};
