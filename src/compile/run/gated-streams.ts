// oxlint-disable no-underscore-dangle -- internal methods of LangGraph and LangChain, which all stream methods use.
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isCommand } from "@langchain/langgraph";
import { isRecord } from "../../values/json.ts";
import type { StepRecord } from "../../state/step-record.ts";
import type { SubtaskStates } from "../../state/plan.ts";
import { overrideGraph } from "../agent-graph.ts";
import {
  isOutputGated,
  PrivateConfig,
  stripResults,
  stripTexts,
  modelWrittenFields,
} from "./run-config.ts";

type Chunks = AsyncGenerator;

/** The parts of a compiled graph that gating needs: `stream` reads `_streamIterator`. */
interface Streamed {
  invoke(input: never, options?: never): Promise<unknown>;
  _streamIterator(input: never, options?: never): Chunks;
  withConfig(config: never): unknown;
}

/** The event sources of `streamEvents`, by version. */
interface EventSource {
  _streamEventsV1(input: unknown, options: unknown, filter?: unknown): Chunks;
  _streamEventsV2(input: unknown, options: unknown, filter?: unknown): Chunks;
}

/** Tag of every run within an agent that has output rails. */
const gatedTag = "stratagraph:held";
/** Tag of every run within an agent nested in one that has output rails: its answer is not accepted yet. */
const insideTag = "stratagraph:held-inside";

const wholeState = new PrivateConfig<true>("whole_state");

/**
 * Returns the config of a run whose caller receives the state as stored, and publishes none of it before the run ends.
 */
export function withWholeState<Config extends RunnableConfig>(config: Config): Config {
  return wholeState.with(config, true);
}

/**
 * Makes a graph stream its state without answers that its output rails have not accepted, in every stream mode and in
 * `streamEvents`, and returns it. The stored state, and the result of `invoke`, keep them. Changes the graph itself;
 * graphs derived by `withConfig` do the same. In a nested graph it changes the stream to the outer graph.
 *
 * @param hasRails whether the agent itself has output rails
 */
export function gateStreams<Compiled extends Streamed>(
  compiled: Compiled,
  { hasRails }: { readonly hasRails: boolean },
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const invoke = graph.invoke.bind(graph);
    const streamIterator = graph._streamIterator.bind(graph);
    const events = graph as unknown as EventSource;
    const eventsV1 = events._streamEventsV1.bind(graph);
    const eventsV2 = events._streamEventsV2.bind(graph);
    return {
      invoke: (input: never, options?: RunnableConfig) =>
        invoke(input, withWholeState(options ?? {}) as never),
      _streamIterator: (input: never, options: StreamOptions = {}) => {
        const tags = [hasRails && gatedTag, isOutputGated(options) && insideTag].filter(
          (tag) => tag !== false,
        );
        if (tags.length === 0) return streamIterator(input, options as never);
        const tagged = { ...options, tags: [...(options.tags ?? []), ...tags] };
        if (!hasRails) return streamIterator(input, tagged as never);
        if (isStream(options.configurable?.[streamKey])) {
          return streamIterator(input, gatedAround(tagged) as never);
        }
        const chunks = streamIterator(input, tagged as never);
        return wholeState.in(options) === true ? chunks : gatedChunks(chunks, options);
      },
      _streamEventsV1: (...given: Parameters<EventSource["_streamEventsV1"]>) =>
        gatedEvents(eventsV1(...given), hasRails),
      _streamEventsV2: (...given: Parameters<EventSource["_streamEventsV2"]>) =>
        gatedEvents(eventsV2(...given), hasRails),
    };
  });
}

interface StreamOptions extends RunnableConfig {
  readonly streamMode?: string | readonly string[];
  readonly subgraphs?: boolean;
  readonly encoding?: string;
}

/** Key under which LangGraph passes the outer graph's stream to nested graphs. */
const streamKey = "__pregel_stream";

type Chunk = readonly [namespace: readonly string[], mode: string, payload: unknown];

interface ChunkStream {
  readonly modes: ReadonlySet<string>;
  push(chunk: Chunk): void;
}

function isStream(value: unknown): value is ChunkStream {
  if (typeof value !== "object" || value === null) return false;
  const { push, modes } = value as Partial<ChunkStream>;
  return typeof push === "function" && modes instanceof Set;
}

/** Returns the options of a nested run, which streams to the outer graph without gated answers. */
function gatedAround<Options extends StreamOptions>(options: Options): Options {
  const { configurable = {} } = options;
  const around = configurable[streamKey] as ChunkStream;
  const own = String(configurable["checkpoint_ns"] ?? "").split("|").length;
  const stream: ChunkStream = {
    modes: around.modes,
    push: ([namespace, mode, payload]) =>
      around.push([namespace, mode, gatedPayload(mode, payload, namespace.length > own)]),
  };
  return { ...options, configurable: { ...configurable, [streamKey]: stream } };
}

