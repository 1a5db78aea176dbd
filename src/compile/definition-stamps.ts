import type { DefinitionStamp } from "../definition/definition-hash.ts";

/** Where a graph's config carries the hash of its definition. Names with two underscores stay out of LangGraph's metadata. */
export const definitionHashKey = "__definition_hash";

const stamps = new WeakMap<object, DefinitionStamp>();

/** Remembers what a graph was compiled from. */
export function stampGraph(graph: object, stamp: DefinitionStamp): void {
  stamps.set(graph, stamp);
}

/** What a graph was compiled from. Undefined for graphs that are not ours. */
export function stampOf(graph: object): DefinitionStamp | undefined {
  return stamps.get(graph);
}
