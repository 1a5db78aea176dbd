// oxlint-disable no-underscore-dangle -- what LangGraph and LangChain call themselves, all stream methods through them.
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isCommand } from "@langchain/langgraph";
import { isRecord } from "../state/is-record.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { SubtaskStates } from "../state/subtask-state.ts";
import { overrideGraph } from "./override-graph.ts";
import { PrivateConfig } from "./private-config.ts";
import { areAnswersHeld, withoutResults, withoutTexts, written } from "./loop/held-answers.ts";

type Chunks = AsyncGenerator;

/** What holding needs of a compiled graph: `stream` reads `_streamIterator`. */
interface Streamed {
  invoke(input: never, options?: never): Promise<unknown>;
  _streamIterator(input: never, options?: never): Chunks;
  withConfig(config: never): unknown;
}

/** What `streamEvents` reads, by the version asked for. */
interface EventSource {
  _streamEventsV1(input: unknown, options: unknown, filter?: unknown): Chunks;
  _streamEventsV2(input: unknown, options: unknown, filter?: unknown): Chunks;
}

/** On every run within an agent that has output rails. */
const heldTag = "stratagraph:held";
/** On every run within an agent inside of one that has output rails: what it answers is not accepted yet. */
const insideTag = "stratagraph:held-inside";

const wholeState = new PrivateConfig<true>("whole_state");

/** The config of a run whose caller takes the state as it is stored, and hands on none of it before the run ends. */
export function withWholeState<Config extends RunnableConfig>(config: Config): Config {
  return wholeState.with(config, true);
}

/**
 * Makes a graph stream its state without answers that its output rails have not accepted, in every stream mode and in
 * `streamEvents`, and returns it. The stored state, and what `invoke` returns, keep them. The graph itself is changed;
 * graphs derived by `withConfig` do the same. Inside of another graph, what it streams there is changed.
 * @param hasRails whether the agent itself has output rails
 */
export function holdStreams<Compiled extends Streamed>(
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
        const tags = [hasRails && heldTag, areAnswersHeld(options) && insideTag].filter(
          (tag) => tag !== false,
        );
        if (tags.length === 0) return streamIterator(input, options as never);
        const tagged = { ...options, tags: [...(options.tags ?? []), ...tags] };
        if (!hasRails) return streamIterator(input, tagged as never);
        if (isStream(options.configurable?.[streamKey])) {
          return streamIterator(input, heldAround(tagged) as never);
        }
        const chunks = streamIterator(input, tagged as never);
        return wholeState.in(options) === true ? chunks : heldChunks(chunks, options);
      },
      _streamEventsV1: (...given: Parameters<EventSource["_streamEventsV1"]>) =>
        heldEvents(eventsV1(...given), hasRails),
      _streamEventsV2: (...given: Parameters<EventSource["_streamEventsV2"]>) =>
        heldEvents(eventsV2(...given), hasRails),
    };
  });
}

interface StreamOptions extends RunnableConfig {
  readonly streamMode?: string | readonly string[];
  readonly subgraphs?: boolean;
  readonly encoding?: string;
}

/** Where LangGraph hands the stream of the graph around to those inside. */
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

/** The options of a run inside of another graph, which streams there without held answers. */
function heldAround<Options extends StreamOptions>(options: Options): Options {
  const { configurable = {} } = options;
  const around = configurable[streamKey] as ChunkStream;
  const own = String(configurable["checkpoint_ns"] ?? "").split("|").length;
  const stream: ChunkStream = {
    modes: around.modes,
    push: ([namespace, mode, payload]) =>
      around.push([namespace, mode, heldPayload(mode, payload, namespace.length > own)]),
  };
  return { ...options, configurable: { ...configurable, [streamKey]: stream } };
}

/** Chunks in the shape that LangGraph gives them: with a namespace, a mode, both or neither. */
async function* heldChunks(chunks: Chunks, options: StreamOptions): Chunks {
  const { streamMode = "updates", subgraphs = false, encoding } = options;
  const only = typeof streamMode === "string" && encoding === undefined ? streamMode : null;
  const hasNamespace = subgraphs || (encoding !== undefined && !("version" in options));
  for await (const chunk of chunks) {
    const parts = hasNamespace || only === null ? [...(chunk as unknown[])] : [chunk];
    const mode = only ?? String(parts.at(-2));
    const isInside = hasNamespace && Array.isArray(parts[0]) && parts[0].length > 0;
    const held = heldPayload(mode, parts.at(-1), isInside);
    yield parts.length === 1 ? held : [...parts.slice(0, -1), held];
  }
}

