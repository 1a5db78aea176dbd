import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import { routeUpdates, type Superstep } from "./edited-turn.ts";
import type { GraphNode } from "./graph-builder.ts";
import type { LoopParts } from "./loop/parts.ts";
import { overrideGraph } from "./override-graph.ts";

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

interface UpdatedAgent {
  readonly parts: LoopParts;
  readonly nodes: readonly GraphNode[];
}

/**
 * Makes a graph check what `updateState` is to write against the agent's schemas and reducers before LangGraph writes
 * anything, and keep what is next, and returns it. LangGraph by itself stores the writes first, passes over channels that
 * it does not know, takes any value where the channel has no reducer, and leaves nothing next. The graph itself is changed;
 * graphs derived by `withConfig` do the same, and graphs of agents inside are guarded by themselves.
 */
export function guardUpdates<Compiled extends Updatable>(
  compiled: Compiled,
  agent: UpdatedAgent,
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const bulkUpdateState = graph.bulkUpdateState.bind(graph);
    return {
      bulkUpdateState: async (config: RunnableConfig, supersteps: readonly Superstep[]) =>
        bulkUpdateState(config as never, (await routed(graph, agent, config, supersteps)) as never),
    };
  });
}

/** @throws InvalidStateUpdateError, NoRouteError, ExpressionError */
async function routed(
  graph: Updatable,
  { parts, nodes }: UpdatedAgent,
  config: RunnableConfig,
  supersteps: readonly Superstep[],
): Promise<readonly Superstep[]> {
  if (isOfSubgraph(config)) return supersteps;
  const turns = {
    definition: parts.definition,
    channels: graph.channels,
    parts,
    nodes: new Map(nodes.map((node) => [node.name, node])),
  };
  return routeUpdates(turns, await graph.getState(config), supersteps);
}

/** The graph inside checks it. */
function isOfSubgraph({ configurable = {} }: RunnableConfig): boolean {
  const namespace: unknown = configurable["checkpoint_ns"];
  const isHandedOn = configurable["__pregel_checkpointer"] !== undefined;
  return typeof namespace === "string" && namespace !== "" && !isHandedOn;
}
