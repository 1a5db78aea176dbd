import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";

/** Set on a run whose node is only looked at: the context of its step is made, and nobody is asked. */
export interface ContextReading {
  /** Instead of the goal that the node itself makes it for. */
  readonly goal?: Goal | undefined;
  /** @param step `step_index` of the record that the step is to make */
  made(context: ReasoningContext, step: number): void;
}

/** What a model call of a step reads; whoever looks at the run is told of it, and may want it for another goal. */
export async function readFor(
  { reading }: { readonly reading?: ContextReading | undefined },
  of: { readonly goal: Goal; readonly step: number },
  make: (goal: Goal) => Promise<ReasoningContext>,
): Promise<ReasoningContext> {
  const context = await make(reading?.goal ?? of.goal);
  reading?.made(context, of.step);
  return context;
}
