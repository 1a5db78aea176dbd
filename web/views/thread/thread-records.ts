import type { components } from "../../api/schema.d.ts";

export type Thread = components["schemas"]["Thread"];
export type Run = components["schemas"]["RunOfAnyAgent"];
export type Step = components["schemas"]["StepSummary"];
export type PathEntry = components["schemas"]["PathEntry"];

/** Whether a run has not ended. */
export function isOpenRun({ status }: Pick<Run, "status">): boolean {
  return !["complete", "failed", "cancelled", "dead"].includes(status);
}

/** Returns the entry of the path in which a step was made: the last of its node that had begun. */
export function entryOfStep(path: readonly PathEntry[], step: Step): PathEntry | undefined {
  const began = Date.parse(step.started_at);
  return path.findLast(
    ({ namespace, node, started_at: start, ended_at: end }) =>
      namespace === step.namespace &&
      node === step.node &&
      (start === null || Date.parse(start) <= began) &&
      (end === null || Date.parse(end) >= began),
  );
}

/** Why a step has failed; null if it has not: a call without success, or a reply that was refused. */
export function failureOf(step: Step): string | null {
  const call = step.calls.find(({ outcome }) => outcome !== null && outcome !== "success");
  if (call !== undefined) return call.error ?? `${call.tool}: ${call.outcome}`;
  return step.problem === "" ? null : step.problem;
}
