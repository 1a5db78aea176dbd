import type { RunnableConfig } from "@langchain/core/runnables";
import type { Usage } from "../state/usage.ts";
import { configChanges } from "./config/config-changes.ts";
import type { RunSpec } from "./config/run-spec.ts";
import type { CycleState } from "./cycle/cycle-state.ts";
import type { ExperimentGraph } from "./cycle/experiment-graph.ts";
import { ExperimentChangedError } from "./errors.ts";

/** How far one run of an experiment is. */
export interface RunProgress {
  readonly run_id: string;
  /** `stopped`: by a signal; it can be resumed. */
  readonly status: "waiting" | "running" | "done" | "failed" | "stopped";
  readonly cycles_done: number;
  readonly cycle_count: number;
  /** Cycles that were done before this process took it up. */
  readonly cycles_before: number;
  /** Of all cycles, those of earlier processes too. */
  readonly usage: Usage;
  /** Milliseconds that this process has worked on it. */
  readonly elapsed_ms: number;
  /** Milliseconds until it is done, by the pace of the last cycles; null before one has ended in this process. */
  readonly remaining_ms: number | null;
  /** What the run is doing, such as `thinking` or `memory_write`; null unless it is running. */
  readonly doing: string | null;
  /** Why it failed, in one sentence; null unless it has. */
  readonly failure: string | null;
}

/** Told while an experiment runs. */
export type ExperimentEvent =
  | { readonly type: "progress"; readonly run: RunProgress }
  | { readonly type: "cycle_end"; readonly run: RunProgress; readonly reflection: string }
  /** An agent has sent the operator a message. */
  | {
      readonly type: "message";
      readonly run_id: string;
      readonly cycle_number: number;
      readonly text: string;
    };

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
