import type { RunnableConfig } from "@langchain/core/runnables";
import { configChanges } from "./config/config-changes.ts";
import type { RunSpec } from "./config/run-spec.ts";
import type { CycleState } from "./cycle/cycle-state.ts";
import type { ExperimentGraph } from "./cycle/experiment-graph.ts";
import { ExperimentChangedError } from "./errors.ts";

/** What is kept of a run. */
export interface RunState {
  readonly values: CycleState;
  /** Nodes that are next; empty where all cycles have ended. */
  readonly next: readonly string[];
}

/** The thread that keeps a run. */
export function threadOf(runId: string): string {
  return `experiment:${runId}`;
}

export function threadConfigOf(runId: string): RunnableConfig {
  return { configurable: { thread_id: threadOf(runId) } };
}

/** Null where the run has not begun. */
export async function runStateOf(
  graph: ExperimentGraph,
  thread: RunnableConfig,
): Promise<RunState | null> {
  const { values, next } = await graph.getState(thread);
  const state = values as Partial<CycleState>;
  const hasBegun = next.length > 0 || (state.cycle_number ?? 0) > 0;
  return hasBegun ? { values: state as CycleState, next } : null;
}

/** Cycles that have ended. */
export function doneIn({ values, next }: RunState): number {
  const number = values.cycle_number ?? 0;
  const isBetween = next.length === 0 || next[0] === "start_cycle" || next[0] === "begin";
  return isBetween ? number : number - 1;
}

/**
 * Where the model is reached may change while a run lasts, and with `extend` it may have more cycles.
 * @throws ExperimentChangedError for anything else
 */
export function checkSame(
  { run }: CycleState,
  now: RunSpec,
  { extend }: { readonly extend: boolean },
): void {
  // It was cut off before its first node had ended: nothing of it has been used.
  if (run === null || run === undefined) return;
  const changes = configChanges(run, now).filter(
    ({ key }) => !(extend && key === "cycle_count" && now.cycle_count > run.cycle_count),
  );
  if (changes.length > 0) throw new ExperimentChangedError(now.run_id, changes);
}
