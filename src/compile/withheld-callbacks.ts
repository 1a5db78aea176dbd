// oxlint-disable no-underscore-dangle -- what LangGraph and LangChain call their own.
import { BaseCallbackHandler, type CallbackHandlerMethods } from "@langchain/core/callbacks/base";
import { CallbackManager, type Callbacks } from "@langchain/core/callbacks/manager";
import { AIMessage, ChatMessage, type BaseMessage } from "@langchain/core/messages";
import type { LLMResult } from "@langchain/core/outputs";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton as context } from "@langchain/core/singletons";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { isRecord } from "../state/is-record.ts";
import { overrideGraph } from "./override-graph.ts";

/** Whether rails of an agent may redact: those that say so, and custom ones, of which that is not known. */
export function redacts({ spec }: Pick<AgentDefinition, "spec">): boolean {
  const { input_rails: input, output_rails: output } = spec.guardrail_config;
  return [...input, ...output].some(
    (rail) =>
      rail.type === "custom" || ("action" in rail.config && rail.config.action === "redact"),
  );
}

const withholding = new WeakSet<object>();

/** Whether a compiled graph, or one inside of it, tells callbacks nothing that may be redacted. */
export function isWithholding(graph: object): boolean {
  return withholding.has(graph);
}

/** What withholding needs of a compiled graph: each run asks `_defaults` for its config, which was merged by then. */
interface Configured {
  withConfig(config: never): unknown;
}

interface Defaulting {
  _defaults(config: RunnableConfig): unknown;
  /** Runs the nodes, which take callbacks from their context too: those of the node that calls the graph. */
  _runLoop(run: unknown): Promise<void>;
}

/**
 * Makes a graph tell callbacks nothing that its rails may redact, and returns it: neither those that a caller gives nor
 * LangSmith's, which LangChain adds where the environment asks for it. They learn of every run with its name, kind,
 * ids, tags, time, model, usage and error code; inputs, outputs, messages and errors have placeholders. What streams to
 * the caller stays. The graph itself is changed; graphs derived by `withConfig` do the same.
 */
export function withholdFromCallbacks<Compiled extends Configured>(compiled: Compiled): Compiled {
  withholding.add(compiled);
  return overrideGraph(compiled, (graph) => {
    const run = graph as unknown as Defaulting;
    const defaults = run._defaults.bind(graph);
    const runLoop = run._runLoop.bind(graph);
    return {
      _defaults: (config: RunnableConfig) =>
        defaults({ ...config, callbacks: withheld(config.callbacks) }),
      _runLoop: (of: unknown) => {
        const around = context.getRunnableConfig() as RunnableConfig | undefined;
        if (around?.callbacks === undefined) return runLoop(of);
        const within = { ...around, callbacks: withheld(around.callbacks) };
        return context.runWithConfig(within, () => runLoop(of));
      },
    };
  });
}

/** The handlers of LangChain and LangGraph that stream to the caller of a run. */
const streams: readonly string[] = [
  "StreamMessagesHandler",
  "StreamProtocolMessagesHandler",
  "StreamToolsHandler",
  "event_stream_tracer",
  "log_stream_tracer",
];
/** One for each handler, since LangChain tells a handler once by its identity. */
const made = new WeakMap<object, WithheldHandler>();

function withheld(callbacks: Callbacks | undefined): Callbacks | undefined {
  // Adds what the environment asks for. Where that is there already, as it is from then on, LangChain adds none.
  const manager = CallbackManager.configure(callbacks);
  if (manager === undefined) return undefined;
  manager.handlers = manager.handlers.map(withheldHandler);
  manager.inheritableHandlers = manager.inheritableHandlers.map(withheldHandler);
  return manager;
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

/** What each method is given instead. A method that is not here is not called. */
const placeholders = {
  handleLLMStart: (llm, prompts, ...others) => [llm, prompts.map(textOf), ...others],
  handleChatModelStart: (llm, messages, ...others) => [
    llm,
    messages.map((list) => list.map(messageOf)),
    ...others,
  ],
  handleLLMNewToken: (_token, index, runId, parent, tags) => ["", index, runId, parent, tags],
  handleLLMEnd: (output, runId, parent, tags) => [resultOf(output), runId, parent, tags],
  handleLLMError: (error, runId, parent, tags) => [errorOf(error), runId, parent, tags],
  handleChainStart: (chain, _inputs, ...others) => [chain, values, ...others],
  handleChainEnd: (_outputs, runId, parent, tags) => [values, runId, parent, tags],
  handleChainError: (error, runId, parent, tags) => [errorOf(error), runId, parent, tags],
  handleToolStart: (tool, input, ...others) => [tool, textOf(input), ...others],
  handleToolEnd: (_output, ...others) => [text, ...others],
  handleToolError: (error, ...others) => [errorOf(error), ...others],
  handleRetrieverStart: (retriever, query, ...others) => [retriever, textOf(query), ...others],
  handleRetrieverEnd: (_documents, ...others) => [[], ...others],
  handleRetrieverError: (error, ...others) => [errorOf(error), ...others],
  handleCustomEvent: (name, _data, ...others) => [name, text, ...others],
} satisfies Withholding;

/** A handler that is told of runs without their values. */
class WithheldHandler extends BaseCallbackHandler {
  readonly name: string;

  constructor(inner: BaseCallbackHandler) {
    super(inner);
    this.name = inner.name;
    this.awaitHandlers = inner.awaitHandlers;
    const methods: Record<string, unknown> = {};
    for (const [name, withhold] of Object.entries(placeholders)) {
      const method: unknown = Reflect.get(inner, name);
      if (typeof method !== "function") continue;
      const change = withhold as (...given: unknown[]) => readonly unknown[];
      methods[name] = (...given: unknown[]): unknown =>
        Reflect.apply(method, inner, change(...given));
    }
    // LangChain links the runs of functions that handlers trace themselves to those of its tracer.
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

/** A message of the same kind, with the names of the tools that it calls. */
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

/** Numbers, and what is known not to be a part of the answer. */
function figuresOf(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).flatMap(([key, value]): [string, unknown][] => {
      if (isRecord(value)) return [[key, figuresOf(value)]];
      return typeof value === "number" || kept.includes(key) ? [[key, value]] : [];
    }),
  );
}

/** An error of the same name and code. */
function errorOf(thrown: unknown): Error {
  const { name = "Error", code } = (thrown ?? {}) as { name?: unknown; code?: unknown };
  const error = new Error(text);
  error.name = String(name);
  error.stack = `${error.name}: ${text}`;
  return typeof code === "string" ? Object.assign(error, { code }) : error;
}
