/** Two cycles in which everything happens that can, on the offline model. */
export function killedConfig(runId: string): object {
  return {
    run_id: runId,
    model_name: "offline:rules",
    cycle_count: 2,
    model_options: { seed: 1 },
    cycle_prompt:
      'Write "day ${cycle_number}" to memory under the key day, then delete the memory key old-${cycle_number}, then send the operator the message "cycle ${cycle_number}".',
    reflection_prompt: "Say what happened, without calling a tool.",
  };
}
