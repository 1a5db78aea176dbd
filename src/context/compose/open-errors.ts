import type { StepRecord } from "../../state/step-record.ts";

/** No error at all. */
const noError = -1;

/**
 * For each step until when an error of it is open: the place of the step from which on every tool that failed in it has
 * succeeded; Infinity while one has not, `noError` for steps without errors. Linear.
 */
export function openErrors(steps: readonly (StepRecord | null)[]): readonly number[] {
  const until = steps.map(() => noError);
  /** Where a tool succeeds next, seen from behind. */
  const succeeds = new Map<string, number>();
  for (let at = steps.length - 1; at >= 0; at -= 1) {
    const results = steps[at]?.tool_results ?? [];
    for (const { name, outcome } of results) {
      if (outcome === "success") continue;
      until[at] = Math.max(until[at] as number, succeeds.get(name) ?? Infinity);
    }
    for (const { name, outcome } of results) if (outcome === "success") succeeds.set(name, at);
  }
  return until;
}
