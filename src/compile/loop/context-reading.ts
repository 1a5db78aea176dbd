import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";

/** Set on a run whose node is only looked at: the context of its step is made, and nobody is asked. */
export interface ContextReading {
  /** Instead of the goal that the node itself makes it for. */
  readonly goal?: Goal | undefined;
  /** @param step `step_index` of the record that the step is to make */
  made(context: ReasoningContext, step: number): void;
  /** What the step makes its requests for, in order. Not called where that is `planning` alone. */
  makes(goals: readonly Goal[]): void;
}

interface LookedAtRun {
  readonly reading?: ContextReading | undefined;
}

/** What a model call of a step reads; whoever looks at the run is told of it, and may want it for another goal. */
export async function readFor(
  { reading }: LookedAtRun,
  of: { readonly goal: Goal; readonly step: number },
  make: (goal: Goal) => Promise<ReasoningContext>,
): Promise<ReasoningContext> {
  const context = await make(reading?.goal ?? of.goal);
  reading?.made(context, of.step);
  return context;
}

/** The same of a step that itself decides which of its requests are shown. */
export async function readExactly(
  { reading }: LookedAtRun,
  step: number,
  context: Promise<ReasoningContext>,
): Promise<ReasoningContext> {
  const made = await context;
  reading?.made(made, step);
  return made;
}