interface StreamedEvent {
  readonly event: string;
  readonly run_id: string;
  readonly tags?: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

async function* heldEvents(events: Chunks, hasRails: boolean): Chunks {
  let root: string | undefined;
  for await (const event of events as AsyncGenerator<StreamedEvent>) {
    root ??= event.run_id;
    // The graph's own chunks were held when they were made.
    const isOwn = event.run_id === root;
    const isHeld = isOwn
      ? hasRails && event.event !== "on_chain_stream"
      : event.tags?.includes(heldTag) === true;
    yield isHeld ? heldEvent(event) : event;
  }
}

/** An event without what it says of models, and with states and updates as they are streamed. */
function heldEvent(event: StreamedEvent): StreamedEvent {
  if (event.event.startsWith("on_tool_") || event.event === "on_custom_event") return event;
  if (!event.event.startsWith("on_chain_")) return { ...event, data: {} };
  const isInside = event.tags?.includes(insideTag) === true;
  const data = Object.entries(event.data).map(([name, value]) => [
    name,
    isUpdate(value) || isCommand(value) ? heldUpdate(value, isInside) : undefined,
  ]);
  return { ...event, data: Object.fromEntries(data) };
}

function heldPayload(mode: string, payload: unknown, isInside: boolean): unknown {
  if (!isRecord(payload)) return payload;
  switch (mode) {
    case "values":
      return heldUpdate(payload, isInside);
    case "updates":
      return mapValues(payload, (update, node) =>
        node.startsWith("__") ? update : heldUpdate(update, isInside),
      );
    case "tasks":
      return heldTask(payload, isInside);
    case "checkpoints":
      return heldCheckpoint(payload, isInside);
    case "debug": {
      const isCheckpoint = payload["type"] === "checkpoint";
      const inner = heldPayload(
        isCheckpoint ? "checkpoints" : "tasks",
        payload["payload"],
        isInside,
      );
      return { ...payload, payload: inner };
    }
    // Messages, custom events and tools are held where they are made.
    default:
      return payload;
  }
}

function heldTask(task: Readonly<Record<string, unknown>>, isInside: boolean): unknown {
  return {
    ...task,
    ...("input" in task && { input: heldUpdate(task["input"], isInside) }),
    ...("result" in task && { result: heldUpdate(task["result"], isInside) }),
  };
}

function heldCheckpoint(checkpoint: Readonly<Record<string, unknown>>, isInside: boolean): unknown {
  const { values, tasks } = checkpoint;
  return {
    ...checkpoint,
    ...("values" in checkpoint && { values: heldUpdate(values, isInside) }),
    ...(Array.isArray(tasks) && {
      tasks: tasks.map((task: unknown) => (isRecord(task) ? heldTask(task, isInside) : task)),
    }),
  };
}

const channels = ["steps", "turn", "messages", "nodes", "subtasks", "branches", "status", "usage"];

function isUpdate(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && channels.some((channel) => Object.hasOwn(value, channel));
}

/** A state, what a node has written to it, or several of these. */
function heldUpdate(value: unknown, isInside: boolean): unknown {
  if (isCommand(value)) {
    const { update, goto, graph, resume } = value;
    const held = heldUpdate(update, isInside) as Record<string, unknown>;
    return new Command({
      update: held,
      goto,
      ...(graph !== undefined && { graph }),
      ...(resume !== undefined && { resume }),
    });
  }
  if (Array.isArray(value)) return value.map((one: unknown) => heldUpdate(one, isInside));
  return isRecord(value) ? new Holding(value, isInside).state() : value;
}

/** Takes what rails have not accepted out of a state, or of an update of one. */
class Holding {
  readonly #accepted: ReadonlySet<string>;
  readonly #held = new Set<string>();

  constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly isInside: boolean,
  ) {
    // An answer comes into the conversation when all rails have accepted it.
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
        return withoutResults(subtasks);
      },
      // What an agent inside is given may be what another one has answered.
      ...(this.isInside && { messages: () => [], output: () => null, input: () => null }),
    };
    return mapValues(this.values, (value, channel) => {
      const held = Object.hasOwn(change, channel) ? change[channel] : undefined;
      return held === undefined ? value : eachWrite(value, held as (value: unknown) => unknown);
    });
  }

  #step(step: StepRecord): StepRecord {
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
      return { ...attempt, answer: null };
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
    for (const name of written) this.#hold(output[name]);
    if (isRecord(output["subtasks"])) this.#holdResults(output["subtasks"] as SubtaskStates);
    return withoutTexts(output);
  }

  #holdResults(subtasks: SubtaskStates): void {
    for (const { result } of Object.values(subtasks)) this.#hold(result);
  }

  #hold(value: unknown): void {
    if (typeof value === "string" && value !== "" && !this.#accepted.has(value)) {
      this.#held.add(value);
    } else if (typeof value === "object" && value !== null) this.#held.add(JSON.stringify(value));
  }

  /** A value of a tier without texts and objects that are held. */
  #without(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#held.has(value) ? "" : value;
    if (typeof value !== "object" || value === null || depth > maxDepth) return value;
    if (this.#held.has(JSON.stringify(value))) return null;
    if (Array.isArray(value)) return value.map((one: unknown) => this.#without(one, depth + 1));
    return mapValues(value, (one) => this.#without(one, depth + 1));
  }
}

/** Levels of a tier in which held texts are looked for. */
const maxDepth = 4;

function textsOf(messages: unknown): readonly string[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown) => {
    const content = isRecord(message) ? message["content"] : undefined;
    return typeof content === "string" ? [content] : [];
  });
}

/** LangGraph lists what a task has written to a channel more than once as `$writes`. */
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
