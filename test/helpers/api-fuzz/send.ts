import { Agent, type IncomingHttpHeaders, request as httpRequest } from "node:http";
import type { FuzzRequest } from "./requests.ts";

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Of a stream: what came until it was left. */
  readonly text: string;
  readonly isStream: boolean;
  /** Milliseconds. */
  readonly ms: number;
}

/** Milliseconds after which an answer counts as hanging. */
const hangMs = 60_000;
/** Milliseconds and bytes that are read of a stream of events. */
const streamMs = 150;
const streamBytes = 65_536;

export interface Sender {
  /** Rejects for an answer that hangs or breaks off. */
  send(request: Pick<FuzzRequest, "method" | "path" | "headers" | "body">): Promise<FuzzAnswer>;
  close(): void;
}

/** Creates a client of a server on this machine. */
export function createSender(port: number): Sender {
  const agent = new Agent({ keepAlive: true });
  return {
    close: () => agent.destroy(),
    async send(request) {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await exchange(port, agent, request);
        } catch (thrown) {
          // The server closed an idle connection while the request was on its way.
          if (attempt < 3 && thrown instanceof ReusedConnectionError) continue;
          throw thrown;
        }
      }
    },
  };
}

class ReusedConnectionError extends Error {}

function exchange(
  port: number,
  agent: Agent,
  { method, path, headers, body }: Pick<FuzzRequest, "method" | "path" | "headers" | "body">,
): Promise<FuzzAnswer> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { "content-length": String(body.byteLength) };
    const outgoing = httpRequest(
      { host: "127.0.0.1", port, method, path, headers: { ...headers, ...length }, agent },
      (incoming) => {
        const isStream = /event-stream/.test(incoming.headers["content-type"] ?? "");
        const chunks: Buffer[] = [];
        let bytes = 0;
        let leave: NodeJS.Timeout | undefined;
        const end = (): void => {
          clearTimeout(watchdog);
          clearTimeout(leave);
          resolve({
            status: incoming.statusCode ?? 0,
            headers: headersOf(incoming.headers),
            text: Buffer.concat(chunks).toString(),
            isStream,
            ms: performance.now() - begun,
          });
        };
        const stop = (): void => {
          end();
          outgoing.destroy();
        };
        if (isStream) leave = setTimeout(stop, streamMs);
        incoming.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          bytes += chunk.byteLength;
          if (isStream && bytes > streamBytes) stop();
        });
        incoming.on("error", (error) => {
          if (!isStream) reject(error);
        });
        incoming.on("end", end);
      },
    );
    const watchdog = setTimeout(() => {
      outgoing.destroy(new Error(`no answer after ${hangMs / 1000} s`));
    }, hangMs);
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(watchdog);
      const isClosed = outgoing.reusedSocket && ["ECONNRESET", "EPIPE"].includes(error.code ?? "");
      reject(isClosed ? new ReusedConnectionError(error.message) : error);
    });
    outgoing.end(body ?? undefined);
  });
}

function headersOf(given: IncomingHttpHeaders): Headers {
  return new Headers(
    Object.entries(given).map(([name, value]): [string, string] => [name, String(value)]),
  );
}
