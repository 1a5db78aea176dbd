import { strongComponents } from "./strong-components.ts";
import type { WorkflowWalk } from "./workflow-walk.ts";

/** Nodes that can all come to each other. */
export interface Loop {
  /** The node where a walk from the entry point enters it; without the edges back to it, what is left are inner loops. */
  readonly head: number;
  readonly nodes: ReadonlySet<number>;
  /** The loop around it. */
  readonly outer: Loop | null;
}

/** The innermost loop that each node is on. A node is the head of one loop at most, and that is its innermost. */
export function loopNest({ next }: Pick<WorkflowWalk, "next">): readonly (Loop | null)[] {
  const innermost: (Loop | null)[] = next.map(() => null);
  const open: { nodes: readonly number[]; loop: Loop | null }[] = [
    { nodes: [...next.keys()], loop: null },
  ];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { loop } = part;
    const isInside = (_from: number, to: number) =>
      loop === null || (to !== loop.head && loop.nodes.has(to));
    for (const component of strongComponents(part.nodes, next, isInside)) {
      const [first = 0] = component;
      const comesBack = component.length > 1 || (next[first] ?? []).includes(first);
      if (!comesBack) continue;
      // Places are numbered as the walk comes to them.
      const head = component.reduce((least, node) => Math.min(least, node));
      const inner: Loop = { head, nodes: new Set(component), outer: loop };
      for (const node of component) innermost[node] = inner;
      open.push({ nodes: component.filter((node) => node !== head), loop: inner });
    }
  }
  return innermost;
}
