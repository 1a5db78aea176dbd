import { AsyncLocalStorageProviderSingleton as context } from "@langchain/core/singletons";
import { RunControl } from "@langchain/langgraph";
import { isInsideGraph } from "../compile/run/run-config.ts";
import { StratagraphError } from "../errors.ts";

/** A turn stopped before its next step, because its process ends. It resumes from its last checkpoint. */
export class TurnDrainedError extends StratagraphError {
  readonly code = "turn_drained";
  override readonly kind = "run";

  constructor(readonly threadId: string) {
    super(`The turn of thread "${threadId}" stopped before its next step, and can be resumed.`);
  }
}

/**
 * Stops a run before its next step once a signal has aborted. Graphs that its nodes and tools run inherit the control and
 * run on: to the tool that called it, a graph that stops is a failure.
 */
export class DrainControl extends RunControl {
  constructor(private readonly signal: AbortSignal) {
    super();
  }

  override get drainRequested(): boolean {
    const { configurable } = context.getRunnableConfig() ?? {};
    return this.signal.aborted && !isInsideGraph(configurable);
  }

  override get drainReason(): string | undefined {
    return this.drainRequested ? "shutdown" : undefined;
  }
}
