import { noMetrics } from "../log/cycle-metrics.ts";
import { cyclePrompt } from "./cycle-prompt.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";
import { systemPrompt } from "./system-prompt.ts";
import { takeBack } from "./take-back.ts";

/** Begins a cycle with nothing said but what it begins with. */
export async function startCycle(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { parts } = cycle;
  const { run, memory, configHash } = parts;
  await takeBack(state, cycle);
  const number = state.cycle_number + 1;
  const said = cyclePrompt(parts, number);
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
      { role: "user", content: said },
    ],
    iteration: 0,
    calls: [],
    log: cycle.written().log,
    metrics: noMetrics,
  };
}
