import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";

/** The part of a compiled graph that pinning needs. */
interface Pinnable {
  checkpointer?: BaseCheckpointSaver | boolean;
  store?: BaseStore;
  withConfig?(config: never): unknown;
}

/**
 * Makes `saver` the graph's checkpointer permanently, and returns the graph. Assignments to `graph.checkpointer` are
 * ignored: `langgraph dev` assigns its own, which lives in memory and in files, to every graph on every request.
 * Graphs derived by `withConfig` are pinned too. The graph itself is changed.
 */
export function pinCheckpointer<Graph extends Pinnable>(
  graph: Graph,
  saver: BaseCheckpointSaver,
): Graph {
  return pin(graph, "checkpointer", saver);
}

/**
 * Makes `store` the graph's store permanently, as {@link pinCheckpointer} does the checkpointer.
 *
 * @param store undefined: the graph has none, and its nodes and tools what they bring themselves
 */
export function pinStore<Graph extends Pinnable>(
  graph: Graph,
  store: BaseStore | undefined,
): Graph {
  return pin(graph, "store", store);
}

function pin<Graph extends Pinnable, Name extends "checkpointer" | "store">(
  graph: Graph,
  name: Name,
  value: Graph[Name],
): Graph {
  Object.defineProperty(graph, name, {
    get: () => value,
    set: () => {},
    enumerable: true, // `withConfig` copies the graph's own enumerable properties into a new one.
    configurable: true,
  });
  const withConfig = graph.withConfig?.bind(graph);
  if (withConfig) {
    Object.defineProperty(graph, "withConfig", {
      value: (config: never) => pin(withConfig(config) as Pinnable, name, value),
      enumerable: false,
      configurable: true,
      writable: true,
    });
  }
  return graph;
}
