import type { Loop } from "./loop-nest.ts";
import type { WorkflowWalk } from "./workflow-walk.ts";

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
export function branchWaits(
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
