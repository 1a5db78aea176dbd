import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { StratagraphError } from "../errors.ts";
import { isRecord } from "../state/is-record.ts";
import { overrideGraph } from "./override-graph.ts";
import { isInsideGraph, PrivateConfig } from "./private-config.ts";

/** Where a run's config says that it may go on with another agent's thread. */
const acceptKey = "accept_agent";
const checked = new PrivateConfig<true>("owner_checked");

/** An agent was to go on with a thread that belongs to another. Nothing was written. */
export class ForeignThreadError extends StratagraphError {
  readonly code = "foreign_thread";

  constructor(
    readonly threadId: string,
    /** The name of the agent that the thread belongs to. */
    readonly owner: string,
    /** The name of the agent that was refused. */
    readonly agent: string,
    option: string,
  ) {
    super(`Thread "${threadId}" belongs to agent "${owner}", and this is agent "${agent}".`, {
      advice: `Use another thread, or ${option} to have "${agent}" go on with it.`,
    });
  }
}

/** The agent that a checkpoint's thread belongs to; null for a checkpoint that does not say. */
export function ownerAt(tuple: Pick<CheckpointTuple, "checkpoint"> | undefined): string | null {
  const turn: unknown = tuple?.checkpoint.channel_values["turn"];
  const owner = isRecord(turn) ? turn["agent"] : undefined;
  return typeof owner === "string" ? owner : null;
}

/**
 * Refuses a checkpoint of another agent's thread. A checkpoint that does not name its agent is accepted.
 *
 * @param agent the name of the agent that would continue the thread
 * @throws ForeignThreadError
 */
export function refuseForeign(
  agent: string,
  tuple: CheckpointTuple | undefined,
  thread: {
    readonly threadId: string;
    readonly acceptAgent?: boolean;
    /** How to accept the thread, for the error. Default: the option of `executeAgent`. */
    readonly option?: string;
  },
): void {
  const { threadId, acceptAgent = false, option = "pass acceptAgent: true" } = thread;
  const owner = ownerAt(tuple);
  if (owner === null || owner === agent || acceptAgent) return;
  throw new ForeignThreadError(threadId, owner, agent, option);
}

/** Says of a run that its thread's owner has been checked, or that another agent's thread is accepted. */
export function ownerChecked(config: RunnableConfig): RunnableConfig {
  return checked.with(config, true);
}

/** What guarding needs of a compiled graph: `invoke` and `streamEvents` go through `stream`. */
interface Guarded {
  readonly checkpointer?: BaseCheckpointSaver | boolean | undefined;
  stream(input: never, options?: never): Promise<unknown>;
  bulkUpdateState(config: never, supersteps: never): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
  /** A thread may be bound to the graph. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/**
 * Makes a graph refuse the threads of other agents before LangGraph writes anything, and returns it. A config with
 * `configurable.accept_agent: true` goes on with them. A thread that does not say whose it is belongs to the agent that
 * goes on with it. The graph itself is changed; graphs derived by `withConfig` do the same. Inside of another graph it
 * changes nothing: the thread is that one's.
 *
 * @param agent the name of the graph's agent
 */
export function guardOwner<Compiled extends Guarded>(compiled: Compiled, agent: string): Compiled {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    const bulkUpdateState = graph.bulkUpdateState.bind(graph);
    return {
      stream: async (input: never, options?: RunnableConfig) => {
        await checkOwner(graph, agent, options);
        return stream(input, options as never);
      },
      bulkUpdateState: async (config: RunnableConfig, supersteps: never) => {
        await checkOwner(graph, agent, config);
        return bulkUpdateState(config as never, supersteps);
      },
    };
  });
}

/** @throws ForeignThreadError */
async function checkOwner(
  { config, checkpointer }: Guarded,
  agent: string,
  options: RunnableConfig | undefined,
): Promise<void> {
  const configurable = { ...config?.configurable, ...options?.configurable };
  const { thread_id, checkpoint_ns = "", checkpoint_id } = configurable;
  const isOfSubgraph = checkpoint_ns !== "";
  // Without a thread LangGraph has its own errors.
  if (typeof checkpointer !== "object" || typeof thread_id !== "string") return;
  if (isInsideGraph(configurable)) return;
  if (configurable[acceptKey] === true || checked.in({ configurable }) === true) return;
  // The thread of a subgraph is that of the graph around it.
  const named = checkpoint_id === undefined || isOfSubgraph ? {} : { checkpoint_id };
  const at = { thread_id, checkpoint_ns: "", ...named };
  const tuple = await checkpointer.getTuple({ configurable: at });
  const option = `set configurable.${acceptKey} to true`;
  refuseForeign(agent, tuple, { threadId: thread_id, option });
}
