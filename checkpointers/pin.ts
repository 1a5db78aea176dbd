import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** The part of a compiled graph that pinning needs. */
interface Pinnable {
  checkpointer?: BaseCheckpointSaver | boolean;
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
  Object.defineProperty(graph, "checkpointer", {
    get: () => saver,
    set: () => {},
    enumerable: true, // `withConfig` copies the graph's own enumerable properties into a new one.
    configurable: true,
  });
  const withConfig = graph.withConfig?.bind(graph);
  if (withConfig) {
    Object.defineProperty(graph, "withConfig", {
      value: (config: never) => pinCheckpointer(withConfig(config) as Pinnable, saver),
      enumerable: false,
      configurable: true,
      writable: true,
    });
  }
  return graph;
}
