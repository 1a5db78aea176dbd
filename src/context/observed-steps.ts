import type { StepRecord } from "../state/step-record.ts";
import { withObservations } from "../state/with-observations.ts";

/** Steps on whose results later steps noted something, with what they noted. */
export function observedSteps(steps: readonly StepRecord[]): ReadonlyMap<StepRecord, StepRecord> {
  const observed = withObservations(steps);
  if (observed === steps) return none;
  const changed = new Map<StepRecord, StepRecord>();
  for (const [at, step] of steps.entries()) {
    const own = observed[at] as StepRecord;
    if (own !== step) changed.set(step, own);
  }
  return changed;
}

const none: ReadonlyMap<StepRecord, StepRecord> = new Map();
