import type { RunnableConfig } from "@langchain/core/runnables";
import { isCommand } from "@langchain/langgraph";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { GraphState } from "../state/channels.ts";
import { isRecord } from "../state/is-record.ts";
import { UnfinishedTurnError } from "./errors.ts";
import { checkInput } from "./input.ts";
import { overrideGraph } from "./override-graph.ts";
import { isInsideGraph, PrivateConfig } from "./private-config.ts";
import { startOfNewTurn, type StartableGraph } from "./turn-start.ts";
import { publicRequest, readWaiting } from "./waiting-requests.ts";

/** What guarding needs of a compiled graph: `invoke` and `streamEvents` go through `stream`. */
interface Runnable extends StartableGraph {
  stream(input: never, options?: never): Promise<unknown>;
  withConfig(config: never): unknown;
  /** A thread may be bound to the graph. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/**
 * Makes a graph start the turn of an input where `executeAgent` starts it, and returns it. An input is refused before
 * anything is written while the thread waits for an answer or its turn has not ended. After a turn that FAILED or was
 * CANCELLED it begins the next turn from the last completed one. LangGraph by itself writes an input on top of whatever is
 * there. The graph itself is changed; graphs derived by `withConfig` do the same. An agent inside of another is not changed.
 */
export function guardInputs<Compiled extends Runnable>(
  compiled: Compiled,
  definition: AgentDefinition,
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    return {
      stream: async (input: unknown, options?: RunnableConfig) =>
        stream(input as never, (await started(graph, { input, options, definition })) as never),
    };
  });
}

interface Run {
  readonly input: unknown;
  readonly options: RunnableConfig | undefined;
  readonly definition: AgentDefinition;
}

/** The thread whose new turn starts at the config. Tools that run agents of their own hand it on to other threads. */
const startedThread = new PrivateConfig<unknown>("started");

/** Says that a config is where a new turn of its thread starts. */
export function startingAt(config: RunnableConfig): RunnableConfig {
  return startedThread.with(config, config.configurable?.["thread_id"]);
}

/**
 * The options of a run with the checkpoint that it starts from.
 * @throws InvalidInputError, UnfinishedTurnError, TurnLimitError
 */
async function started(
  graph: Runnable,
  { input, options, definition }: Run,
): Promise<RunnableConfig | undefined> {
  if (input === null || input === undefined || isCommand(input)) return options;
  const configurable = { ...graph.config?.configurable, ...options?.configurable };
  const threadId: unknown = configurable["thread_id"];
  // Without a thread LangGraph has its own errors.
  if (typeof graph.checkpointer !== "object" || typeof threadId !== "string") return options;
  if (isInsideGraph(configurable) || startedThread.in({ configurable }) === threadId)
    return options;
  if (isRecord(input) && input["input"] != null) checkInput(definition, input["input"]);
  // LangGraph leaves out the namespace that a client names.
  const { checkpoint_id: named, checkpoint_ns: _namespace, ...ofThread } = configurable;
  const thread = { configurable: ofThread };
  // Chat clients name the newest checkpoint with every message.
  if (typeof named === "string" && named !== (await newestCheckpoint(graph, thread))) {
    await refuseWaiting(graph, { configurable }, threadId);
    return options;
  }
  const { max_turns: maxTurns } = definition.spec.execution_config;
  const start = await startOfNewTurn(graph, thread, { threadId, everyTurn: false, maxTurns });
  if (start === thread) return options;
  return { ...options, configurable: { ...options?.configurable, ...start.configurable } };
}

async function newestCheckpoint(graph: Runnable, thread: RunnableConfig): Promise<unknown> {
  const { config } = await graph.getState(thread);
  return config.configurable?.["checkpoint_id"];
}

/** A turn is forked from where one ended, not from where one waits. */
async function refuseWaiting(
  graph: Runnable,
  config: RunnableConfig,
  threadId: string,
): Promise<void> {
  const { snapshot, waiting } = await readWaiting(graph, config);
  if (waiting.length === 0) return;
  const { status = "CREATED" } = snapshot.values as Partial<GraphState>;
  throw new UnfinishedTurnError(threadId, status, waiting.map(publicRequest));
}
