import type { RunnableConfig } from "@langchain/core/runnables";
import { PrivateConfig } from "./private-config.ts";

const cancel = new PrivateConfig<AbortSignal>("cancel");

/**
 * Lets a run be cancelled without being torn down: the node that runs notices, ends the turn CANCELLED, and the graph
 * ends with everything written. (LangGraph's own `signal` rejects the run at once, with checkpoints still on their way.)
 */
export function cancellable(config: RunnableConfig, signal: AbortSignal): RunnableConfig {
  return cancel.with(config, signal);
}

/** The signal of {@link cancellable}. */
export function cancelSignal(config: RunnableConfig): AbortSignal | undefined {
  return cancel.in(config);
}

const resumesCancelled = new PrivateConfig<true>("resumes_cancelled");

/** Says that a run goes on with a turn that was cancelled. */
export function goingOn(config: RunnableConfig): RunnableConfig {
  return resumesCancelled.with(config, true);
}

/** Whether {@link goingOn} said so. */
export function goesOn(config: RunnableConfig): boolean {
  return resumesCancelled.in(config) === true;
}
