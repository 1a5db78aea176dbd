import { endOfWorkflow } from "../state/branch.ts";
import { branchWaits } from "./branch-waits.ts";
import { loopNest } from "./loop-nest.ts";
import { parallelPairs } from "./parallel-pairs.ts";
import { walkWorkflow, type WorkflowEdges } from "./workflow-walk.ts";

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
  const { names, placeOf } = walk;
  const end = placeOf.get(endOfWorkflow);
  const loops = loopNest(walk);
  const waits = branchWaits(walk, loops, end);
  const nameOf = (place: number) => names[place] ?? "";
  let pairs: ((a: number, b: number) => boolean) | undefined;
  return {
    targets: (name) => (walk.next[placeOf.get(name) ?? -1] ?? []).map(nameOf),
    loops: walk.closing.map((closing) => {
      return { edge: closing.edge, way: () => walk.wayOf(closing) };
    }),
    isCyclic: (name) => (loops[placeOf.get(name) ?? -1] ?? null) !== null,
    waitsFor(name) {
      const place = placeOf.get(name);
      return place === undefined ? new Set() : new Set(Array.from(waits(place), nameOf));
    },
    areParallel(name, otherName) {
      const [a, b] = [placeOf.get(name), placeOf.get(otherName)];
      if (a === undefined || b === undefined || walk.fanOuts.length === 0) return false;
      pairs ??= parallelPairs(walk, waits);
      if (!pairs(a, b)) return false;
      const later = waits(a).has(b) ? a : waits(b).has(a) ? b : undefined;
      return later === undefined || later === end;
    },
  };
}
