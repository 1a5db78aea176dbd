import { endOfWorkflow } from "../../state/branch.ts";
import {
  type Loop,
  loopNest,
  walkWorkflow,
  type WorkflowEdges,
  type WorkflowWalk,
} from "./graph.ts";

/**
 * How branches can go through a workflow. An edge that leads back to a node on the way to it (in a walk from the entry
 * point, edges as written) closes a loop.
 */
export interface WorkflowFlow {
  /** Every node that may be next, each once, loops included. */
  readonly targets: (name: string) => readonly string[];
  /** The loops, by the edges that close them. */
  readonly loops: readonly WorkflowLoop[];
  /** Whether a node can come round again. */
  readonly isCyclic: (name: string) => boolean;
  /**
   * For a node that branches may meet at: the nodes from which another branch can still come to it, in this round of
   * the loops that it is on. It runs when no branch is at any of them. Empty for every other node. No two nodes wait
   * for each other, not even over third ones.
   */
  readonly waitsFor: (name: string) => ReadonlySet<string>;
  /**
   * Whether two nodes may be under way at the same time, on two branches, neither waiting for the other. The end waits
   * for all: it is parallel to a node that may be under way when a branch has come to the end.
   */
  readonly areParallel: (a: string, b: string) => boolean;
}

export interface WorkflowLoop {
  /** Index of the edge that closes it. */
  readonly edge: number;
  /** The nodes on it, beginning where the edge comes back to. */
  readonly way: () => readonly string[];
}

/** @param graph one whose names and edges were checked */
export function workflowFlow(graph: WorkflowEdges): WorkflowFlow {
  const walk = walkWorkflow(graph);
  const { names, indexOf } = walk;
  const end = indexOf.get(endOfWorkflow);
  const loops = loopNest(walk);
  const waits = branchWaits(walk, loops, end);
  const nameOf = (place: number) => names[place] ?? "";
  let pairs: ((a: number, b: number) => boolean) | undefined;
  return {
    targets: (name) => (walk.next[indexOf.get(name) ?? -1] ?? []).map(nameOf),
    loops: walk.closing.map((closing) => {
      return { edge: closing.edge, way: () => walk.wayOf(closing) };
    }),
    isCyclic: (name) => (loops[indexOf.get(name) ?? -1] ?? null) !== null,
    waitsFor(name) {
      const place = indexOf.get(name);
      return place === undefined ? new Set() : new Set(Array.from(waits(place), nameOf));
    },
    areParallel(name, otherName) {
      const [a, b] = [indexOf.get(name), indexOf.get(otherName)];
      if (a === undefined || b === undefined || walk.fanOuts.length === 0) return false;
      pairs ??= parallelPairs(walk, waits);
      if (!pairs(a, b)) return false;
      const later = waits(a).has(b) ? a : waits(b).has(a) ? b : undefined;
      return later === undefined || later === end;
    },
  };
}

/**
 * The nodes that each node waits for when branches are at them. Branches meet at a node that several edges lead to from
 * outside its own loop, at the head of a loop, and at the end.
 *
 * Of two nodes that lead to each other, the one that a round of their innermost common loop comes to later waits, and
 * its head last of all: a round is over when all its branches are back. So no two nodes ever wait for each other, not
 * even over third ones, however loops are entered.
 *
 * @param end place of the end, where a walk comes to it
 */
function branchWaits(
  walk: Pick<WorkflowWalk, "next" | "before" | "fanOuts">,
  loops: readonly (Loop | null)[],
  end: number | undefined,
): (place: number) => ReadonlySet<number> {
  const { next, before, fanOuts } = walk;
  const several = reachedFrom(fanOuts.flat(), next);
  const none: ReadonlySet<number> = new Set();
  const known = new Map<number, ReadonlySet<number>>();
  const find = (place: number): ReadonlySet<number> => {
    if (!several.has(place)) return none;
    const innermost = loops[place] ?? null;
    const own = innermost?.head === place ? innermost : null;
    const entries = (before[place] ?? []).filter((from) => own?.nodes.has(from) !== true);
    const waits = new Set(own?.nodes);
    waits.delete(place);
    if (entries.length < 2 && place !== end) return waits;
    const inside = own?.nodes ?? new Set([place]);
    return comesTo(inside, own === null ? innermost : own.outer, { before, into: waits });
  };
  return (place) => {
    const found = known.get(place) ?? find(place);
    known.set(place, found);
    return found;
  };
}

/** Adds what leads to a part of a workflow without passing the head of a loop that is around it, loop by loop. */
function comesTo(
  part: ReadonlySet<number>,
  around: Loop | null,
  { before, into }: { before: WorkflowWalk["before"]; into: Set<number> },
): ReadonlySet<number> {
  let inside = part;
  let loop = around;
  for (;;) {
    const { head, nodes } = loop ?? { head: -1, nodes: null };
    const seen = new Set(inside);
    const open = [...inside];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === head) continue;
      for (const from of before[at] ?? []) {
        if (seen.has(from) || nodes?.has(from) === false) continue;
        seen.add(from);
        open.push(from);
        if (from !== head) into.add(from);
      }
    }
    if (loop === null) return into;
    inside = loop.nodes;
    loop = loop.outer;
  }
}

/** The nodes themselves included. */
function reachedFrom(
  starts: readonly number[],
  next: readonly (readonly number[])[],
): ReadonlySet<number> {
  const seen = new Set(starts);
  const open = [...seen];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const to of next[at] ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      open.push(to);
    }
  }
  return seen;
}

/**
 * Which two nodes branches can be at together: they begin at two targets of a fan-out, and each goes on unless it has
 * to wait for the other. Where one comes to the other they have met and are one.
 */
function parallelPairs(
  { next, fanOuts }: Pick<WorkflowWalk, "next" | "fanOuts">,
  waitsFor: (place: number) => ReadonlySet<number>,
): (a: number, b: number) => boolean {
  const size = next.length;
  const seen = new Uint8Array(size * size);
  const open: number[] = [];
  const numberOf = (a: number, b: number) => (a < b ? a * size + b : b * size + a);
  const visit = (a: number, b: number) => {
    const pair = numberOf(a, b);
    if (a === b || seen[pair] === 1) return;
    seen[pair] = 1;
    open.push(pair);
  };
  for (const targets of fanOuts) {
    targets.forEach((a, index) => {
      for (const b of targets.slice(index + 1)) visit(a, b);
    });
  }
  const goOn = (a: number, b: number) => {
    if (waitsFor(a).has(b)) return;
    for (const to of next[a] ?? []) visit(to, b);
  };
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const b = pair % size;
    const a = (pair - b) / size;
    goOn(a, b);
    goOn(b, a);
  }
  return (a, b) => seen[numberOf(a, b)] === 1;
}
