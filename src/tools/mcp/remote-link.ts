import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { isRecord } from "../../state/is-record.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { brokenAnswer } from "./broken-answer.ts";
import { guardedFetch, TooLargeError, type RemoteSpec, type StreamEnd } from "./guarded-fetch.ts";
import { httpFailure } from "./http-failure.ts";
import { asSentence, plainMessage, type Link } from "./link.ts";
import type { McpPackages } from "./sdk.ts";

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
export async function remoteLink(spec: RemoteSpec, deps: RemoteDeps): Promise<Link> {
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
    transport.onmessage?.(brokenAnswer(id, kind, problem));

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
    // The SDK would open a new stream, which is another session that nobody has begun.
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
