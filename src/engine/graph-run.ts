import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isInterrupted, Send } from "@langchain/langgraph";
import { readWaiting } from "../compile/guards/waiting.ts";
import { lastState } from "../compile/guards/inputs.ts";
import { withThread } from "../compile/run/acquire-thread.ts";
import { cancellable, withTurnId } from "../compile/run/run-config.ts";
import { redactKnownValues } from "../guardrails/redaction.ts";
import {
  type ExecuteResult,
  type StreamedTurn,
  toResult,
  type TurnRun,
} from "../runtime/run-result.ts";
import { DrainControl } from "../runtime/drain-control.ts";
import { prepareRun, runTurn, threadConfig } from "../runtime/run-turn.ts";
import type { GraphState } from "../state/channels.ts";
import { publicRequest } from "../state/human-request.ts";
import type { Redactions } from "../state/rails.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import { plainData } from "../values/diff.ts";
import { isRecord } from "../values/json.ts";
import type { GraphCommand, GraphRequest } from "./graph-request.ts";
import type { LoadedAgent } from "./load-agent.ts";

/** An event of LangGraph's protocol. */
export interface GraphEvent {
  readonly event: string;
  readonly data: unknown;
}

interface GraphRunOptions {
  readonly agent: LoadedAgent;
  readonly write: (event: GraphEvent) => void;
  readonly signal: AbortSignal;
  readonly drain: AbortSignal;
  /** Whether an earlier claim has begun to execute the request. */
  readonly isContinued: boolean;
}

/** What the graph streams: namespace, mode and payload. */
type Chunk = readonly [namespace: readonly string[], mode: string, payload: unknown];

/**
 * Runs the graph of an agent with an input or a command of LangGraph's protocol, and writes what it streams. A run that
 * is continued after its worker was lost resumes its turn; an answer is not given twice.
 */
export async function runGraph(run: Run, options: GraphRunOptions): Promise<ExecuteResult> {
  const request = run.request as unknown as GraphRequest;
  const { services, definition } = options.agent;
  const { model, temperature, user, durability } = request;
  const prepared = await prepareRun(definition, services, {
    signal: options.signal,
    drain: options.drain,
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(user !== undefined && { user }),
    ...(durability !== undefined && { durability }),
  });
  options.write({ event: "metadata", data: { run_id: run.id, attempt: run.attempts } });
  const { threadId } = run;
  return withThread(services, threadId, async (held) => {
    const { graph } = prepared;
    const thread = held.within(threadConfig(threadId));
    const last = options.isContinued ? await lastState(graph, thread) : null;
    const hasBegun = last !== null && last.values.turn?.run === request.turn_id;
    if (hasBegun && last.snapshot.next.length === 0) {
      const { waiting } = await readWaiting(graph, thread);
      const requests = waiting.map(publicRequest);
      return toResult({ state: last.values, requests, usageBefore: null }, threadId);
    }
    const input = hasBegun ? continuationOf(request) : inputOf(request);
    const { checkpoint, recursion_limit: recursionLimit, tags, metadata } = request;
    const start: RunnableConfig = {
      configurable: { checkpoint_ns: "", ...(!hasBegun && checkpoint), thread_id: threadId },
      ...(recursionLimit !== undefined && { recursionLimit }),
      ...(tags && { tags: [...tags] }),
      ...(metadata && { metadata }),
    };
    return runTurn(prepared, {
      held,
      input: input as TurnRun["input"],
      start: withTurnId(start, request.turn_id),
      stream: (turn) => streamGraph(turn, { run, request, write: options.write }),
    });
  });
}

function inputOf({ input, command }: GraphRequest): unknown {
  return command ? commandOf(command) : (input ?? null);
}

/** Answers by id are refused once they were taken. A bare one might answer the request that follows. */
function continuationOf({ command }: GraphRequest): unknown {
  return isRecord(command?.resume) ? commandOf(command) : null;
}

