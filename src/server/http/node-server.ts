import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { ListenError, UnprotectedServerError } from "../errors.ts";
import { problemDocument, problemMediaType, type ProblemType, problemTypes } from "../problems.ts";
import { isLoopback } from "./client-address.ts";

/** Limits of connections and of what comes before a route is found. */
export interface ConnectionLimits {
  /** Milliseconds for the headers of a request. Default 10,000. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds for a whole request with its body. Default 30,000. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds between two checks of these. Default 1,000. */
  readonly checkIntervalMs?: number;
  /** Milliseconds that an idle connection stays open. Default 5,000. */
  readonly keepAliveTimeoutMs?: number;
  /** Milliseconds in which a client takes nothing of what waits for it. Default 30,000. */
  readonly readTimeoutMs?: number;
  /** Requests of one connection. Default 1,000. */
  readonly maxRequestsPerConnection?: number;
  /** Connections of the server. Further ones are closed at once. Default 1,000. */
  readonly maxConnections?: number;
  /** Bytes of the request line and all headers. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
}

export interface ListenOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** 0 for a free one. Default 8123. */
  readonly port?: number;
}

export interface NodeServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** Stops accepting, waits for requests under way up to `graceMs`, and closes what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens on an address.
 *
 * @param isOpen whether no keys are needed, which loopback alone allows
 * @throws UnprotectedServerError, ListenError
 */
export async function listenOn(
  fetch: (request: Request, env: object) => Promise<Response> | Response,
  { host = "127.0.0.1", port = 8123 }: ListenOptions,
  { limits, isOpen }: { readonly limits: ConnectionLimits; readonly isOpen: boolean },
): Promise<NodeServer> {
  if (isOpen && !isLoopback(host)) throw new UnprotectedServerError(host);
  const listener = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    errorHandler: answerUnreadable,
  });
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    void listener(incoming, outgoing);
  };
  const server = createServer(
    {
      ServerResponse: timedResponse(limits.readTimeoutMs ?? 30_000),
      headersTimeout: limits.headersTimeoutMs ?? 10_000,
      requestTimeout: limits.requestTimeoutMs ?? 30_000,
      connectionsCheckingInterval: limits.checkIntervalMs ?? 1000,
      keepAliveTimeout: limits.keepAliveTimeoutMs ?? 5000,
      maxHeaderSize: limits.maxHeaderBytes ?? 16_384,
      // Node would answer without a document; the listener refuses a request without a host as well.
      requireHostHeader: false,
    },
    answer,
  );
  // Node would answer without a document. An expectation may be ignored.
  server.on("checkExpectation", answer);
  server.maxRequestsPerSocket = limits.maxRequestsPerConnection ?? 1000;
  server.maxConnections = limits.maxConnections ?? 1000;
  // Node drops headers beyond its limit without a word; ours is checked by the app.
  server.maxHeadersCount = 0;
  server.on("clientError", answerClientError);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(new ListenError(host, port, { cause })));
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  if (isOpen && !isLoopback(address.address)) {
    // A hosts file may say anything of localhost.
    await closeServer(server, sockets, 0);
    throw new UnprotectedServerError(host);
  }
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    host: address.address,
    port: address.port,
    url: `http://${name}:${address.port}`,
    close: (graceMs) => closeServer(server, sockets, graceMs),
  };
}

type WriteCallback = (error: Error | null | undefined) => void;

/**
 * Answers whose connection ends when the client takes nothing for so long, of a complete answer and of a stream. A stream
 * that has nothing to send may last.
 */
function timedResponse(ms: number) {
  return class TimedResponse extends ServerResponse {
    override write(
      chunk: unknown,
      encoding?: BufferEncoding | WriteCallback,
      callback?: WriteCallback,
    ): boolean {
      const isTaken = super.write(chunk, encoding as BufferEncoding, callback);
      if (!isTaken) this.socket?.setTimeout(ms);
      return isTaken;
    }

    override emit(name: string | symbol, ...values: unknown[]): boolean {
      if (name === "prefinish") this.socket?.setTimeout(ms);
      // Before Node's own listener of `finish`, which sets the time of an idle connection. The next answer may take longer.
      else if (name === "drain" || name === "finish") this.socket?.setTimeout(0);
      return super.emit(name, ...values);
    }
  };
}

async function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Node takes a connection for idle only after its first request. Browsers and proxies open some in advance.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  try {
    await closed;
  } finally {
    clearTimeout(timer);
  }
}

/** Answers a request whose host or target makes no URL, which the app does not see. */
function answerUnreadable(thrown: unknown): Response {
  const type = thrown instanceof RequestError ? "invalid_request" : "internal";
  return new Response(JSON.stringify(problemDocument({ type, facts: {} }, "none")), {
    status: problemTypes[type].status,
    headers: { "Content-Type": problemMediaType, ...refusalHeaders },
  });
}

const refusalHeaders = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  Connection: "close",
} as const;

/** Answers what is no HTTP request with a problem document, and closes the connection. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const type = clientProblem(error.code);
  const { status, title } = problemTypes[type];
  const body = JSON.stringify(problemDocument({ type, facts: {} }, "none"));
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(refusalHeaders).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function clientProblem(code: string | undefined): ProblemType {
  if (code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  return "invalid_request";
}
