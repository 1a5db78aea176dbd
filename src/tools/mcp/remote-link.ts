import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";
import type { Secrets } from "../secrets.ts";
import {
  BadHeaderError,
  invalidResponse,
  guardedFetch,
  type RemoteSpec,
  type StreamEnd,
  TooLargeError,
} from "./guarded-fetch.ts";
import {
  asSentence,
  type TransportLink,
  type McpPackages,
  plainMessage,
} from "./transport-link.ts";

/** Milliseconds that a server has for ending its session before it is left to its own timeout. */
const sessionEndMs = 1_000;

interface RemoteDeps {
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly packages: McpPackages;
}

/**
 * A server behind HTTP. The SDK's transports, which LangChain's adapter uses too, leave a call waiting for ever where the
 * stream of its answer breaks off; here it ends with an error.
 * @throws MissingSecretError, TypeError where the endpoint with its secrets is no URL
 */
export async function remoteLink(spec: RemoteSpec, deps: RemoteDeps): Promise<TransportLink> {
  const url = new URL(await deps.secrets.resolve(spec.endpoint));
  const broken = { reason: undefined as string | undefined };
  const parts =
    spec.transport === "http"
      ? httpTransport(spec, url, { ...deps, broken })
      : sseTransport(spec, url, { ...deps, broken });
  return {
    transport: parts.transport,
    startProblem(thrown) {
      const failure = httpFailure(thrown);
      const isTransient = failure?.isLost === true || (failure?.status ?? 0) >= 500;
      const problem = failure?.problem ?? plainMessage(errorMessage(thrown));
      const text = `${spec.endpoint}: ${asSentence(problem)}`;
      return { text, exitCode: null, isTransient: isTransient || failure === undefined };
    },
    endProblem: () => ({
      text: `The connection to ${spec.endpoint} ended${broken.reason === undefined ? "" : `: ${broken.reason}`}.`,
      exitCode: null,
      isTransient: true,
    }),
    close: (isReady) => parts.close(isReady),
  };
}

interface RemoteParts {
  readonly transport: Transport;
  close(isReady: boolean): Promise<void>;
}

type Broken = { reason: string | undefined };

function httpTransport(
  spec: RemoteSpec,
  url: URL,
  deps: RemoteDeps & { readonly broken: Broken },
): RemoteParts {
  const { packages, clock, secrets, broken } = deps;
  /** Requests whose answers the SDK tries to get by resuming their streams. */
  const resumed = new Set<number>();
  const lose = (id: number, kind: "lost" | "unreadable", problem: string) =>
    transport.onmessage?.(invalidResponse(id, kind, problem));

  const onEnd = ({ method, sent, isStream, hasEventId, error }: StreamEnd) => {
    if (!isStream) return;
    const isTooLarge = error instanceof TooLargeError;
    const id = method === "POST" ? requestId(sent) : undefined;
    // After what the SDK has read of the stream; where that was the answer, this one is passed over.
    setImmediate(() => {
      if (isTooLarge) {
        broken.reason = error.message;
        if (id !== undefined) lose(id, "unreadable", error.message);
        // The SDK would resume the stream, and get the same again, without end.
        if (hasEventId || id === undefined) void transport.close();
      } else if (id !== undefined && hasEventId) {
        resumed.add(id);
      } else if (id !== undefined) {
        lose(id, "lost", "the answer broke off");
      }
    });
  };
  const transport = new packages.HttpTransport(url, {
    fetch: guardedFetch({ spec, secrets, url, onEnd }),
  });
  // Set before the client is: it keeps what it finds and calls it too.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no such method
  transport.onerror = (error) => {
    if (!/Maximum reconnection attempts/.test(error.message)) return;
    for (const id of resumed) lose(id, "lost", "the answer broke off and could not be resumed");
    resumed.clear();
  };
  return {
    transport,
    async close(isReady) {
      if (isReady) await endSession(() => transport.terminateSession(), clock);
      await transport.close();
    },
  };
}

function sseTransport(
  spec: RemoteSpec,
  url: URL,
  deps: RemoteDeps & { readonly broken: Broken },
): RemoteParts {
  const { packages, secrets, broken } = deps;
  const onEnd = ({ method, isStream, error }: StreamEnd) => {
    if (method === "POST" || !isStream) return;
    // The SDK would open a new stream: another session, without initialization.
    setImmediate(() => {
      broken.reason ??= error instanceof TooLargeError ? error.message : "its stream broke off";
      void transport.close();
    });
  };
  const transport = new packages.SseTransport(url, {
    fetch: guardedFetch({ spec, secrets, url, onEnd }),
  });
  return { transport, close: () => transport.close() };
}