function commandOf({ resume, update, goto }: GraphCommand): Command {
  const nodes = goto === undefined ? undefined : [goto].flat();
  return new Command({
    ...(resume !== undefined && { resume }),
    ...(update !== undefined && { update: update as Record<string, unknown> }),
    ...(nodes && {
      goto: nodes.map((to) => (typeof to === "string" ? to : new Send(to.node, to.input))),
    }),
  });
}

/** Streams a run in the modes of its request, as LangGraph's server names and shapes the events. */
async function streamGraph(
  turn: TurnRun,
  of: {
    readonly run: Run;
    readonly request: GraphRequest;
    readonly write: (event: GraphEvent) => void;
  },
): Promise<StreamedTurn> {
  const { request, run } = of;
  const { graph, thread, context, durability } = turn;
  const asked = new Set<string>(request.stream_mode);
  const modes = new Set(
    [...asked].filter((mode) => mode !== "events" && mode !== "messages-tuple"),
  );
  if (asked.has("messages-tuple")) modes.add("messages");
  // The end of the run and its redactions are read from them.
  modes.add("values");
  const { interrupt_before: interruptBefore, interrupt_after: interruptAfter } = request;
  const options = {
    ...(turn.signal ? cancellable(turn.start, turn.signal) : turn.start),
    ...(turn.drain && { control: new DrainControl(turn.drain) }),
    runId: run.id,
    context,
    durability,
    subgraphs: true,
    streamMode: [...modes] as "values"[],
    ...(interruptBefore && { interruptBefore: interruptBefore as "*" }),
    ...(interruptAfter && { interruptAfter: interruptAfter as "*" }),
  };
  const events = new GraphEvents(asked, request.subgraphs, of.write);
  let state: Partial<GraphState> = {};
  let waits = false;
  const onChunk = (chunk: Chunk) => {
    const [namespace, mode, payload] = chunk;
    if (mode === "values" && namespace.length === 0) {
      if (isInterrupted(payload)) waits = true;
      else state = payload as Partial<GraphState>;
    }
    events.chunk(chunk);
  };
  if (asked.has("events") || asked.has("messages")) {
    const stream = graph.streamEvents(turn.input, { ...options, version: "v2" } as never);
    for await (const event of stream as unknown as AsyncIterable<StreamEvent>) {
      if (event.event === "on_chain_stream" && event.run_id === run.id)
        onChunk(event.data.chunk as Chunk);
      events.event(event);
    }
  } else {
    const stream = await graph.stream(turn.input, options as never);
    for await (const chunk of stream as AsyncIterable<unknown>) onChunk(chunk as Chunk);
  }
  const { snapshot, waiting } = await readWaiting(graph, thread);
  if (waits) state = snapshot.values as Partial<GraphState>;
  return { state, requests: waits ? waiting.map(publicRequest) : [], usageBefore: null };
}

interface StreamEvent {
  readonly event: string;
  readonly run_id: string;
  readonly tags?: readonly string[];
  readonly metadata?: unknown;
  readonly data: { readonly chunk?: unknown };
}

interface MessageChunk {
  readonly id?: string;
  concat(other: unknown): MessageChunk;
}

/** UTF-8 bytes of JSON of an event. A log takes 1 MiB. */
const maxEventBytes = 1_000_000;

/** Turns what a graph streams into events, without values that rails redacted. */
class GraphEvents {
  #known: Redactions = {};
  readonly #complete = new Set<string>();
  readonly #partial = new Map<string, MessageChunk>();

  constructor(
    private readonly asked: ReadonlySet<string>,
    private readonly subgraphs: boolean,
    private readonly write: (event: GraphEvent) => void,
  ) {}

