import { runOf } from "../config/config-of.ts";
import type { CycleRuns } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/**
 * Begins a run: checks the config, finds the model and the tools, and sees that nobody's log is in the way.
 * @throws what is wrong with the config; LogExistsError
 */
export async function begin({ config }: CycleState, runs: CycleRuns): Promise<CycleUpdate> {
  const run = runOf(config);
  const { log, memory } = await runs.partsOf(run);
  await log.expectNone();
  // What is there is of a run whose checkpoints are gone.
  await memory.clear();
  return { run, run_id: run.run_id, model_name: run.model_name, status: "EXECUTING" };
}
