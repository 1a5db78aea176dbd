import { createParser } from "eventsource-parser";
import { ApiError, problemOf, send } from "./client.ts";

/** An event of a stream. */
export interface StreamEvent {
  /** Its number in the run; empty where streams have none. */
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly onEvent: (event: StreamEvent) => void;
}

/** Milliseconds without a byte after which a connection is taken for dead: servers send a comment each 15 s. */
const silentMs = 45_000;

/**
 * Reads a stream of events until it ends or is aborted. `fetch` is used, not EventSource: the key is a header.
 *
 * @throws ApiError for an answer with a problem, and if nothing comes any more; else what breaks the connection
 */
export async function readEvents(
  request: string | Request,
  { signal, onEvent }: ReadOptions,
): Promise<void> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silentMs);
  };
  const either = AbortSignal.any([signal, silence.signal]);
  listen();
  try {
    const response = await send(
      request instanceof Request ? new Request(request, { signal: either }) : request,
      request instanceof Request
        ? undefined
        : { signal: either, headers: { Accept: "text/event-stream" } },
    );
    if (!response.ok) throw problemOf(response.status, await response.json().catch(() => null));
    await parseEvents(response, onEvent, listen);
  } catch (thrown) {
    if (!silence.signal.aborted) throw thrown;
    throw new ApiError("The server sends nothing any more.", 0, "unreachable");
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads the events of an answer until it ends.
 *
 * @param onChunk called whenever something comes, comments included
 */
export async function parseEvents(
  response: Response,
  onEvent: (event: StreamEvent) => void,
  onChunk: () => void = () => {},
): Promise<void> {
  const parser = createParser({
    onEvent: ({ id = "", event = "message", data }) => {
      onEvent({ id, event, data: parseData(data) });
    },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) return;
    onChunk();
    parser.feed(chunk.value);
  }
}

/**
 * Reads the events of a run after one, until the end of a turn. A stream that breaks or ends before goes on after the
 * last event that was read. Ends without a word if the server refuses it.
 */
export async function followRun(
  runUrl: string,
  { after, signal, onEvent }: ReadOptions & { readonly after: number },
): Promise<void> {
  const read = { last: after, isEnded: false };
  for (let failures = 0; !signal.aborted && !read.isEnded; failures++) {
    try {
      await readEvents(`${runUrl}/events?after=${read.last}`, {
        signal,
        onEvent: (event) => {
          failures = 0;
          read.last = Number(event.id) || read.last;
          read.isEnded = event.event === "done";
          onEvent(event);
        },
      });
    } catch (thrown) {
      if (isRefusal(thrown)) return;
    }
    if (!read.isEnded) await pauseBeforeRetry(failures, signal);
  }
}

/** Whether the server has answered that it will not: another try would not help. */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ApiError && [401, 403, 404].includes(thrown.status);
}

/** Waits longer after each failure, up to 10 s, and not as long as other tabs do; no longer once `signal` aborts. */
export function pauseBeforeRetry(failures: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(10_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
