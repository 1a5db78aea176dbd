import { noMetrics } from "../log/cycle-metrics.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";
import { systemPrompt } from "./system-prompt.ts";

/** Begins a cycle with nothing said but what it begins with. */
export async function startCycle(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run, memory, configHash, cyclePrompt } = cycle.parts;
  await memory.rewind(state.changes);
  const number = state.cycle_number + 1;
  const keys = await memory.list();
  await cycle.write(
    {
      event_type: "CYCLE_START",
      payload: {
        model_name: run.model_name,
        seed: run.variant.seed,
        prompt_name: run.variant.system_prompt,
        config_hash: configHash,
        memory_keys: [...keys],
      },
    },
    number,
  );
  const { run_id, cycle_count } = run;
  const said = cyclePrompt.render({ run_id, cycle_number: number, cycle_count });
  const system = systemPrompt({
    prompt: run.system_prompt,
    keys,
    reflections: state.reflection_history,
    shown: run.reflections_shown,
  });
  return {
    cycle_number: number,
    message_history: [
      { role: "system", content: system },
      { role: "user", content: typeof said === "string" ? said : JSON.stringify(said) },
    ],
    iteration: 0,
    calls: [],
    log: cycle.written().log,
    metrics: noMetrics,
  };
}
