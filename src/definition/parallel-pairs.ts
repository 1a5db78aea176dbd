import type { WorkflowWalk } from "./workflow-walk.ts";

/**
 * Which two nodes branches can be at together: they begin at two targets of a fan-out, and each goes on unless it has
 * to wait for the other. Where one comes to the other they have met and are one.
 */
export function parallelPairs(
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
