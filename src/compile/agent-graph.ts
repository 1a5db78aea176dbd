import type { BaseMessageLike } from "@langchain/core/messages";
import type { CompiledStateGraph, LastValue } from "@langchain/langgraph";
import { SchemaMetaRegistry } from "@langchain/langgraph/zod";
import type { DefinitionStamp } from "../definition/definition-hash.ts";
import type { AgentSpec } from "../definition/schema/agent.ts";
import type { GraphState, GraphUpdate } from "../state/channels.ts";

/** The input of a graph: one of the two. */
type InputChannels = {
  input: LastValue<unknown>;
  messages: LastValue<readonly BaseMessageLike[]>;
};

type OutputChannels = { [Key in keyof GraphState]: LastValue<GraphState[Key]> };

/**
 * An agent as a plain LangGraph graph. It takes `{ input }`, or `{ messages }` whose last human message becomes
 * `input.message`, and returns the state's public channels. Its nodes are those of the standard loop, or those of its
 * workflow between `initialize`, `plan`, `reflect` and `finalize`.
 */
export type AgentGraph = CompiledStateGraph<
  GraphState,
  GraphUpdate,
  string,
  InputChannels,
  OutputChannels
>;

/** Key of the definition hash in a graph's config. LangGraph leaves names with two underscores out of its metadata. */
export const definitionHashKey = "__definition_hash";

const stamps = new WeakMap<object, DefinitionStamp>();

/** Stores what a graph was compiled from. */
export function stampGraph(graph: object, stamp: DefinitionStamp): void {
  stamps.set(graph, stamp);
}

/** Returns what a graph was compiled from; undefined for graphs of other packages. */
export function stampOf(graph: object): DefinitionStamp | undefined {
  return stamps.get(graph);
}

/**
 * LangGraph's durability modes, the safest first: `sync` writes each checkpoint before the next node runs, `async`
 * while it runs, `exit` when the run ends or waits.
 */
export const durabilities = ["sync", "async", "exit"] as const;
export type Durability = (typeof durabilities)[number];

/** Returns the default durability of a run for a definition's `checkpoint_frequency`. */
export function durabilityOf({
  execution_config,
}: Pick<AgentSpec, "execution_config">): Durability {
  return execution_config.checkpoint_frequency === "every_turn" ? "exit" : "async";
}

/** Returns the weakest durability that a run may request; `manual` leaves the choice to the run. */
export function leastDurabilityOf({
  execution_config,
}: Pick<AgentSpec, "execution_config">): Durability {
  return execution_config.checkpoint_frequency === "on_change" ? "async" : "exit";
}

/** A compiled graph that can be bound to a config. */
interface Bindable {
  withConfig(config: never): unknown;
}

/**
 * Replaces properties of a compiled graph, and of every graph that `withConfig` derives from it. Changes and returns
 * the graph itself.
 *
 * @param methodsOf returns the replacements for a graph; it is called before they take effect, so that it can bind the
 * originals
 */
export function overrideGraph<Graph extends Bindable>(
  graph: Graph,
  methodsOf: (graph: Graph) => Readonly<Record<string, unknown>>,
): Graph {
  const withConfig = graph.withConfig.bind(graph);
  const methods = {
    ...methodsOf(graph),
    withConfig: (config: never) => overrideGraph(withConfig(config) as Graph, methodsOf),
  };
  for (const [name, value] of Object.entries(methods)) {
    // Not enumerable: `withConfig` passes the graph's enumerable properties to a constructor.
    Object.defineProperty(graph, name, { value, configurable: true, writable: true });
  }
  return graph;
}

/**
 * Gives a compiled graph, and the graphs that `withConfig` derives from it, a registry of schemas of their own.
 * LangGraph's global registry caches what it derives from an input schema, and so retains the graph until the process
 * ends. Changes and returns the graph itself.
 */
export function withOwnSchemas<Graph extends Bindable>(compiled: Graph): Graph {
  const registry = new SchemaMetaRegistry();
  return overrideGraph(compiled, () => ({ _metaRegistry: registry }));
}