  chunk([namespace, mode, payload]: Chunk): void {
    if (isRecord(payload) && isRecord(payload["redactions"])) {
      this.#known = { ...this.#known, ...(payload["redactions"] as Redactions) };
    }
    if (namespace.length > 0 && !this.subgraphs) return;
    const name = (event: string) => [event, ...namespace].join("|");
    if (this.asked.has("messages") && mode === "values") this.#messages(payload);
    if (mode === "messages") {
      if (this.asked.has("messages-tuple")) this.#write(name("messages"), payload);
    } else if (this.asked.has(mode)) {
      this.#write(name(mode), withoutConfigs(mode, payload));
    }
  }

  event(event: StreamEvent): void {
    if (event.tags?.includes("langsmith:hidden") === true) return;
    if (this.asked.has("events") && event.event !== "on_chain_stream") {
      this.#write("events", event);
    }
    if (!this.asked.has("messages") || event.event !== "on_chat_model_stream") return;
    if (event.tags?.includes("nostream") === true) return;
    const message = event.data.chunk as MessageChunk;
    if (message.id === undefined) return;
    const before = this.#partial.get(message.id);
    const whole = before === undefined ? message : before.concat(message);
    this.#partial.set(message.id, whole);
    if (before === undefined)
      this.#write("messages/metadata", { [message.id]: { metadata: event.metadata } });
    this.#write("messages/partial", [whole]);
  }

  #messages(values: unknown): void {
    const { messages } = isRecord(values) ? values : {};
    if (!Array.isArray(messages)) return;
    const fresh = (messages as { readonly id?: string }[]).filter(({ id }) => {
      if (id === undefined || this.#complete.has(id)) return false;
      this.#complete.add(id);
      return true;
    });
    if (fresh.length > 0) this.#write("messages/complete", fresh);
  }

  #write(event: string, payload: unknown): void {
    const data = redactKnownValues(shownData(plainData(payload)), this.#known);
    const bytes = Buffer.byteLength(JSON.stringify(data));
    if (bytes <= maxEventBytes) this.write({ event, data });
    else this.write({ event: "omitted", data: { event: event.slice(0, 1_000), bytes } });
  }
}

/** Replaces the configs of snapshots, which hold parts of the engine, by the checkpoints that they name. */
function withoutConfigs(mode: string, payload: unknown): unknown {
  if (!isRecord(payload)) return payload;
  if (mode === "debug") return { ...payload, payload: withoutConfigs("", payload["payload"]) };
  const { config, parentConfig, tasks, state, ...rest } = payload;
  return {
    ...rest,
    ...(config !== undefined && { config: keyIn(config), checkpoint: checkpointIn(config) }),
    ...(parentConfig !== undefined && {
      parent_config: keyIn(parentConfig),
      parent_checkpoint: checkpointIn(parentConfig),
    }),
    ...(Array.isArray(tasks) && { tasks: tasks.map((task) => withoutConfigs("", task)) }),
    ...(state !== undefined &&
      (isRecord(state) && isRecord(state["configurable"])
        ? { checkpoint: checkpointIn(state) }
        : { state })),
  };
}

function checkpointIn(config: unknown): Record<string, unknown> | null {
  const { configurable } = isRecord(config) ? config : {};
  if (!isRecord(configurable)) return null;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = configurable;
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}

function keyIn(config: unknown): unknown {
  const configurable = checkpointIn(config);
  return configurable === null ? null : { configurable };
}

/** Leaves out keys of the engine, and the values that redactions replace. */
function shownData(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(shownData);
  if (!isRecord(data)) return data;
  return Object.fromEntries(
    Object.entries(data).flatMap(([name, value]) => {
      if (name.startsWith("__pregel")) return [];
      if (name !== "redactions" || !isRecord(value)) return [[name, shownData(value)]];
      const labels = Object.entries(value).map(([placeholder, redaction]) => [
        placeholder,
        isRecord(redaction) ? { label: redaction["label"] } : {},
      ]);
      return [[name, Object.fromEntries(labels)]];
    }),
  );
}
