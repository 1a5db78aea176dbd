import type { WorkflowGraph } from "./workflow-schema.ts";

/**
 * How branches can go through a workflow. An edge that leads back to a node on the way to it (in a walk from the entry
 * point, edges as written) closes a loop; without those edges the graph has an order, and "forward" means along it.
 */
export interface WorkflowFlow {
  /** Names and `END` in forward order: every edge that closes no loop leads to a later one. */
  readonly order: readonly string[];
  /** Every node that may be next, each once, loops included. */
  readonly targets: (name: string) => readonly string[];
  /** The loops that edges close, each as the nodes on it, beginning where it comes back to. */
  readonly loops: readonly { readonly edge: number; readonly nodes: readonly string[] }[];
  /** Whether a node can come round again. */
  readonly isCyclic: (name: string) => boolean;
  /**
   * For a node that branches may meet at: the nodes from which another branch can still come to it, going forward or
   * round a loop that the node is not part of. It runs when no branch is at any of them. Empty for every other node.
   */
  readonly waitsFor: (name: string) => ReadonlySet<string>;
  /** Whether every loop is entered at one node only, so that two nodes never wait for each other. */
  readonly loopsNest: boolean;
  /** Whether two nodes may be under way at the same time, on two branches. */
  readonly areParallel: (a: string, b: string) => boolean;
}

/** @param graph one whose names and edges were checked */
export function workflowFlow(graph: WorkflowGraph): WorkflowFlow {
  const targets = targetsOf(graph);
  const walked = walkForward(graph, targets);
  const { order, forward } = walked;
  const backward = reversed(forward);
  const fanOuts = fanOutsOf(graph, forward);
  const parallelRegion = reachedFrom(new Set(fanOuts.flatMap((fan) => fan.to)), forward);
  const cyclic = cyclicNodes(order, targets);
  const loops = loopBodies(graph.entry_point, walked.back, reversed(targets));
  const waits = new Map<string, ReadonlySet<string>>();
  let pairs: ((a: string, b: string) => boolean) | undefined;
  return {
    order,
    targets: (name) => targets.get(name) ?? [],
    loops: walked.loops,
    loopsNest: loops.nest,
    isCyclic: (name) => cyclic.has(name),
    waitsFor(name) {
      const known = waits.get(name);
      if (known !== undefined) return known;
      const meets = parallelRegion.has(name) && (backward.get(name)?.length ?? 0) > 1;
      const found = meets ? comesTo(name, backward, loops.bodies) : new Set<string>();
      waits.set(name, found);
      return found;
    },
    areParallel(a, b) {
      pairs ??= parallelPairs(order, forward, fanOuts);
      return pairs(a, b);
    },
  };
}

type Edges = ReadonlyMap<string, readonly string[]>;

function targetsOf(graph: WorkflowGraph): Edges {
  const targets = new Map<string, string[]>();
  for (const { from, to } of graph.edges) {
    const list = targets.get(from) ?? [];
    targets.set(from, list);
    for (const target of typeof to === "string" ? [to] : to) {
      if (!list.includes(target)) list.push(target);
    }
  }
  return targets;
}

/** Depth first without recursion, so that no length of a chain exhausts the stack. */
function walkForward(graph: WorkflowGraph, targets: Edges) {
  const onPath = new Map<string, number>();
  const done = new Set<string>();
  const finished: string[] = [];
  const forward = new Map<string, string[]>();
  const loops: { edge: number; nodes: readonly string[] }[] = [];
  const back: BackEdge[] = [];
  const path: { name: string; next: number }[] = [];
  const enter = (name: string) => {
    onPath.set(name, path.length);
    path.push({ name, next: 0 });
    forward.set(name, []);
  };
  const edgeOf = edgeFinder(graph);
  enter(graph.entry_point);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const target = targets.get(top.name)?.[top.next];
    if (target === undefined) {
      path.pop();
      onPath.delete(top.name);
      done.add(top.name);
      finished.push(top.name);
      continue;
    }
    top.next += 1;
    const at = onPath.get(target);
    if (at !== undefined) {
      const nodes = path.slice(at).map(({ name }) => name);
      loops.push({ edge: edgeOf(top.name, target), nodes });
      back.push({ from: top.name, to: target });
      continue;
    }
    forward.get(top.name)?.push(target);
    if (!done.has(target)) enter(target);
  }
  return { order: finished.toReversed(), forward, loops, back };
}

function edgeFinder(graph: WorkflowGraph): (from: string, to: string) => number {
  const found = new Map<string, number>();
  graph.edges.forEach(({ from, to }, index) => {
    for (const target of typeof to === "string" ? [to] : to) {
      const key = `${from}\n${target}`;
      if (!found.has(key)) found.set(key, index);
    }
  });
  return (from, to) => found.get(`${from}\n${to}`) ?? -1;
}

function reversed(edges: Edges): Edges {
  const backward = new Map<string, string[]>();
  for (const [from, targets] of edges) {
    for (const to of targets) {
      const list = backward.get(to);
      if (list === undefined) backward.set(to, [from]);
      else list.push(from);
    }
  }
  return backward;
}

/** The nodes themselves included. */
function reachedFrom(starts: ReadonlySet<string>, edges: Edges): Set<string> {
  const seen = new Set(starts);
  const open = [...starts];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const next of edges.get(name) ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return seen;
}

/** An edge that closes a loop; `to` is where the loop is entered. */
interface BackEdge {
  readonly from: string;
  readonly to: string;
}

interface LoopBody {
  /** Where it comes back to. */
  readonly head: string;
  readonly tails: readonly string[];
  readonly nodes: ReadonlySet<string>;
}

