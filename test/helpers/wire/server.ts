import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createSecond, type Http2Session } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { anthropic } from "./anthropic.ts";
import { bedrock } from "./bedrock.ts";
import { google } from "./google.ts";
import { groq } from "./groq.ts";
import { mistral } from "./mistral.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import type { Dialect, WireEntry, WireReply, WireRequest } from "./script.ts";

export const dialects = { openai, anthropic, google, mistral, groq, bedrock, ollama } as const;
export type DialectName = keyof typeof dialects;

export interface WireServer extends AsyncDisposable {
  /** Base address of a dialect, as its provider's client takes it. */
  url(dialect: DialectName): string;
  /** Everything that came in, in order. */
  readonly requests: readonly WireRequest[];
  close(): Promise<void>;
}

/**
 * A server on loopback that speaks every dialect, each at an address of its own, and does what its script says: one
 * entry for each chat; the chat after the last one is refused with `invalid`.
 */
export async function wireServer(...script: readonly WireEntry[]): Promise<WireServer> {
  const queue = [...script];
  const requests: WireRequest[] = [];
  const listener: RequestListener = (incoming, response) => {
    void receive(incoming).then(({ dialect, request }) => {
      requests.push(request);
      const spoken: Dialect | undefined = dialects[dialect as DialectName];
      if (!spoken?.isChat(request)) return void response.writeHead(404).end("not found");
      const entry = queue.shift() ?? { refuse: "invalid" };
      // An entry that the provider has no form for.
      return respond(entry, spoken, request, response).catch((thrown: unknown) => {
        if (response.headersSent) response.destroy();
        else sendJson(response, 501, { message: String(thrown) });
      });
    });
  };
  const first = createServer(listener);
  // The methods that are used are the same.
  const second = createSecond(listener as never);
  const sessions = new Set<Http2Session>();
  second.on("session", (session) => sessions.add(session));
  const ports = { first: await listen(first), second: await listen(second) };
  const close = async () => {
    const closed = [first, second].map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    first.closeAllConnections();
    for (const session of sessions) session.destroy();
    await Promise.all(closed);
  };
  return {
    // AWS's client speaks HTTP/2, without encryption too.
    url: (dialect) =>
      `http://127.0.0.1:${dialect === "bedrock" ? ports.second : ports.first}/${dialect}`,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function receive(incoming: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { method = "", url = "/", headers } = incoming;
  const [, dialect = "", path = "/"] = /^\/([^/]+)(\/.*)$/.exec(url) ?? [];
  const body = text === "" ? {} : (JSON.parse(text) as WireRequest["body"]);
  return { dialect, request: { method, path, headers, body } };
}

async function respond(
  entry: WireEntry,
  dialect: Dialect,
  request: WireRequest,
  response: ServerResponse,
): Promise<void> {
  if ("silent" in entry) {
    const text = await entry.silent.wait(response);
    return text === null ? undefined : respond({ text }, dialect, request, response);
  }
  if ("refuse" in entry) {
    const refused = dialect.refusal(entry.refuse, entry.retryAfter);
    if (refused === null) throw new Error(`The provider never refuses with "${entry.refuse}"`);
    return sendJson(response, refused.status, refused.body, refused.headers);
  }
  if (dialect.isStreamed(request)) return stream(entry, dialect, request, response);
  const whole = dialect.whole(entry, request);
  if (entry.cut === undefined) return sendJson(response, 200, whole);
  const text = JSON.stringify(whole);
  response.writeHead(200, { "content-type": "application/json" });
  breakOff(response, text.slice(0, text.length / 2), entry.cut);
}

async function stream(
  reply: WireReply,
  dialect: Dialect,
  request: WireRequest,
  response: ServerResponse,
): Promise<void> {
  const parts = dialect.stream(reply, request);
  response.writeHead(200, { "content-type": dialect.streamType });
  const { cut, pause } = reply;
  const middle = Math.ceil(parts.length / 2);
  for (const part of parts.slice(0, middle)) response.write(part);
  if (pause !== undefined && (await pause.wait(response)) === null) return;
  if (cut === undefined) for (const part of parts.slice(middle)) response.write(part);
  if (cut === undefined) response.end();
  else if (cut !== "error") breakOff(response, "", cut);
  else if (dialect.streamError === null) throw new Error("The protocol has no error in a stream");
  else response.end(dialect.streamError);
}

function breakOff(
  response: ServerResponse,
  text: string,
  cut: NonNullable<WireReply["cut"]>,
): void {
  if (cut !== "destroyed") response.end(text);
  // Only once what was written is on its way, so that the client has read half of it.
  else response.write(text === "" ? "\n" : text, () => response.destroy());
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
