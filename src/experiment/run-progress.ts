import type { Usage } from "../state/usage.ts";

/** How far one run of an experiment is. */
export interface RunProgress {
  readonly run_id: string;
  /** `stopped`: by a signal; it can be gone on with. */
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
