import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { RetryPolicy } from "@langchain/langgraph";
import { NoCheckpointerError } from "../runtime/errors.ts";
import type { Experiment } from "./config/load-experiment.ts";
import type { RunSpec } from "./config/run-spec.ts";
import { compileExperimentWith, type CompiledExperiment } from "./cycle/experiment-graph.ts";
import { logPath } from "./cycle/run-resources.ts";
import { cyclePrompt } from "./cycle/ask-model.ts";
import { ExperimentOptionError, LogAccessError } from "./errors.ts";
import { withThread } from "../compile/run/acquire-thread.ts";
import { runCycles, waitingProgress, type CycleServices } from "./run-cycles.ts";
import {
  checkSame,
  doneIn,
  type ExperimentEvent,
  type RunProgress,
  runStateOf,
  threadConfigOf,
  threadOf,
} from "./run-progress.ts";

export interface RunExperimentOptions {
  /** Folder that logs are written to, one `<run_id>.jsonl` a run. Default: `logs` in the working directory. */
  readonly logFolder?: string;
  /** How many runs are under way at once. Default: the config's `parallel`. */
  readonly parallel?: number;
  /** Forgets what earlier processes did of these runs, their logs and memories too, and begins again. Default false. */
  readonly fresh?: boolean;
  /** Goes on to a greater `cycle_count` than the runs were begun with. Default false. */
  readonly extend?: boolean;
  /** Aborting it ends the runs where they stand; run them again to go on. */
  readonly signal?: AbortSignal;
  /** Told of everything that happens, in order for each run; must not throw. */
  readonly onEvent?: (event: ExperimentEvent) => void;
  /**
   * Called with the runs that are not done, after everything else is checked and before anything is written. What it
   * throws is thrown.
   */
  readonly beforeRuns?: (runs: readonly RunSpec[]) => Promise<void>;
  /** How often a model that is out of reach is asked again. Default: twelve tries in some twenty minutes. */
  readonly retries?: RetryPolicy;
}

/** What an experiment has come to: one entry a run, in the order of the matrix. */
export interface ExperimentResult {
  readonly runs: readonly (RunProgress & { readonly log: string })[];
  /** Absolute. */
  readonly logFolder: string;
}

/** Threads that can be forgotten. */
interface Forgetting {
  readonly threads: { delete(threadId: string): Promise<unknown> };
}

/**
 * Runs every run of an experiment, or resumes those that have begun. Everything is checked before anything is
 * written; what goes wrong later ends one run alone.
 * @throws see `runExperiment` of the package
 */
export async function runExperimentWith(
  { runs, parallel }: Experiment,
  options: RunExperimentOptions & { readonly services: CycleServices & Forgetting },
): Promise<ExperimentResult> {
  const { services, extend = false, onEvent = () => {} } = options;
  const lanes = checkParallel(options.parallel ?? parallel);
  if (services.checkpointer === undefined) throw new NoCheckpointerError("thread");
  const signal = options.signal ?? new AbortController().signal;
  const logFolder = resolve(options.logFolder ?? "logs");
  const { retries } = options;
  const compiled = compileExperimentWith(services, { logFolder, ...(retries && { retries }) });
  const left = await checkAll(runs, compiled, { extend, isFresh: options.fresh === true });
  await options.beforeRuns?.(left);
  if (options.fresh === true) {
    // Where another process is on one of them, none is forgotten.
    await holdAll(runs, services, async () => {});
    await forgetAll(runs, services, logFolder);
  }
  const done = new Map<string, RunProgress>();
  const queue = runs.values();
  const lane = async (): Promise<void> => {
    for (const run of queue) {
      const end = signal.aborted
        ? { ...waitingProgress(run), status: "stopped" as const }
        : await runCycles(run, { services, compiled, extend, signal, onEvent });
      done.set(run.run_id, end);
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, runs.length) }, lane));
  return {
    runs: runs.map((run) => ({
      ...(done.get(run.run_id) ?? waitingProgress(run)),
      log: logPath(logFolder, run.run_id),
    })),
    logFolder,
  };
}

/**
 * Returns the runs that are not done.
 * @throws what is wrong with any of the runs
 */
async function checkAll(
  runs: readonly RunSpec[],
  { graph, runs: cycles }: CompiledExperiment,
  { extend, isFresh }: { readonly extend: boolean; readonly isFresh: boolean },
): Promise<readonly RunSpec[]> {
  const left: RunSpec[] = [];
  for (const run of runs) {
    cycles.reach(run);
    const parts = await cycles.resourcesOf(run);
    const promptsChecked = Math.min(run.cycle_count, mostPromptsChecked);
    for (let cycle = 1; cycle <= promptsChecked; cycle += 1) cyclePrompt(parts, cycle);
    const state = isFresh ? null : await runStateOf(graph, threadConfigOf(run.run_id));
    const isDone = state?.next.length === 0 && doneIn(state) >= run.cycle_count;
    if (!isDone) left.push(run);
    if (isFresh) continue;
    if (state === null) {
      await parts.log.expectNone();
      continue;
    }
    checkSame(state.values, run, { extend });
    await parts.log.expect(state.values.log);
  }
  return left;
}

/** Cycles whose prompts are made before a run begins: those that cannot be are found then, and not in the night. */
const mostPromptsChecked = 10_000;

/** @throws ThreadBusyError, ThreadLockedError if one of them is running elsewhere */
async function holdAll(
  runs: readonly RunSpec[],
  services: CycleServices,
  use: () => Promise<void>,
): Promise<void> {
  const [run, ...others] = runs;
  if (run === undefined) return use();
  await withThread(services, threadOf(run.run_id), () => holdAll(others, services, use));
}

async function forgetAll(
  runs: readonly RunSpec[],
  { threads, experimentMemory }: CycleServices & Forgetting,
  logFolder: string,
): Promise<void> {
  for (const { run_id: runId } of runs) {
    await threads.delete(threadOf(runId));
    await experimentMemory.of(runId).clear();
    const path = logPath(logFolder, runId);
    await rm(path, { force: true }).catch((cause: NodeJS.ErrnoException) => {
      throw new LogAccessError(runId, path, { cause });
    });
  }
}

/** @throws ExperimentOptionError */
function checkParallel(parallel: number): number {
  if (Number.isInteger(parallel) && parallel >= 1 && parallel <= 64) return parallel;
  throw new ExperimentOptionError("parallel", `expected 1 to 64 runs at once, got ${parallel}`);
}
