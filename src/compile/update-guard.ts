import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { isRecord } from "../state/is-record.ts";
import { tryUpdate } from "./check-update.ts";

interface StateUpdate {
  readonly values?: unknown;
  readonly asNode?: string | undefined;
}

/** What guarding needs of a compiled graph: `updateState` goes through `bulkUpdateState`. */
interface Updatable {
  readonly channels: Readonly<Record<string, unknown>>;
  getState(config: RunnableConfig): Promise<StateSnapshot>;
  bulkUpdateState(
    config: never,
    supersteps: { updates: { values?: never; asNode?: string }[] }[],
  ): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
}

/**
 * Makes a graph check what `updateState` is to write against the agent's schemas and reducers before LangGraph writes
 * anything, and returns it. LangGraph by itself stores the writes first, passes over channels that it does not know,
 * and takes any value where the channel has no reducer. The graph itself is changed; graphs derived by `withConfig` do
 * the same, and graphs of agents inside are guarded by themselves.
 */
export function guardUpdates<Compiled extends Updatable>(
  graph: Compiled,
  definition: AgentDefinition,
): Compiled {
  const bulkUpdateState = graph.bulkUpdateState.bind(graph);
  const withConfig = graph.withConfig.bind(graph);
  const own = {
    bulkUpdateState: async (
      config: RunnableConfig,
      supersteps: readonly { readonly updates: readonly StateUpdate[] }[],
    ) => {
      await check(graph, { definition, config, supersteps });
      return bulkUpdateState(config as never, supersteps as never);
    },
    withConfig: (config: never) => guardUpdates(withConfig(config) as Updatable, definition),
  };
  for (const [name, value] of Object.entries(own)) {
    // Not enumerable: `withConfig` hands the graph's enumerable properties to a constructor.
    Object.defineProperty(graph, name, { value, configurable: true, writable: true });
  }
  return graph;
}

/** @throws InvalidStateUpdateError */
async function check(
  graph: Updatable,
  of: {
    definition: AgentDefinition;
    config: RunnableConfig;
    supersteps: readonly { readonly updates: readonly StateUpdate[] }[];
  },
): Promise<void> {
  const { definition, config } = of;
  const updates = of.supersteps.flatMap(({ updates: all }) => all).flatMap(writtenBy);
  if (updates.length === 0 || isOfSubgraph(config)) return;
  const { values } = await graph.getState(config);
  let current = isRecord(values) ? values : {};
  for (const update of updates) {
    const changed = tryUpdate({ definition, channels: graph.channels }, current, update);
    current = { ...current, ...changed };
  }
}

/** `__end__` and `__copy__` mean what is stored already, and what is copied may be changed node by node. */
function writtenBy({ values, asNode }: StateUpdate): readonly unknown[] {
  if (values === null || values === undefined) return [];
  if (asNode === "__copy__") {
    return Array.isArray(values) ? values.map((one: unknown) => (one as unknown[])[0]) : [];
  }
  return asNode === "__end__" ? [] : [values];
}

/** The graph inside checks it. */
function isOfSubgraph({ configurable = {} }: RunnableConfig): boolean {
  const namespace: unknown = configurable["checkpoint_ns"];
  const isHandedOn = configurable["__pregel_checkpointer"] !== undefined;
  return typeof namespace === "string" && namespace !== "" && !isHandedOn;
}
