import type { StoredRunEvent } from "../../../storage/platform/runs/events.ts";
import type { RunSummary } from "../../../storage/platform/runs/runs.ts";
import { isRecord } from "../../../values/json.ts";

/** Events that a run can have before its numbers reach those of the next one. */
const numbersOfRun = 1_000_000;

export interface ProtocolEvent {
  readonly type: "event";
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: {
    readonly namespace: readonly string[];
    readonly timestamp: number;
    readonly node?: string;
    readonly data: unknown;
  };
}

/** The number of an event among those of its thread, the same in every process. */
export function seqOf(run: Pick<RunSummary, "seq">, event: number): number {
  return run.seq * numbersOfRun + Math.min(event, numbersOfRun - 1);
}

const ends: Readonly<Record<string, string>> = {
  complete: "completed",
  awaiting_human: "interrupted",
  awaiting_tool: "interrupted",
  awaiting_event: "interrupted",
  cancelled: "interrupted",
};

/** The event of the protocol that a stored one is; null for none. */
export function protocolEvent(
  run: Pick<RunSummary, "id" | "seq">,
  stored: StoredRunEvent,
  graphName: string,
): ProtocolEvent | null {
  const [name = "", ...namespace] = stored.event.split("|");
  const seq = seqOf(run, stored.seq);
  const eventOf = (method: string, data: unknown, node?: string): ProtocolEvent => ({
    type: "event",
    event_id: `${run.id}:${stored.seq}`,
    seq,
    method,
    params: {
      namespace,
      timestamp: Date.parse(stored.at),
      ...(node !== undefined && { node }),
      data,
    },
  });
  const lifecycle = (event: string, more = {}) =>
    eventOf("lifecycle", { event, graph_name: graphName, ...more });
  const { data } = stored;
  if (name === "metadata") return lifecycle("running");
  if (name === "error") return lifecycle("failed", { error: data["message"] });
  if (name === "done") {
    const end = ends[String(data["status"])];
    // An `error` comes before the end of a run that has failed.
    return end === undefined ? null : lifecycle(end);
  }
  if (name === "values") return eventOf(name, shownState(data));
  if (name === "updates") {
    const { node, values } = data;
    return eventOf(name, shownState(values), typeof node === "string" ? node : undefined);
  }
  if (!name.startsWith("custom:")) return eventOf(name, data);
  return eventOf("custom", { name: name.slice("custom:".length), payload: data });
}

const messageTypes: ReadonlySet<unknown> = new Set([
  "human",
  "ai",
  "system",
  "tool",
  "function",
  "remove",
]);
const messageFields = ["id", "name", "tool_call_id", "status", "artifact"] as const;

/** A state whose messages have the fields of the protocol only. */
function shownState(values: unknown): unknown {
  if (!isRecord(values) || !Array.isArray(values["messages"])) return values;
  return { ...values, messages: values["messages"].map(shownMessage) };
}

function shownMessage(message: unknown): unknown {
  if (!isRecord(message) || !messageTypes.has(message["type"])) return message;
  const { type, content, response_metadata: metadata, tool_calls: calls } = message;
  const fields = messageFields.filter((key) => message[key] !== undefined && message[key] !== null);
  return {
    type,
    content: content ?? "",
    ...Object.fromEntries(fields.map((key) => [key, message[key]])),
    ...(isRecord(metadata) && Object.keys(metadata).length > 0 && { response_metadata: metadata }),
    ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls }),
  };
}

export interface EventFilter {
  readonly channels: readonly string[];
  readonly namespaces?: readonly (readonly string[])[] | undefined;
  readonly depth?: number | undefined;
  readonly since?: number | undefined;
}

export function isWanted({ seq, method, params }: ProtocolEvent, filter: EventFilter): boolean {
  const { channels, namespaces = [], depth = Infinity, since = -1 } = filter;
  if (seq <= since) return false;
  const { namespace, data } = params;
  const name = method === "custom" && isRecord(data) ? data["name"] : undefined;
  const channel = method === "input.requested" ? "input" : method;
  const isOfChannel =
    channels.includes(channel) || (typeof name === "string" && channels.includes(`custom:${name}`));
  if (!isOfChannel) return false;
  if (namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      namespace.length - prefix.length <= depth &&
      prefix.every((segment, at) => isSegment(namespace[at], segment)),
  );
}

/** A prefix may name a node without the id of its task. */
function isSegment(given: string | undefined, wanted: string): boolean {
  return given === wanted || (!wanted.includes(":") && given?.split(":")[0] === wanted);
}