/** The natural loop of each node that edges come back to: what can come back to it without passing it. */
function loopBodies(
  entry: string,
  back: readonly BackEdge[],
  backward: Edges,
): { readonly bodies: readonly LoopBody[]; readonly nest: boolean } {
  const tails = new Map<string, string[]>();
  for (const { from, to } of back) tails.set(to, [...(tails.get(to) ?? []), from]);
  const bodies = [...tails].map(([head, from]): LoopBody => {
    const nodes = new Set([head, ...from]);
    const open = from.filter((name) => name !== head);
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      for (const before of backward.get(name) ?? []) {
        if (nodes.has(before)) continue;
        nodes.add(before);
        open.push(before);
      }
    }
    return { head, tails: from, nodes };
  });
  // A loop whose body reaches back to the entry point can be entered elsewhere than at its head.
  return { bodies, nest: bodies.every(({ head, nodes }) => head === entry || !nodes.has(entry)) };
}

/** The nodes that lead to `name`, by forward edges and round loops that it is not part of. */
function comesTo(name: string, backward: Edges, loops: readonly LoopBody[]): ReadonlySet<string> {
  const around = new Map<string, readonly string[]>();
  for (const { head, tails, nodes } of loops) if (!nodes.has(name)) around.set(head, tails);
  const seen = new Set<string>();
  const open = [...(backward.get(name) ?? [])];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === name || seen.has(at)) continue;
    seen.add(at);
    open.push(...(backward.get(at) ?? []), ...(around.get(at) ?? []));
  }
  return seen;
}

interface FanOut {
  readonly to: readonly string[];
}

/** Edges with several targets; a target that the edge loops back to is one too. */
function fanOutsOf(graph: WorkflowGraph, forward: Edges): readonly FanOut[] {
  return graph.edges.flatMap(({ from, to }) => {
    const unique = typeof to === "string" ? [to] : [...new Set(to)];
    return unique.length > 1 && forward.has(from) ? [{ to: unique }] : [];
  });
}

/** Tarjan's strongly connected components (1972), iteratively: nodes of a component of several, or with an edge to themselves. */
function cyclicNodes(order: readonly string[], targets: Edges): ReadonlySet<string> {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const cyclic = new Set<string>();
  const enter = (name: string) => {
    index.set(name, index.size);
    low.set(name, index.size - 1);
    stack.push(name);
    onStack.add(name);
  };
  for (const root of order) {
    if (index.has(root)) continue;
    const path = [{ name: root, next: 0 }];
    enter(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { name } = top;
      const target = targets.get(name)?.[top.next];
      if (target !== undefined) {
        top.next += 1;
        if (!index.has(target)) {
          enter(target);
          path.push({ name: target, next: 0 });
        } else if (onStack.has(target)) {
          low.set(name, Math.min(low.get(name) ?? 0, index.get(target) ?? 0));
        }
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) {
        low.set(above.name, Math.min(low.get(above.name) ?? 0, low.get(name) ?? 0));
      }
      if (low.get(name) !== index.get(name)) continue;
      const component = stack.splice(stack.lastIndexOf(name));
      for (const one of component) onStack.delete(one);
      const loops = component.length > 1 || (targets.get(name)?.includes(name) ?? false);
      if (loops) for (const one of component) cyclic.add(one);
    }
  }
  return cyclic;
}

/**
 * All pairs of nodes that two branches can be at together: they begin at two targets of a fan-out, and each goes on
 * unless it has to wait where the other can still come. Where one comes to the other they have met and are one.
 */
function parallelPairs(order: readonly string[], forward: Edges, fanOuts: readonly FanOut[]) {
  const place = new Map(order.map((name, index) => [name, index]));
  const size = order.length;
  const next = order.map((name) =>
    (forward.get(name) ?? []).flatMap((target) => place.get(target) ?? []),
  );
  const reaches = reachability(next);
  const seen = new Uint8Array(size * size);
  const open: number[] = [];
  const visit = (a: number, b: number) => {
    if (a === b) return;
    const pair = a < b ? a * size + b : b * size + a;
    if (seen[pair] === 1) return;
    seen[pair] = 1;
    open.push(pair);
  };
  for (const { to } of fanOuts) {
    const starts = to.flatMap((name) => place.get(name) ?? []);
    for (const [i, a] of starts.entries()) for (const b of starts.slice(i + 1)) visit(a, b);
  }
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const later = pair % size;
    const earlier = (pair - later) / size;
    for (const target of next[earlier] ?? []) visit(target, later);
    if (reaches(earlier, later)) continue;
    for (const target of next[later] ?? []) visit(earlier, target);
  }
  return (a: string, b: string): boolean => {
    const at = place.get(a);
    const other = place.get(b);
    if (at === undefined || other === undefined) return false;
    return seen[Math.min(at, other) * size + Math.max(at, other)] === 1;
  };
}

/** Which place can come to which, one bit each, for places in forward order. */
function reachability(next: readonly (readonly number[])[]) {
  const words = Math.ceil(next.length / 32);
  const bits = new Uint32Array(next.length * words);
  for (let from = next.length - 1; from >= 0; from -= 1) {
    for (const to of next[from] ?? []) {
      const at = from * words + (to >>> 5);
      bits[at] = (bits[at] ?? 0) | (1 << (to & 31));
      for (let word = 0; word < words; word += 1) {
        const into = from * words + word;
        bits[into] = (bits[into] ?? 0) | (bits[to * words + word] ?? 0);
      }
    }
  }
  return (from: number, to: number) =>
    ((bits[from * words + (to >>> 5)] ?? 0) & (1 << (to & 31))) !== 0;
}
