import type { WorkflowGraph } from "./workflow-schema.ts";

/** What an analysis of ways through a workflow needs of it. */
export type WorkflowEdges = Pick<WorkflowGraph, "entry_point" | "edges">;

/**
 * The nodes of a workflow, and its end, as a walk from the entry point comes to them: depth first, edges as written.
 * Nodes are numbered by their place in `names`.
 */
export interface WorkflowWalk {
  readonly names: readonly string[];
  readonly placeOf: ReadonlyMap<string, number>;
  /** Where each may lead, once each. */
  readonly next: readonly (readonly number[])[];
  /** What may lead to each. */
  readonly before: readonly (readonly number[])[];
  /** The edges that lead back to a node on the way to them. */
  readonly closing: readonly ClosingEdge[];
  /** The nodes on the loop that an edge closes, beginning where it comes back to. */
  readonly wayOf: (closing: ClosingEdge) => readonly string[];
  /** The targets of edges that have several. */
  readonly fanOuts: readonly (readonly number[])[];
}

export interface ClosingEdge {
  /** Its index in `edges`. */
  readonly edge: number;
  readonly from: number;
  readonly to: number;
}

/** Without recursion, so that no length of a chain exhausts the stack. */
export function walkWorkflow(graph: WorkflowEdges): WorkflowWalk {
  const targets = targetsOf(graph);
  const names: string[] = [];
  const placeOf = new Map<string, number>();
  const parent: number[] = [];
  const onPath = new Set<number>();
  const closing: ClosingEdge[] = [];
  const path: { place: number; left: Iterator<[string, number]> }[] = [];
  const enter = (name: string, from: number) => {
    const place = names.push(name) - 1;
    placeOf.set(name, place);
    parent.push(from);
    onPath.add(place);
    path.push({ place, left: (targets.get(name) ?? new Map<string, number>()).entries() });
  };
  enter(graph.entry_point, -1);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const { done, value } = top.left.next();
    if (done === true) {
      path.pop();
      onPath.delete(top.place);
      continue;
    }
    const [target, edge] = value;
    const to = placeOf.get(target);
    if (to === undefined) enter(target, top.place);
    else if (onPath.has(to)) closing.push({ edge, from: top.place, to });
  }
  const placesOf = (list: Iterable<string>) =>
    Array.from(list, (name) => placeOf.get(name)).filter((place) => place !== undefined);
  const next = names.map((name) => placesOf(targets.get(name)?.keys() ?? []));
  return {
    names,
    placeOf,
    next,
    before: reversed(next),
    closing,
    wayOf({ from, to }) {
      const way = [from];
      for (let at = from; at !== to; way.push(at)) at = parent[at] ?? to;
      return way.toReversed().map((place) => names[place] ?? "");
    },
    fanOuts: graph.edges.flatMap(({ from, to }) => {
      const several = typeof to === "string" ? [] : placesOf(new Set(to));
      return several.length > 1 && placeOf.has(from) ? [several] : [];
    }),
  };
}

/** Of each node the targets in the order written, with the first edge that leads there. */
function targetsOf({ edges }: WorkflowEdges): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const targets = new Map<string, Map<string, number>>();
  edges.forEach(({ from, to }, edge) => {
    const own = targets.get(from) ?? new Map<string, number>();
    targets.set(from, own);
    for (const target of typeof to === "string" ? [to] : to) {
      if (!own.has(target)) own.set(target, edge);
    }
  });
  return targets;
}

function reversed(next: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const before: number[][] = next.map(() => []);
  next.forEach((targets, from) => {
    for (const to of targets) before[to]?.push(from);
  });
  return before;
}
