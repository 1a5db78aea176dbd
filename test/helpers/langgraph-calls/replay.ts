import { withoutIds } from "../answer-shape.ts";
import { isRecord } from "../../../src/values/json.ts";
import type { Journey, RecordedRequest } from "./journeys.ts";

interface Answer {
  readonly request: string;
  readonly status: number;
  /** Names of events in their order; null for an answer of JSON. */
  readonly events: readonly string[] | null;
  /** The JSON, or the data of events by name. */
  readonly body: unknown;
}

/** Sends the requests of a journey to a server, and returns its answers. */
export async function replay(
  url: string,
  { requests, ignores = [] }: Journey,
): Promise<readonly Answer[]> {
  const ids = new Map<string, string>();
  const answers: Answer[] = [];
  for (const recorded of requests) {
    const { method, path } = recorded;
    const request = `${method} ${path}`;
    const response = await send(url, recorded, ids);
    const [, run] = /\/runs\/([^/]+)/.exec(response.headers.get("content-location") ?? "") ?? [];
    if (run !== undefined) ids.set("run", run);
    const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
    const { status } = response;
    if (isStream) {
      const stream = await readEvents(response, recorded.untilRunEnds === true);
      rememberIds(stream.body, ids);
      const events = stream.events.filter((name) => !ignores.includes(name.split("|")[0] ?? ""));
      const shown = Object.entries(stream.body).filter(([name]) => events.includes(name));
      answers.push({ request, status, events, body: Object.fromEntries(shown) });
    } else {
      const text = await response.text();
      // Refusals have the same status, and texts of their own.
      const body: unknown = text === "" || !response.ok ? null : JSON.parse(text);
      rememberIds(body, ids);
      answers.push({ request, status, events: null, body });
    }
  }
  return answers;
}

function send(
  url: string,
  { method, path, body, headers }: RecordedRequest,
  ids: ReadonlyMap<string, string>,
): Promise<Response> {
  const filled = (text: string) =>
    text
      .replaceAll('"{seq}"', ids.get("seq") ?? "0")
      .replaceAll(/\{(\w+)\}/g, (whole, name: string) => ids.get(name) ?? whole);
  return fetch(`${url}${filled(path)}`, {
    method,
    headers: { ...(method === "POST" && { "content-type": "application/json" }), ...headers },
    ...(method === "POST" && { body: filled(JSON.stringify(body)) }),
  });
}

/** Keeps the ids that later requests name: of the thread, of what waits, and of the state before the last message. */
function rememberIds(body: unknown, ids: Map<string, string>): void {
  const found = (name: string, value: unknown) => {
    if (typeof value === "string") ids.set(name, value);
  };
  if (isRecord(body)) {
    if (!ids.has("thread")) found("thread", body["thread_id"]);
    const ends: unknown = body["lifecycle"];
    if (Array.isArray(ends)) ids.set("seq", String(ends.at(-1)?.seq));
    const requested: unknown = body["input.requested"];
    if (Array.isArray(requested)) found("interrupt", requested[0]?.params?.data?.interrupt_id);
  } else if (Array.isArray(body)) {
    const first: unknown = body.findLast((state) => state?.parent_checkpoint != null);
    if (isRecord(first) && isRecord(first["parent_checkpoint"]))
      found("checkpoint", first["parent_checkpoint"]["checkpoint_id"]);
  }
}

/** Reads a stream to its end, or to the end of a run of the thread. */
async function readEvents(response: Response, untilRunEnds: boolean) {
  const events: string[] = [];
  const body: Record<string, unknown[]> = {};
  let text = "";
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  reading: for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split(/\r?\n\r?\n/);
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block
          .split(/\r?\n/)
          .map((line) => [line.split(":")[0], line.replace(/^\w*: ?/, "")] as const),
      );
      const event = fields.get("event");
      if (event === undefined) continue;
      const name = String(withoutIds(event));
      const data: unknown = JSON.parse(fields.get("data") ?? "null");
      events.push(name);
      body[name] = [...(body[name] ?? []), data];
      if (untilRunEnds && isEnd(data)) break reading;
    }
  }
  await reader.cancel();
  return { events, body };
}

function isEnd(event: unknown): boolean {
  const { method, params } = event as {
    readonly method: string;
    readonly params: { readonly namespace: readonly string[]; readonly data: unknown };
  };
  if (method !== "lifecycle" || params.namespace.length > 0 || !isRecord(params.data)) return false;
  return ["completed", "interrupted", "failed"].includes(String(params.data["event"]));
}
