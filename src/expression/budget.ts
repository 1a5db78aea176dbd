import { limits } from "./limits.ts";

/** An evaluation was ended by a limit of ours. The message is a sentence without its full stop. */
export class LimitReached extends Error {}

/** Work that the evaluation in progress may still do. Evaluation is synchronous, so there is one at a time. */
let left = 0;

/**
 * Takes `work` from what the evaluation in progress may still do.
 *
 * @throws LimitReached also from then on, whatever the expression makes of the first refusal (`… || true`)
 */
export function spend(work: number): void {
  left -= work;
  if (left < 0) throw new LimitReached(`this takes more than ${limits.work} steps`);
}

/** Runs an evaluation with a full budget. The budget being spent ends it, even where the expression hid that. */
export function withBudget<T>(evaluate: () => T): T {
  const outer = left;
  left = limits.work;
  try {
    const value = evaluate();
    spend(0);
    return value;
  } finally {
    left = outer;
  }
}
