import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { StratagraphError } from "../errors.ts";
import { isRecord } from "../state/is-record.ts";
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
    option = "pass acceptAgent: true",
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
export function guardOwner<Compiled extends Guarded>(graph: Compiled, agent: string): Compiled {
  const stream = graph.stream.bind(graph);
  const bulkUpdateState = graph.bulkUpdateState.bind(graph);
  const withConfig = graph.withConfig.bind(graph);
  const own = {
    stream: async (input: never, options?: RunnableConfig) => {
      await refuseForeign(graph, agent, options);
      return stream(input, options as never);
    },
    bulkUpdateState: async (config: RunnableConfig, supersteps: never) => {
      await refuseForeign(graph, agent, config);
      return bulkUpdateState(config as never, supersteps);
    },
    withConfig: (config: never) => guardOwner(withConfig(config) as Guarded, agent),
  };
  for (const [name, value] of Object.entries(own)) {
    // Not enumerable: `withConfig` hands the graph's enumerable properties to a constructor.
    Object.defineProperty(graph, name, { value, configurable: true, writable: true });
  }
  return graph;
}

/** @throws ForeignThreadError */
async function refuseForeign(
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
  const owner = ownerAt(await checkpointer.getTuple({ configurable: at }));
  if (owner === null || owner === agent) return;
  const option = `set configurable.${acceptKey} to true`;
  throw new ForeignThreadError(thread_id, owner, agent, option);
}
