import type { AgentSpec } from "../definition/schema.ts";

/**
 * LangGraph's durability modes, the safest first: `sync` writes each checkpoint before the next node runs, `async` while it
 * runs, `exit` when the run ends or waits.
 */
export const durabilities = ["sync", "async", "exit"] as const;
export type Durability = (typeof durabilities)[number];

/** What a definition's `checkpoint_frequency` comes to for a run that asks for nothing else. */
export function durabilityOf({
  execution_config,
}: Pick<AgentSpec, "execution_config">): Durability {
  return execution_config.checkpoint_frequency === "every_turn" ? "exit" : "async";
}

/** The least that a run of the agent may ask for: `manual` leaves it to the run. */
export function leastDurabilityOf({
  execution_config,
}: Pick<AgentSpec, "execution_config">): Durability {
  return execution_config.checkpoint_frequency === "on_change" ? "async" : "exit";
}
