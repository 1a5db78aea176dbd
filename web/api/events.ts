import { createParser } from "eventsource-parser";
import { problemOf, send } from "./client.ts";

/** An event of a stream. */
export interface StreamEvent {
  /** Its number in the run; empty where streams have none. */
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

/**
 * Reads a stream of events until it ends or is aborted. `fetch` is used, not EventSource: the key is a header.
 *
 * @throws ApiError for an answer with a problem, and if the connection breaks
 */
export async function readEvents(
  request: string | Request,
  {
    signal,
    onEvent,
  }: { readonly signal: AbortSignal; readonly onEvent: (event: StreamEvent) => void },
): Promise<void> {
  const init = { signal, headers: { Accept: "text/event-stream" } };
  const response = await send(
    request instanceof Request ? new Request(request, { signal }) : request,
    request instanceof Request ? undefined : init,
  );
  if (!response.ok) throw problemOf(response.status, await response.json().catch(() => null));
  await parseEvents(response, onEvent);
}

/** Reads the events of an answer until it ends. */
export async function parseEvents(
  response: Response,
  onEvent: (event: StreamEvent) => void,
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
    parser.feed(chunk.value);
  }
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
