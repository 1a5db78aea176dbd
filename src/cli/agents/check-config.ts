import { describeProblem } from "../../definition/check/problems.ts";
import { StratagraphError } from "../../errors.ts";
import { InvalidExperimentError } from "../../experiment/errors.ts";
import { loadExperiment } from "../../experiment/config/load-experiment.ts";

/** What was found of a config of an experiment. */
export interface ConfigCheck {
  /** Null where the config is not valid. */
  readonly run_id: string | null;
  /** Ids of the runs that it makes. */
  readonly runs: readonly string[];
  /** Of each run. */
  readonly cycle_count: number | null;
  /** Each with file, line and column where they are known. */
  readonly problems: readonly string[];
}

/** Checks a config as running it does, without running anything. */
export async function checkConfig(path: string): Promise<ConfigCheck> {
  try {
    const { run_id, runs, cycle_count } = await loadExperiment(path);
    return { run_id, runs: runs.map((run) => run.run_id), cycle_count, problems: [] };
  } catch (thrown) {
    if (!(thrown instanceof StratagraphError)) throw thrown;
    const problems =
      thrown instanceof InvalidExperimentError
        ? thrown.problems.map(describeProblem)
        : [thrown.message];
    return { run_id: null, runs: [], cycle_count: null, problems };
  }
}
