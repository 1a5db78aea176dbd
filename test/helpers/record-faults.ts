import type { GraphState } from "../../src/state/channels.ts";

/** What is wrong with the records of a thread that had one turn, which is over; nothing where every step left one. */
export function recordFaults(state: GraphState, modelCalls: number): readonly string[] {
  const { steps, messages, branches, usage } = state;
  const indexes = steps.map(({ step_index }) => step_index);
  const results = steps.flatMap(({ tool_results }) => tool_results.map(({ id }) => id));
  const answered = messages.flatMap((message) =>
    message.type === "tool" ? [(message as { tool_call_id?: string }).tool_call_id] : [],
  );
  const asked = messages.flatMap((message) =>
    ((message as { tool_calls?: { id?: string }[] }).tool_calls ?? []).map(({ id }) => id),
  );
  const recorded = steps.reduce((sum, step) => sum + step.usage.llm_calls, 0);
  const faults = {
    "two steps have one number": hasDoubles(indexes),
    "a call has two results": hasDoubles(results),
    "a call has two messages": hasDoubles(answered),
    "a call has no message": asked.some((id) => !answered.includes(id)),
    "branches are left": branches.length > 0,
    "records and usage differ": recorded !== usage.llm_calls,
    "usage and calls differ": usage.llm_calls !== modelCalls,
  };
  return Object.entries(faults).flatMap(([fault, is]) => (is ? [fault] : []));
}

function hasDoubles(values: readonly unknown[]): boolean {
  return new Set(values).size !== values.length;
}