/** Tells the server that the session is over, where it answers soon. */
async function endSession(end: () => Promise<void>, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = clock.after(sessionEndMs, resolve);
    const onEnd = () => {
      stop();
      resolve();
    };
    end().then(onEnd, onEnd);
  });
}

function requestId(sent: string | null): number | undefined {
  if (sent === null) return undefined;
  const message: unknown = JSON.parse(sent);
  if (!isRecord(message) || message["method"] === undefined) return undefined;
  return typeof message["id"] === "number" ? message["id"] : undefined;
}

/** What a request over HTTP came to, where it came to no answer. */
export interface HttpFailure {
  /** One clause, without a full stop. It may hold secrets. */
  readonly problem: string;
  readonly status: number | null;
  /** The connection, and not the answer, is what failed. */
  readonly isLost: boolean;
  /** The server has surely not got the request. */
  readonly isUnsent: boolean;
  /** The server no longer knows the session. */
  readonly isSessionLost: boolean;
}

/** Codes of Node and its `fetch` after which nothing was sent. */
const unsent = new Map([
  ["ECONNREFUSED", "nothing listens at its address (ECONNREFUSED)"],
  ["ENOTFOUND", "its host is not known (ENOTFOUND)"],
  ["EAI_AGAIN", "the name of its host cannot be looked up (EAI_AGAIN)"],
  ["EHOSTUNREACH", "its host cannot be reached (EHOSTUNREACH)"],
  ["ENETUNREACH", "its network cannot be reached (ENETUNREACH)"],
  ["UND_ERR_CONNECT_TIMEOUT", "its host did not answer in time (UND_ERR_CONNECT_TIMEOUT)"],
]);

/** Undefined for what is no failure of HTTP. */
export function httpFailure(thrown: unknown): HttpFailure | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const none = { status: null, isLost: false, isUnsent: false, isSessionLost: false };
  if (thrown instanceof BadHeaderError) return { ...none, problem: thrown.message };
  if (thrown instanceof TooLargeError) return { ...none, problem: thrown.message };
  const status = statusOf(thrown);
  if (status !== null) {
    const text = headOf(thrown.message.replace(/^.*?(?:endpoint|stream)[^:]*:\s*/s, ""), 300);
    // The protocol asks for 404; servers in the wild answer 400 as well.
    const isSessionLost = status === 404 || (status === 400 && /session/i.test(thrown.message));
    return { ...none, status, isSessionLost, problem: `HTTP ${status}${said(status, text)}` };
  }
  const code = causeCode(thrown);
  const reason = code === undefined ? undefined : unsent.get(code);
  if (reason !== undefined) return { ...none, problem: reason, isLost: true, isUnsent: true };
  const isNetwork =
    code !== undefined ||
    (thrown instanceof TypeError && /fetch failed|terminated/.test(thrown.message));
  if (!isNetwork) return undefined;
  const problem = `the connection broke off (${code ?? thrown.message})`;
  return { ...none, problem, isLost: true };
}

function said(status: number, text: string): string {
  const hints = new Map([
    [401, "; check the credentials in its headers"],
    [403, "; check the credentials in its headers"],
    [405, "; check its endpoint, and whether its transport is http or sse"],
  ]);
  return `${text.trim() === "" ? "" : ` (${text.trim()})`}${hints.get(status) ?? ""}`;
}

/** The SDK has the status as `code` for streamable HTTP and for opening SSE, and in the text for requests of SSE. */
function statusOf(thrown: Error): number | null {
  const { code } = thrown as { code?: unknown };
  const isHttp = /^(?:Streamable HTTP|SSE) error/.test(thrown.message);
  if (isHttp && typeof code === "number" && code >= 100) return code;
  const found = /\(HTTP (\d{3})\)/.exec(thrown.message)?.[1];
  return found === undefined ? null : Number(found);
}

/** `fetch` hides what happened in causes; a host with several addresses fails with several errors. */
function causeCode(thrown: unknown, depth = 0): string | undefined {
  if (!isRecord(thrown) || depth > 5) return undefined;
  const { code, cause, errors } = thrown;
  if (typeof code === "string") return code;
  const inner = cause ?? (Array.isArray(errors) ? (errors as unknown[])[0] : undefined);
  return (
    causeCode(inner, depth + 1) ??
    /\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EPIPE)\b/.exec(String(thrown["message"]))?.[1]
  );
}
