/**
 * What people answered to the `interrupt()`s of handlers in the node that makes the calls. LangGraph gives a node its
 * answers in the order in which they were asked for.
 */
export interface HandlerInterrupts {
  /** Times that the node has called `interrupt()` in this run of it. */
  readonly asked: number;
  /** Whether there are answers that were not taken yet. */
  readonly hasAnswers: boolean;
  /** Passes over answers that a call took which is not made again. */
  skip(count: number): void;
}

/** Causes of causes that are looked at. */
const deepestCause = 8;

/**
 * The interrupt of LangGraph that a handler let through, also as the cause of an error that it made of it; undefined
 * where there is none. By name, since a handler may have got LangGraph from another copy.
 */
export function interruptIn(thrown: unknown): Error | undefined {
  let one = thrown;
  for (let depth = 0; depth < deepestCause && one instanceof Error; depth += 1) {
    if (one.name === "GraphInterrupt" || one.name === "NodeInterrupt") return one;
    one = one.cause;
  }
  return undefined;
}
