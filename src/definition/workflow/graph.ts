import type { WorkflowGraph } from "../schema/workflow.ts";

/** The part of a workflow that path analysis needs. */
export type WorkflowEdges = Pick<WorkflowGraph, "entry_point" | "edges">;

/**
 * The nodes of a workflow and its end in depth-first preorder from the entry point, with edges in the order written.
 * Nodes are numbered by their index in `names`.
 */
export interface WorkflowWalk {
  readonly names: readonly string[];
  readonly indexOf: ReadonlyMap<string, number>;
  /** Distinct successors of each node. */
  readonly successors: readonly (readonly number[])[];
  /** Predecessors of each node. */
  readonly predecessors: readonly (readonly number[])[];
  /** The back edges: they lead to a node on the current path. */
  readonly backEdges: readonly BackEdge[];
  /** Returns the nodes of the loop that a back edge closes, starting at its target. */
  readonly getLoopNodes: (closing: BackEdge) => readonly string[];
  /** The target lists of edges with several targets. */
  readonly fanOuts: readonly (readonly number[])[];
}

export interface BackEdge {
  /** Its index in `edges`. */
  readonly edge: number;
  readonly from: number;
  readonly to: number;
}

/** Walks a workflow without recursion, so that no chain length exhausts the stack. */
export function walkWorkflow(graph: WorkflowEdges): WorkflowWalk {
  const targets = targetsOf(graph);
  const names: string[] = [];
  const indexOf = new Map<string, number>();
  const parent: number[] = [];
  const onPath = new Set<number>();
  const closing: BackEdge[] = [];
  const path: { place: number; left: Iterator<[string, number]> }[] = [];
  const enter = (name: string, from: number) => {
    const place = names.push(name) - 1;
    indexOf.set(name, place);
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
    const to = indexOf.get(target);
    if (to === undefined) enter(target, top.place);
    else if (onPath.has(to)) closing.push({ edge, from: top.place, to });
  }
  const placesOf = (list: Iterable<string>) =>
    Array.from(list, (name) => indexOf.get(name)).filter((place) => place !== undefined);
  const next = names.map((name) => placesOf(targets.get(name)?.keys() ?? []));
  return {
    names,
    indexOf,
    successors: next,
    predecessors: reversed(next),
    backEdges: closing,
    getLoopNodes({ from, to }) {
      const way = [from];
      for (let at = from; at !== to; way.push(at)) at = parent[at] ?? to;
      return way.toReversed().map((place) => names[place] ?? "");
    },
    fanOuts: graph.edges.flatMap(({ from, to }) => {
      const several = typeof to === "string" ? [] : placesOf(new Set(to));
      return several.length > 1 && indexOf.has(from) ? [several] : [];
    }),
  };
}

/** Returns the targets of each node in the order written, with the first edge to each. */
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

/** A loop: nodes that can all reach each other. */
export interface Loop {
  /** The node where the loop is entered. Without the edges back to it, only inner loops remain. */
  readonly head: number;
  readonly nodes: ReadonlySet<number>;
  /** The enclosing loop. */
  readonly outer: Loop | null;
}

type Edges = Pick<WorkflowWalk, "successors" | "predecessors">;

/** Returns the innermost loop of each node. A node is the head of at most one loop, which is its innermost. */
export function findInnermostLoops(walk: Edges): readonly (Loop | null)[] {
  const { successors: next } = walk;
  const left = { edges: maxFollowed };
  const innermost: (Loop | null)[] = next.map(() => null);
  const open: { nodes: readonly number[]; loop: Loop | null }[] = [
    { nodes: [...next.keys()], loop: null },
  ];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { loop } = part;
    // Inner loops of this part are found below; until then `loop` is the innermost loop of all its nodes.
    const isInside = (_from: number, to: number) =>
      loop === null || (to !== loop.head && innermost[to] === loop);
    for (const component of stronglyConnectedComponents(part.nodes, next, isInside)) {
      const [first = 0] = component;
      const comesBack = component.length > 1 || (next[first] ?? []).includes(first);
      if (!comesBack) continue;
      const nodes = new Set(component);
      const head = headOf(nodes, walk, left);
      const inner: Loop = { head, nodes, outer: loop };
      for (const node of component) innermost[node] = inner;
      open.push({ nodes: component.filter((node) => node !== head), loop: inner });
    }
  }
  return innermost;
}

/** Maximum number of edges followed to find the heads of all loops with several entries. */
const maxFollowed = 200_000;

/**
 * Returns the head of a loop. Of several entry nodes it is the one whose removal leaves the fewest nodes in cycles, and
 * of those the first in preorder.
 *
 * @param left edges that may still be followed; those followed here are taken from it
 */
function headOf(
  nodes: ReadonlySet<number>,
  { successors: next, predecessors: before }: Edges,
  left: { edges: number },
): number {
  // Node numbers are in preorder; 0 is the entry point.
  const entries = [...nodes]
    .filter((node) => node === 0 || before[node]?.some((from) => !nodes.has(from)))
    .toSorted((a, b) => a - b);
  const [first = 0] = entries;
  const edges = Array.from(nodes, (node) => next[node]?.length ?? 0).reduce((a, b) => a + b, 0);
  const followed = entries.length * edges;
  if (entries.length === 1 || followed > left.edges) return first;
  left.edges -= followed;
  const goesRound = (head: number) =>
    stronglyConnectedComponents([...nodes], next, (_from, to) => to !== head && nodes.has(to))
      .filter((component) => component.length > 1)
      .reduce((sum, component) => sum + component.length, 0);
  const rounds = new Map(entries.map((head) => [head, goesRound(head)]));
  return entries.reduce((best, head) =>
    (rounds.get(head) ?? 0) < (rounds.get(best) ?? 0) ? head : best,
  );
}

/**
 * Returns the strongly connected components, found with Tarjan's algorithm (1972) without recursion, in topological
 * order.
 *
 * @param nodes the nodes to inspect, as indexes of `next`
 * @param isEdge filters the edges between them
 */
export function stronglyConnectedComponents(
  nodes: readonly number[],
  next: readonly (readonly number[])[],
  isEdge: (from: number, to: number) => boolean,
): readonly (readonly number[])[] {
  /** Visit numbers from 1; 0 if not visited. */
  const index = new Int32Array(next.length);
  const low = new Int32Array(next.length);
  let entered = 0;
  const stack: number[] = [];
  const onStack = new Uint8Array(next.length);
  const components: number[][] = [];
  const path: { node: number; tried: number }[] = [];
  const enter = (node: number) => {
    entered += 1;
    index[node] = entered;
    low[node] = entered;
    stack.push(node);
    onStack[node] = 1;
    path.push({ node, tried: 0 });
  };
  const lower = (node: number, to: number | undefined) => {
    low[node] = Math.min(low[node] ?? 0, to ?? 0);
  };
  for (const root of nodes) {
    if (index[root] === 0) enter(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node } = top;
      const target = next[node]?.[top.tried];
      top.tried += 1;
      if (target !== undefined) {
        if (!isEdge(node, target)) continue;
        if (index[target] === 0) enter(target);
        else if (onStack[target] === 1) lower(node, index[target]);
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) lower(above.node, low[node]);
      if (low[node] !== index[node]) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const one of component) onStack[one] = 0;
      components.push(component);
    }
  }
  return components.toReversed();
}
