import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../../values/json.ts";
import { plain } from "../../values/diff.ts";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { GraphEvent, StreamPart } from "./graph-events.ts";
import type { GraphRequest } from "./graph-request.ts";
import { streamProtocol } from "./protocol-stream.ts";

type StreamRequest = Pick<GraphRequest, "stream_mode" | "subgraphs" | "protocol">;

interface Chunk {
  readonly namespace: readonly string[];
  readonly mode: string;
  readonly payload: unknown;
}

/** Streams a graph in the modes of a request. Each part also has what callers of other modes do not see: the state. */
export async function* streamGraph(
  graph: AgentGraph,
  input: unknown,
  { request, options }: { readonly request: StreamRequest; readonly options: RunnableConfig },
): AsyncGenerator<StreamPart> {
  if (request.protocol === true) {
    yield* streamProtocol(graph, input, options);
    return;
  }
  const { subgraphs, stream_mode: modes } = request;
  const asked = new Set<string>(modes);
  const graphModes = new Set<string>(["values"]);
  for (const mode of modes)
    if (mode !== "events" && mode !== "messages")
      graphModes.add(mode === "messages-tuple" ? "messages" : mode);
  const streamOptions = { ...options, streamMode: [...graphModes], subgraphs };
  const messages = asked.has("messages") ? new WholeMessages() : null;
  if (messages === null && !asked.has("events")) {
    const stream = await graph.stream(input as never, streamOptions as never);
    for await (const chunk of stream as AsyncIterable<unknown[]>)
      yield partOf(toChunk(chunk, subgraphs), asked, null);
    return;
  }
  const events = graph.streamEvents(input as never, { ...streamOptions, version: "v2" } as never);
  for await (const event of events as unknown as AsyncIterable<LangChainEvent>) {
    if (event.tags?.includes("langsmith:hidden") === true) continue;
    const isOwn = event.run_id === options.runId;
    const { chunk } = event.data;
    if (event.event === "on_chain_stream" && (subgraphs || isOwn) && isChunk(chunk)) {
      yield partOf(toChunk(chunk, subgraphs), asked, messages);
    } else {
      const shown = asked.has("events") ? [{ event: "events", data: event }] : [];
      yield { events: [...shown, ...(messages?.token(event) ?? [])] };
    }
  }
}

interface LangChainEvent {
  readonly event: string;
  readonly run_id: string;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly data: { readonly chunk?: unknown };
}

function isChunk(chunk: unknown): chunk is unknown[] {
  return Array.isArray(chunk) && (chunk.length === 2 || chunk.length === 3);
}

function toChunk(chunk: readonly unknown[], subgraphs: boolean): Chunk {
  const [namespace, mode, payload] = subgraphs ? chunk : [[], ...chunk];
  return { namespace: namespace as readonly string[], mode: String(mode), payload };
}

function partOf(
  { namespace, mode, payload }: Chunk,
  asked: ReadonlySet<string>,
  messages: WholeMessages | null,
): StreamPart {
  const name = (of: string) => (namespace.length === 0 ? of : `${of}|${namespace.join("|")}`);
  const isAsked = asked.has(mode === "messages" ? "messages-tuple" : mode);
  const state =
    mode === "values" && namespace.length === 0 && isRecord(payload) ? { state: payload } : {};
  const shown = isAsked ? [{ event: name(mode), data: shownPayload(mode, payload) }] : [];
  return { ...state, events: [...shown, ...(messages?.complete(mode, payload) ?? [])] };
}

/** Without what belongs to this process: configs have keys of the engine in them. */
function shownPayload(mode: string, payload: unknown): unknown {
  if (!isRecord(payload)) return payload;
  if (mode === "debug") {
    const { type, payload: inner } = payload;
    return {
      ...payload,
      payload: shownPayload(type === "checkpoint" ? "snapshot" : "tasks", inner),
    };
  }
  if (mode === "tasks") return taskOf(payload);
  if (mode === "checkpoints") {
    const { values, metadata, next } = payload;
    return { values, metadata, next };
  }
  if (mode !== "snapshot") return payload;
  const { parentConfig, config, tasks, ...rest } = payload;
  return {
    ...rest,
    config: configOf(config),
    parent_config: configOf(parentConfig),
    checkpoint: checkpointOf(config),
    parent_checkpoint: checkpointOf(parentConfig),
    tasks: Array.isArray(tasks) ? tasks.map(taskOf) : [],
  };
}

function taskOf(task: unknown): unknown {
  if (!isRecord(task)) return task;
  const { state, ...rest } = task;
  const checkpoint = checkpointOf(state);
  return checkpoint === null
    ? { ...rest, ...(state !== undefined && { state }) }
    : { ...rest, checkpoint };
}

function configOf(config: unknown): unknown {
  if (!isRecord(config) || !isRecord(config["configurable"])) return null;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config["configurable"];
  return { configurable: { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } };
}

function checkpointOf(config: unknown): unknown {
  if (!isRecord(config) || !isRecord(config["configurable"])) return null;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config["configurable"];
  if (typeof thread_id !== "string") return null;
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}

interface Chunkable {
  readonly id?: string;
  readonly content?: unknown;
  concat?: (other: unknown) => Chunkable;
}

/** The events of the mode `messages`: each message as far as it came, and when it is whole. */
class WholeMessages {
  readonly #partial = new Map<string, { message: Chunkable; shown: number; length: number }>();
  readonly #complete = new Set<string>();

  token(event: LangChainEvent): readonly GraphEvent[] {
    if (event.event !== "on_chat_model_stream" || event.tags?.includes("nostream") === true)
      return [];
    const chunk = event.data.chunk as Chunkable | undefined;
    if (typeof chunk?.id !== "string") return [];
    const before = this.#partial.get(chunk.id);
    const length = (before?.length ?? 0) + JSON.stringify(chunk.content ?? "").length;
    const message = before?.message.concat?.(chunk) ?? chunk;
    // Each event repeats the message: of a long one only some are written.
    const isShown = before === undefined || length > before.shown * 1.05;
    this.#partial.set(chunk.id, { message, length, shown: isShown ? length : before.shown });
    const about = { [chunk.id]: { metadata: event.metadata ?? {} } };
    return [
      ...(before === undefined ? [{ event: "messages/metadata", data: about }] : []),
      ...(isShown ? [{ event: "messages/partial", data: [plain(message)] }] : []),
    ];
  }

  complete(mode: string, payload: unknown): readonly GraphEvent[] {
    if (mode === "messages" || !isRecord(payload)) return [];
    const { messages } = payload;
    const list: readonly unknown[] = Array.isArray(messages) ? messages : [];
    const ended = list.filter((message) => {
      const { id } = Object(message) as { id?: unknown };
      if (typeof id !== "string" || this.#complete.has(id)) return false;
      this.#complete.add(id);
      return true;
    });
    return ended.length === 0 ? [] : [{ event: "messages/complete", data: ended.map(plain) }];
  }
}
