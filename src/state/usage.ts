/**
 * The usage of a step, a turn or a thread. Counts are absolute numbers; `cost_usd` is US dollars, 0 for models without
 * a known price.
 */
export interface Usage {
  tokens_in: number;
  tokens_out: number;
  llm_calls: number;
  tool_calls: number;
  cost_usd: number;
}

export const noUsage: Usage = Object.freeze({
  tokens_in: 0,
  tokens_out: 0,
  llm_calls: 0,
  tool_calls: 0,
  cost_usd: 0,
});

/** Returns the sum of both as a new object; a missing field of `b` counts as 0. */
export function addUsage(a: Usage, b: Partial<Usage>): Usage {
  return {
    tokens_in: a.tokens_in + (b.tokens_in ?? 0),
    tokens_out: a.tokens_out + (b.tokens_out ?? 0),
    llm_calls: a.llm_calls + (b.llm_calls ?? 0),
    tool_calls: a.tool_calls + (b.tool_calls ?? 0),
    cost_usd: a.cost_usd + (b.cost_usd ?? 0),
  };
}

/** Returns the usage between two readings of a growing sum. */
export function usageSince(before: Usage, now: Usage): Usage {
  return {
    tokens_in: now.tokens_in - before.tokens_in,
    tokens_out: now.tokens_out - before.tokens_out,
    llm_calls: now.llm_calls - before.llm_calls,
    tool_calls: now.tool_calls - before.tool_calls,
    cost_usd: now.cost_usd - before.cost_usd,
  };
}
