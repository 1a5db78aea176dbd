import { runOf } from "../config/config-of.ts";
import { ExperimentInputError, MemoryExistsError } from "../errors.ts";
import type { CycleRuns } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/**
 * Begins a run: checks the config, finds the model and the tools, and sees that nobody's log or memory is in the way.
 * @throws what is wrong with the config; ExperimentInputError on a thread that has a run, LogExistsError,
 * MemoryExistsError
 */
export async function begin(state: CycleState, runs: CycleRuns): Promise<CycleUpdate> {
  if (state.run !== null) {
    throw new ExperimentInputError(
      `this thread has the run "${state.run.run_id}" already; begin another on a new thread`,
    );
  }
  const run = runOf(state.config);
  const { log, memory } = await runs.partsOf(run);
  await log.expectNone();
  if ((await memory.lastChange()) > 0) throw new MemoryExistsError(run.run_id);
  return { run, run_id: run.run_id, model_name: run.model_name, status: "EXECUTING" };
}
