// oxlint-disable no-underscore-dangle -- internal methods of LangGraph and LangChain.
import { BaseCallbackHandler, type CallbackHandlerMethods } from "@langchain/core/callbacks/base";
import { CallbackManager, type Callbacks } from "@langchain/core/callbacks/manager";
import type { Serialized } from "@langchain/core/load/serializable";
import { AIMessage, type BaseMessage, ChatMessage } from "@langchain/core/messages";
import type { LLMResult } from "@langchain/core/outputs";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton as context } from "@langchain/core/singletons";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { isRecord } from "../../values/json.ts";
import { overrideGraph } from "../agent-graph.ts";
import { propagateBounds, inheritedBounds } from "../loop/loop-config.ts";

/** Returns whether rails of an agent may redact: built-in ones that redact, and all custom ones. */
export function redacts({ spec }: Pick<AgentDefinition, "spec">): boolean {
  const { input_rails: input, output_rails: output } = spec.guardrail_config;
  return [...input, ...output].some(
    (rail) =>
      rail.type === "custom" || ("action" in rail.config && rail.config.action === "redact"),
  );
}

const withholding = new WeakSet<object>();

/** Returns whether a compiled graph, or a nested one, withholds values from callbacks. */
export function isWithholding(graph: object): boolean {
  return withholding.has(graph);
}

/** The parts of a compiled graph that withholding needs. */
interface Configured {
  bulkUpdateState(config: never, supersteps: never): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
}

interface Run {
  /** Returns the merged config of a run. */
  _defaults(config: RunnableConfig): unknown;
  /** Returns the merged config of a state edit. */
  _ownCheckpointConfig(config: RunnableConfig): RunnableConfig;
  /** Runs the nodes. */
  _runLoop(run: unknown): Promise<void>;
}

/**
 * Makes a graph withhold from callbacks everything that its rails may redact, and returns it. This covers the caller's
 * handlers and LangSmith's, which LangChain adds by environment variables. They receive every run with its name, kind,
 * ids, tags, time, model, usage and error code; inputs, outputs, messages and errors have placeholders. Streams to the
 * caller are unchanged. Changes the graph itself; graphs derived by `withConfig` do the same.
 */
export function withholdFromCallbacks<Compiled extends Configured>(compiled: Compiled): Compiled {
  withholding.add(compiled);
  return overrideGraph(compiled, (graph) => {
    const run = graph as unknown as Run;
    const defaults = run._defaults.bind(graph);
    const ownConfig = run._ownCheckpointConfig.bind(graph);
    const runLoop = run._runLoop.bind(graph);
    const bulkUpdateState = graph.bulkUpdateState.bind(graph);
    return {
      _defaults: (config: RunnableConfig) => defaults(withheldIn(config)),
      _ownCheckpointConfig: (config: RunnableConfig) => withheldIn(ownConfig(config)),
      _runLoop: (of: unknown) => withheldAround(() => runLoop(of)),
      bulkUpdateState: (config: never, supersteps: never) =>
        withheldAround(() => bulkUpdateState(config, supersteps)),
    };
  });
}

function withheldIn(config: RunnableConfig): RunnableConfig {
  const callbacks = withheld(config.callbacks);
  return callbacks === undefined ? config : { ...config, callbacks };
}

/** Withholds values also from callbacks in the async context: those of the node that calls the graph. */
function withheldAround<Result>(work: () => Promise<Result>): Promise<Result> {
  const around = context.getRunnableConfig() as RunnableConfig | undefined;
  return around?.callbacks === undefined ? work() : context.runWithConfig(withheldIn(around), work);
}

/** The handlers of LangChain and LangGraph that stream to the caller of a run. */
const streams: readonly string[] = [
  "StreamMessagesHandler",
  "StreamProtocolMessagesHandler",
  "StreamToolsHandler",
  "event_stream_tracer",
  "log_stream_tracer",
];
/** One per handler, because LangChain calls a handler once by its identity. */
const made = new WeakMap<object, WithheldHandler>();

function withheld(callbacks: Callbacks | undefined): Callbacks | undefined {
  // Adds the handlers configured by the environment. LangChain adds none that already exist.
  const manager = CallbackManager.configure(callbacks);
  if (manager === undefined) return undefined;
  manager.handlers = manager.handlers.map(withheldHandler);
  manager.inheritableHandlers = manager.inheritableHandlers.map(withheldHandler);
  return manager;
}

/** Returns the tracing handlers of callbacks, wrapped to send traces without values. */
function withheldTracers(callbacks: Callbacks | undefined): BaseCallbackHandler[] {
  const handlers: readonly object[] = Array.isArray(callbacks)
    ? callbacks
    : (callbacks?.handlers ?? []);
  return handlers.filter(
    (handler): handler is WithheldHandler => handler instanceof WithheldHandler && handler.isTracer,
  );
}

function withheldHandler(handler: BaseCallbackHandler): BaseCallbackHandler {
  if (handler instanceof WithheldHandler || streams.includes(handler.name)) return handler;
  const known = made.get(handler) ?? new WithheldHandler(handler);
  made.set(handler, known);
  return known;
}

type Methods = Required<CallbackHandlerMethods>;
type Withholding = {
  readonly [Name in keyof Methods]?: (...given: Parameters<Methods[Name]>) => readonly unknown[];
};

