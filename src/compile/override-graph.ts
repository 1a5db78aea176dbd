/** A compiled graph that can be bound to a config. */
interface Bindable {
  withConfig(config: never): unknown;
}

/**
 * Replaces methods of a compiled graph, and of every graph that `withConfig` derives from it. The graph itself is changed,
 * and returned.
 *
 * @param methodsOf the replacements for a graph; it is called before they take effect, so that it can bind the originals
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
    // Not enumerable: `withConfig` hands the graph's enumerable properties to a constructor.
    Object.defineProperty(graph, name, { value, configurable: true, writable: true });
  }
  return graph;
}
