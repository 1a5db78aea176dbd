import { strongComponents } from "./strong-components.ts";
import type { WorkflowWalk } from "./workflow-walk.ts";

/** Nodes that can all come to each other. */
export interface Loop {
  /** The node where it is entered; without the edges back to it, what is left are inner loops. */
  readonly head: number;
  readonly nodes: ReadonlySet<number>;
  /** The loop around it. */
  readonly outer: Loop | null;
}

type Edges = Pick<WorkflowWalk, "next" | "before">;

/** The innermost loop that each node is on. A node is the head of one loop at most, and that is its innermost. */
export function loopNest(walk: Edges): readonly (Loop | null)[] {
  const { next } = walk;
  const innermost: (Loop | null)[] = next.map(() => null);
  const open: { nodes: readonly number[]; loop: Loop | null }[] = [
    { nodes: [...next.keys()], loop: null },
  ];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { loop } = part;
    // Inner loops of this part are found below, so that until then this is the innermost of all its nodes.
    const isInside = (_from: number, to: number) =>
      loop === null || (to !== loop.head && innermost[to] === loop);
    for (const component of strongComponents(part.nodes, next, isInside)) {
      const [first = 0] = component;
      const comesBack = component.length > 1 || (next[first] ?? []).includes(first);
      if (!comesBack) continue;
      const nodes = new Set(component);
      const head = headOf(nodes, walk);
      const inner: Loop = { head, nodes, outer: loop };
      for (const node of component) innermost[node] = inner;
      open.push({ nodes: component.filter((node) => node !== head), loop: inner });
    }
  }
  return innermost;
}

/** Edges that are followed to find the head of a loop with several ways in. */
const maxFollowed = 200_000;

/**
 * Of several nodes where a loop is entered, the one without which the least of it goes round, and of those the first
 * that a walk comes to.
 */
function headOf(nodes: ReadonlySet<number>, { next, before }: Edges): number {
  // Places are numbered as the walk comes to them; it begins at 0.
  const entries = [...nodes]
    .filter((node) => node === 0 || before[node]?.some((from) => !nodes.has(from)))
    .toSorted((a, b) => a - b);
  const [first = 0] = entries;
  const edges = Array.from(nodes, (node) => next[node]?.length ?? 0).reduce((a, b) => a + b, 0);
  if (entries.length === 1 || entries.length * edges > maxFollowed) return first;
  const goesRound = (head: number) =>
    strongComponents([...nodes], next, (_from, to) => to !== head && nodes.has(to))
      .filter((component) => component.length > 1)
      .reduce((sum, component) => sum + component.length, 0);
  const left = new Map(entries.map((head) => [head, goesRound(head)]));
  return entries.reduce((best, head) =>
    (left.get(head) ?? 0) < (left.get(best) ?? 0) ? head : best,
  );
}