/** The arguments that replace those of each method. A method that is not listed is not called. */
const placeholders = {
  handleLLMStart: (llm, prompts, ...others) => [kindOf(llm), prompts.map(textOf), ...others],
  handleChatModelStart: (llm, messages, ...others) => [
    kindOf(llm),
    messages.map((list) => list.map(messageOf)),
    ...others,
  ],
  handleLLMNewToken: (_token, index, runId, parent, tags) => ["", index, runId, parent, tags],
  handleLLMEnd: (output, runId, parent, tags) => [resultOf(output), runId, parent, tags],
  handleLLMError: (error, runId, parent, tags) => [errorOf(error), runId, parent, tags],
  handleChainStart: (chain, _inputs, ...others) => [kindOf(chain), values, ...others],
  handleChainEnd: (_outputs, runId, parent, tags) => [values, runId, parent, tags],
  handleChainError: (error, runId, parent, tags) => [errorOf(error), runId, parent, tags],
  handleToolStart: (tool, input, ...others) => [kindOf(tool), textOf(input), ...others],
  handleToolEnd: (_output, ...others) => [text, ...others],
  handleToolError: (error, ...others) => [errorOf(error), ...others],
  handleRetrieverStart: (retriever, query, ...others) => [
    kindOf(retriever),
    textOf(query),
    ...others,
  ],
  handleRetrieverEnd: (_documents, ...others) => [[], ...others],
  handleRetrieverError: (error, ...others) => [errorOf(error), ...others],
  handleCustomEvent: (name, _data, ...others) => [name, text, ...others],
} satisfies Withholding;

/** A handler that receives runs without their values. */
class WithheldHandler extends BaseCallbackHandler {
  readonly name: string;
  /** Whether it is LangSmith's, by the name that LangChain uses. */
  readonly isTracer: boolean;

  constructor(inner: BaseCallbackHandler) {
    super(inner);
    this.name = inner.name;
    this.isTracer = inner.name === "langchain_tracer";
    this.awaitHandlers = inner.awaitHandlers;
    const methods: Record<string, unknown> = {};
    for (const [name, withhold] of Object.entries(placeholders)) {
      const method: unknown = Reflect.get(inner, name);
      if (typeof method !== "function") continue;
      const change = withhold as (...given: unknown[]) => readonly unknown[];
      methods[name] = (...given: unknown[]): unknown =>
        Reflect.apply(method, inner, change(...given));
    }
    // LangChain links runs of functions that trace themselves to those of its tracer.
    for (const name of ["updateFromRunTree", "getRunTreeWithTracingConfig", "convertToRunTree"]) {
      const method: unknown = Reflect.get(inner, name);
      if (typeof method === "function") methods[name] = method.bind(inner);
    }
    Object.assign(this, methods);
  }

  override copy(): BaseCallbackHandler {
    return this;
  }
}

const text = "[withheld]";
const values = { values: text };

function textOf(given: unknown): string {
  if (typeof given !== "string") return text;
  return `[withheld: ${given.length.toLocaleString("en")} characters]`;
}

/** Returns a message of the same kind with only the names of its called tools. */
function messageOf(message: BaseMessage): BaseMessage {
  const content = textOf(message.content);
  if (!AIMessage.isInstance(message)) {
    return new ChatMessage({ content, role: message.type });
  }
  const { tool_calls: calls = [], usage_metadata: usage, response_metadata: about } = message;
  return new AIMessage({
    content,
    tool_calls: calls.map(({ name, id }) => ({
      name,
      args: {},
      type: "tool_call",
      ...(id && { id }),
    })),
    response_metadata: figuresOf(about),
    ...(usage !== undefined && { usage_metadata: usage }),
  });
}

function resultOf({ generations, llmOutput }: LLMResult): LLMResult {
  return {
    generations: generations.map((list) =>
      list.map((generation) => {
        const { message } = generation as { readonly message?: BaseMessage };
        return { text: textOf(generation.text), ...(message && { message: messageOf(message) }) };
      }),
    ),
    ...(llmOutput !== undefined && { llmOutput: figuresOf(llmOutput) }),
  };
}

const kept: readonly string[] = ["model", "model_name", "model_provider", "finish_reason"];

/** Returns numbers, and fields that are known not to be part of the answer. */
function figuresOf(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).flatMap(([key, value]): [string, unknown][] => {
      if (isRecord(value)) return [[key, figuresOf(value)]];
      return typeof value === "number" || kept.includes(key) ? [[key, value]] : [];
    }),
  );
}

/** Returns the identity of a runnable without its constructor arguments: a prompt may have values in its text. */
function kindOf({ id, name }: Partial<Serialized>): Serialized {
  return { lc: 1, type: "not_implemented", id: id ?? [], ...(name !== undefined && { name }) };
}

const identifier = /^[A-Za-z_]\w{0,60}$/;

/** Returns an error with the same name and code, if these are program identifiers. */
function errorOf(thrown: unknown): Error {
  const { name = "Error", code } = (thrown ?? {}) as { name?: unknown; code?: unknown };
  const error = new Error(text);
  error.name = typeof name === "string" && identifier.test(name) ? name : "Error";
  error.stack = `${error.name}: ${text}`;
  return typeof code === "string" && identifier.test(code) ? Object.assign(error, { code }) : error;
}

/**
 * Runs work outside the caller's LangGraph run: a tool that runs an agent must not lend it its own thread. Bounds for
 * nested agents stay in the work's config, and values stay withheld from the caller's tracers.
 */
export function inOwnRun<Result>(
  config: RunnableConfig,
  work: (config: RunnableConfig) => Promise<Result>,
): Promise<Result> {
  const around = context.getRunnableConfig() as RunnableConfig | undefined;
  const bounds = around === undefined ? null : inheritedBounds(around);
  const callbacks = withheldTracers(around?.callbacks);
  const own = bounds === null ? config : propagateBounds(config, bounds);
  return context.runWithConfig(
    undefined,
    () => work(callbacks.length === 0 ? own : { ...own, callbacks }),
    true,
  );
}