/** Gates chunks in all of LangGraph's forms: with a namespace, a mode, both or neither. */
async function* gatedChunks(chunks: Chunks, options: StreamOptions): Chunks {
  const { streamMode = "updates", subgraphs = false, encoding } = options;
  const only = typeof streamMode === "string" && encoding === undefined ? streamMode : null;
  const hasNamespace = subgraphs || (encoding !== undefined && !("version" in options));
  for await (const chunk of chunks) {
    const parts = hasNamespace || only === null ? [...(chunk as unknown[])] : [chunk];
    const mode = only ?? String(parts.at(-2));
    const isInside = hasNamespace && Array.isArray(parts[0]) && parts[0].length > 0;
    const held = gatedPayload(mode, parts.at(-1), isInside);
    yield parts.length === 1 ? held : [...parts.slice(0, -1), held];
  }
}

interface StreamedEvent {
  readonly event: string;
  readonly run_id: string;
  readonly tags?: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

async function* gatedEvents(events: Chunks, hasRails: boolean): Chunks {
  let root: string | undefined;
  for await (const event of events as AsyncGenerator<StreamedEvent>) {
    root ??= event.run_id;
    // The graph's own chunks were gated when they were created.
    const isOwn = event.run_id === root;
    const isHeld = isOwn
      ? hasRails && event.event !== "on_chain_stream"
      : event.tags?.includes(gatedTag) === true;
    yield isHeld ? gatedEvent(event) : event;
  }
}

/** Returns an event without model output, and with gated states and updates. */
function gatedEvent(event: StreamedEvent): StreamedEvent {
  if (event.event.startsWith("on_tool_") || event.event === "on_custom_event") return event;
  if (!event.event.startsWith("on_chain_")) return { ...event, data: {} };
  const isInside = event.tags?.includes(insideTag) === true;
  const data = Object.entries(event.data).map(([name, value]) => [
    name,
    isUpdate(value) || isCommand(value) ? gatedUpdate(value, isInside) : undefined,
  ]);
  return { ...event, data: Object.fromEntries(data) };
}

function gatedPayload(mode: string, payload: unknown, isInside: boolean): unknown {
  if (!isRecord(payload)) return payload;
  switch (mode) {
    case "values":
      return gatedUpdate(payload, isInside);
    case "updates":
      return mapValues(payload, (update, node) =>
        node.startsWith("__") ? update : gatedUpdate(update, isInside),
      );
    case "tasks":
      return gatedTask(payload, isInside);
    case "checkpoints":
      return gatedCheckpoint(payload, isInside);
    case "debug": {
      const isCheckpoint = payload["type"] === "checkpoint";
      const inner = gatedPayload(
        isCheckpoint ? "checkpoints" : "tasks",
        payload["payload"],
        isInside,
      );
      return { ...payload, payload: inner };
    }
    // Messages, custom events and tool events are gated where they are created.
    default:
      return payload;
  }
}

function gatedTask(task: Readonly<Record<string, unknown>>, isInside: boolean): unknown {
  return {
    ...task,
    ...("input" in task && { input: gatedUpdate(task["input"], isInside) }),
    ...("result" in task && { result: gatedUpdate(task["result"], isInside) }),
  };
}

function gatedCheckpoint(
  checkpoint: Readonly<Record<string, unknown>>,
  isInside: boolean,
): unknown {
  const { values, tasks } = checkpoint;
  return {
    ...checkpoint,
    ...("values" in checkpoint && { values: gatedUpdate(values, isInside) }),
    ...(Array.isArray(tasks) && {
      tasks: tasks.map((task: unknown) => (isRecord(task) ? gatedTask(task, isInside) : task)),
    }),
  };
}

const channels = ["steps", "turn", "messages", "nodes", "subtasks", "branches", "status", "usage"];

function isUpdate(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && channels.some((channel) => Object.hasOwn(value, channel));
}

/** Gates a state, a node's update, or several of these. */
function gatedUpdate(value: unknown, isInside: boolean): unknown {
  if (isCommand(value)) {
    const { update, goto, graph, resume } = value;
    const held = gatedUpdate(update, isInside) as Record<string, unknown>;
    return new Command({
      update: held,
      goto,
      ...(graph !== undefined && { graph }),
      ...(resume !== undefined && { resume }),
    });
  }
  if (Array.isArray(value)) return value.map((one: unknown) => gatedUpdate(one, isInside));
  return isRecord(value) ? new Gate(value, isInside).state() : value;
}

/** Removes unaccepted answers from a state or an update. */
class Gate {
  readonly #accepted: ReadonlySet<string>;
  readonly #held = new Set<string>();

  constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly isInside: boolean,
  ) {
    // An answer enters the conversation when all rails have accepted it.
    this.#accepted = new Set(isInside ? [] : textsOf(values["messages"]));
  }

  state(): Readonly<Record<string, unknown>> {
    this.#changed(); // Finds all that is held: records of a planner repeat what its workers gave.
    return mapValues(this.#changed(), (value, channel) =>
      channel === "execution" || channel === "attempt" ? this.#without(value, 0) : value,
    );
  }

  #changed(): Readonly<Record<string, unknown>> {
    const change: Readonly<Record<string, (value: never) => unknown>> = {
      steps: (steps: readonly StepRecord[]) => steps.map((step) => this.#step(step)),
      current_step: (step: StepRecord) => this.#step(step),
      turn: (turn: Readonly<Record<string, unknown>>) => this.#turn(turn),
      nodes: (nodes: object) => mapValues(nodes, (output) => this.#output(output)),
      subtasks: (subtasks: SubtaskStates) => {
        this.#holdResults(subtasks);
        return stripResults(subtasks);
      },
      // The input of a nested agent may be another one's answer.
      ...(this.isInside && { messages: () => [], output: () => null, input: () => null }),
    };
    return mapValues(this.values, (value, channel) => {
      const held = Object.hasOwn(change, channel) ? change[channel] : undefined;
      return held === undefined ? value : eachWrite(value, held as (value: unknown) => unknown);
    });
  }

  #step({ reasoning, ...step }: StepRecord): StepRecord {
    if (reasoning !== undefined) this.#hold(reasoning.text);
    if (step.tool_predictions.length > 0) {
      const results = step.tool_results?.map((call) => {
        return { ...call, result: this.#without(call.result, maxDepth) };
      });
      return results === undefined ? step : { ...step, tool_results: results };
    }
    if (this.#accepted.has(step.thought)) return step;
    this.#hold(step.thought);
    return { ...step, thought: "" };
  }

  #turn(turn: Readonly<Record<string, unknown>>): unknown {
    const { draft, failed_attempts: failed } = turn;
    if (isRecord(draft)) this.#hold(draft["answer"]);
    const withoutAnswer = (attempt: unknown) => {
      if (!isRecord(attempt)) return attempt;
      this.#hold(attempt["answer"]);
      const { execution_view: _view, ...rest } = attempt;
      return { ...rest, answer: null };
    };
    return {
      ...turn,
      ...("draft" in turn && { draft: null }),
      ...(Array.isArray(failed) && { failed_attempts: failed.map(withoutAnswer) }),
    };
  }

  #output(output: unknown): unknown {
    if (!isRecord(output)) return output;
    if (typeof output["text"] === "string" && this.#accepted.has(output["text"])) return output;
    for (const name of modelWrittenFields) this.#hold(output[name]);
    if (isRecord(output["subtasks"])) this.#holdResults(output["subtasks"] as SubtaskStates);
    return stripTexts(output);
  }

  #holdResults(subtasks: SubtaskStates): void {
    for (const { result } of Object.values(subtasks)) this.#hold(result);
  }

  #hold(value: unknown): void {
    if (typeof value === "string" && value !== "" && !this.#accepted.has(value)) {
      this.#held.add(value);
    } else if (typeof value === "object" && value !== null) this.#held.add(JSON.stringify(value));
  }

  /** Returns a tier's value without gated texts and objects. */
  #without(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#held.has(value) ? "" : value;
    if (typeof value !== "object" || value === null || depth > maxDepth) return value;
    if (this.#held.has(JSON.stringify(value))) return null;
    if (Array.isArray(value)) return value.map((one: unknown) => this.#without(one, depth + 1));
    return mapValues(value, (one) => this.#without(one, depth + 1));
  }
}

/** Levels of a tier in which gated texts are searched. */
const maxDepth = 4;

function textsOf(messages: unknown): readonly string[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown) => {
    const content = isRecord(message) ? message["content"] : undefined;
    return typeof content === "string" ? [content] : [];
  });
}

/** Applies a change to each write; LangGraph lists several writes of a task to one channel as `$writes`. */
function eachWrite(value: unknown, change: (value: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const writes = "$writes" in value ? value.$writes : undefined;
  return Array.isArray(writes) ? { $writes: writes.map(change) } : change(value);
}

function mapValues<Value>(
  record: Readonly<Record<string, Value>> | object,
  change: (value: Value, key: string) => unknown,
): Record<string, unknown> {
  const entries = Object.entries(record) as [string, Value][];
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value, key)]));
}
