export type Awaitable<T> = T | Promise<T>;

/** The two tiers as handlers and validators see them. */
export interface AgentState<Exec = Record<string, unknown>, Attempt = Record<string, unknown>> {
  /** Tier 1: outlives failed attempts of a turn. */
  readonly execution: Exec;
  /** Tier 2: fresh for every attempt. */
  readonly attempt: Attempt;
}

/**
 * A stateful tool. Gets frozen state and returns the whole new state; a tier that it does not change it returns as it
 * came. Throwing costs this call only.
 */
export type ToolReducerHandler<Exec, Attempt, ToolInput> = (
  state: AgentState<Exec, Attempt>,
  input: ToolInput,
) => Awaitable<{ newState: AgentState<Exec, Attempt>; toolResult: unknown }>;
