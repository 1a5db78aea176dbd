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

const cancelledKey = "__stratagraph_cancelled_at";

/** Says that a run goes on with a turn that was cancelled, from the outermost graph's checkpoint before that. */
export function goingOnFrom(config: RunnableConfig): RunnableConfig {
  const { configurable = {} } = config;
  const at: unknown = configurable["checkpoint_id"];
  return { ...config, configurable: { ...configurable, [cancelledKey]: at } };
}

/** The checkpoint of {@link goingOnFrom}; null in any other run. */
export function cancelledAt({ configurable = {} }: RunnableConfig): string | null {
  const at: unknown = configurable[cancelledKey];
  return typeof at === "string" ? at : null;
}
