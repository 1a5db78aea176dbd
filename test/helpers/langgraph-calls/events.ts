import type { Client } from "@langchain/langgraph-sdk";
import { withoutIds } from "../answer-shape.ts";
import { letter, sum } from "./runs.ts";

/** The events of a thread that commands start, and the answers to the commands. */
export interface EventCall {
  readonly name: string;
  readonly agent: "clerk" | "letters" | "office";
  readonly channels: readonly string[];
  readonly input: object;
  /** Response to the request that the run waits with; without one the run is read to its first end. */
  readonly response?: unknown;
  readonly filter?: { readonly namespaces?: readonly string[][]; readonly depth?: number };
}

const all = [
  "lifecycle",
  "input",
  "values",
  "updates",
  "messages",
  "tools",
  "custom",
  "tasks",
  "checkpoints",
] as const;

export const eventCalls: readonly EventCall[] = [
  ...all.map((channel): EventCall => ({
    name: channel,
    agent: "clerk",
    channels: [channel, "lifecycle"],
    input: sum.input,
  })),
  {
    name: "a request and its response",
    agent: "letters",
    channels: ["lifecycle", "input", "values", "updates"],
    input: letter.input,
    response: { decision: "approve" },
  },
  {
    name: "a request inside of an agent",
    agent: "office",
    channels: ["lifecycle", "input", "updates", "tasks"],
    input: letter.input,
    response: { decision: "approve" },
  },
  {
    name: "the graph alone",
    agent: "office",
    channels: ["lifecycle", "updates"],
    input: letter.input,
    filter: { namespaces: [[]], depth: 0 },
  },
];

interface ReadEvent {
  readonly method: string;
  readonly seq: number;
  readonly params: {
    readonly namespace: readonly string[];
    readonly timestamp: number;
    readonly data: unknown;
  };
}

/** Reads events until the root has ended `ends` times. */
async function readEvents(url: string, body: object, ends: number): Promise<readonly ReadEvent[]> {
  const stop = new AbortController();
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal: stop.signal,
  });
  const events: ReadEvent[] = [];
  let [text, left] = ["", ends];
  const decoder = new TextDecoder();
  for await (const chunk of answer.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      // Comments keep the connection open.
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data === undefined) continue;
      const event = JSON.parse(data) as ReadEvent;
      events.push(event);
      const { namespace, data: own } = event.params;
      const isEnd = event.method === "lifecycle" && namespace.length === 0;
      if (isEnd && (own as { readonly event?: unknown }).event !== "running") left -= 1;
    }
    if (left <= 0) break;
  }
  stop.abort();
  return events;
}

const post = async (url: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Record<string, unknown>;
};

/** Sends the commands of a call to a server, and reads their events twice: all, and those after the first. */
export async function eventsOf(client: Client, url: string, call: EventCall) {
  const { agent, channels, input, response, filter = {} } = call;
  const { thread_id: id } = await client.threads.create();
  const stream = `${url}/threads/${id}/stream/events`;
  const send = (method: string, params: object, number = 1) =>
    post(`${url}/threads/${id}/commands`, { id: number, method, params });
  const body = { channels, ...filter };
  const answers = [await send("run.start", { assistant_id: agent, input })];
  let events = await readEvents(stream, body, 1);
  if (response !== undefined) {
    const asked = events.find(({ method }) => method === "input.requested");
    if (asked === undefined) throw new Error("The run asked for nothing.");
    const { namespace, data: request } = asked.params;
    const { interrupt_id } = request as { readonly interrupt_id: string };
    answers.push(await send("input.respond", { namespace, interrupt_id, response }, 2));
    events = await readEvents(stream, body, 2);
  }
  const since = events[0]?.seq;
  const again = await readEvents(stream, { ...body, since }, response === undefined ? 1 : 2);
  const data: Record<string, ReadEvent["params"][]> = {};
  for (const { method, params } of events) data[method] = [...(data[method] ?? []), params];
  answers.push(await send("state.get", { namespace: [] }, 3));
  return {
    names: events.map(nameOf),
    again: again.map(nameOf),
    isGrowing: events.every(({ seq }, at) => at === 0 || seq > events[at - 1]!.seq),
    /** What is the same in every run. */
    fixed: [...(data["lifecycle"] ?? []), ...(data["input.requested"] ?? [])].map(withoutTime),
    data,
    answers,
    refusals: [
      await send("input.respond", { namespace: [], interrupt_id: "none", response: true }, 4),
      await send("state.fork", {}, 5),
      await send("run.start", {}, 6),
    ].map(({ type, id: number, error }) => [type, number, error]),
  };
}

function nameOf({ method, params }: ReadEvent): unknown {
  const { event } = Object(params.data) as { readonly event?: unknown };
  const isOfKind = ["lifecycle", "messages", "tools"].includes(method);
  return withoutIds([method, ...params.namespace, isOfKind ? event : ""].join(" "));
}

function withoutTime(params: ReadEvent["params"]): unknown {
  return withoutIds({ ...params, timestamp: typeof params.timestamp });
}
