import type { RunnableConfig } from "@langchain/core/runnables";

/** LangGraph keeps keys with two underscores out of metadata and checkpoints. */
const key = "__stratagraph_cancel";

/**
 * Lets a run be cancelled without being torn down: the node that runs notices, ends the turn CANCELLED, and the graph
 * ends with everything written. (LangGraph's own `signal` rejects the run at once, with checkpoints still on their way.)
 */
export function cancellable(config: RunnableConfig, signal: AbortSignal): RunnableConfig {
  return { ...config, configurable: { ...config.configurable, [key]: signal } };
}

/** The signal of {@link cancellable}. */
export function cancelSignal(config: RunnableConfig): AbortSignal | undefined {
  return config.configurable?.[key] as AbortSignal | undefined;
}

const resumedKey = "__stratagraph_resumes_cancelled";

/** Says that a run goes on with a turn that was cancelled. */
export function goingOn(config: RunnableConfig): RunnableConfig {
  return { ...config, configurable: { ...config.configurable, [resumedKey]: true } };
}

/** Whether {@link goingOn} said so. */
export function goesOn(config: RunnableConfig): boolean {
  return config.configurable?.[resumedKey] === true;
}
