import { endOfWorkflow } from "../../state/branch.ts";
import {
  type Loop,
  findInnermostLoops,
  walkWorkflow,
  type WorkflowEdges,
  type WorkflowWalk,
} from "./graph.ts";

/**
 * The possible paths of branches through a workflow. In a depth-first walk from the entry point (edges in written
 * order), an edge back to the current path closes a loop.
 */
export interface WorkflowFlow {
  /** Returns the distinct successors of a node, including those in loops. */
  readonly successors: (name: string) => readonly string[];
  /** The loops, one per closing edge. */
  readonly loops: readonly WorkflowLoop[];
  /** Whether a node is part of a loop. */
  readonly isCyclic: (name: string) => boolean;
  /**
   * Returns the nodes from which another branch can still reach a join node in the current iteration of its loops. The
   * join node runs when no branch is at any of them. Empty for other nodes. Waiting is never circular.
   */
  readonly waitsFor: (name: string) => ReadonlySet<string>;
  /**
   * Whether two nodes may run at the same time on two branches, neither waiting for the other. The end waits for all
   * nodes: it is parallel to a node that may be running when a branch has reached the end.
   */
  readonly isParallel: (a: string, b: string) => boolean;
}

export interface WorkflowLoop {
  /** Index of the edge that closes it. */
  readonly edge: number;
  /** Returns the nodes of the loop, starting at the target of the edge. */
  readonly getNodes: () => readonly string[];
}

/** @param graph a workflow whose names and edges were checked */
export function analyzeFlow(graph: WorkflowEdges): WorkflowFlow {
  const walk = walkWorkflow(graph);
  const { names, indexOf } = walk;
  const end = indexOf.get(endOfWorkflow);
  const loops = findInnermostLoops(walk);
  const waits = branchWaits(walk, loops, end);
  const nameOf = (place: number) => names[place] ?? "";
  let pairs: ((a: number, b: number) => boolean) | undefined;
  return {
    successors: (name) => (walk.successors[indexOf.get(name) ?? -1] ?? []).map(nameOf),
    loops: walk.backEdges.map((closing) => {
      return { edge: closing.edge, getNodes: () => walk.getLoopNodes(closing) };
    }),
    isCyclic: (name) => (loops[indexOf.get(name) ?? -1] ?? null) !== null,
    waitsFor(name) {
      const place = indexOf.get(name);
      return place === undefined ? new Set() : new Set(Array.from(waits(place), nameOf));
    },
    isParallel(name, otherName) {
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
 * Returns a function that finds the nodes that a node waits for while branches are at them. Branches join at nodes with
 * several incoming edges from outside their own loop, at loop heads, and at the end.
 *
 * If two nodes reach each other, the later one in an iteration of their innermost common loop waits. The loop head
 * waits for all: an iteration ends when all its branches are back. Waiting is therefore never circular, even in loops
 * with several entries.
 *
 * @param end the number of the end, if it is reachable
 */
function branchWaits(
  walk: Pick<WorkflowWalk, "successors" | "predecessors" | "fanOuts">,
  loops: readonly (Loop | null)[],
  end: number | undefined,
): (place: number) => ReadonlySet<number> {
  const { successors: next, predecessors: before, fanOuts } = walk;
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

/** Adds the nodes that reach a part of a workflow without passing the head of an enclosing loop, loop by loop. */
function comesTo(
  part: ReadonlySet<number>,
  around: Loop | null,
  { before, into }: { before: WorkflowWalk["predecessors"]; into: Set<number> },
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

/** Returns all nodes reachable from `starts`, inclusive. */
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
 * Returns whether two branches can be at two nodes at the same time. They start at two targets of a fan-out, and each
 * advances unless it must wait for the other. Branches that reach the same node join.
 */
function parallelPairs(
  { successors: next, fanOuts }: Pick<WorkflowWalk, "successors" | "fanOuts">,
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
