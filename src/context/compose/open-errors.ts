import type { Entry } from "../transcript.ts";

/** No error at all. */
const noError = -1;

/**
 * For each entry until when an error of it is open: the place of the step from which on every tool that failed in it has
 * succeeded, or of the next turn, which begins when this one has come to its end in spite of it; Infinity while neither
 * is so, `noError` for entries without errors. Linear.
 */
export function openErrors(entries: readonly Entry[]): readonly number[] {
  const until = entries.map(() => noError);
  /** Where a tool succeeds next, seen from behind. */
  const succeeds = new Map<string, number>();
  let nextTurn = Infinity;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at] as Entry;
    const following = entries[at + 1];
    if (following !== undefined && following.turn !== entry.turn) nextTurn = at + 1;
    const results = entry.kind === "step" ? entry.step.tool_results : [];
    for (const { name, outcome } of results) {
      if (outcome === "success") continue;
      until[at] = Math.max(until[at] as number, Math.min(nextTurn, succeeds.get(name) ?? Infinity));
    }
    for (const { name, outcome } of results) if (outcome === "success") succeeds.set(name, at);
  }
  return until;
}
