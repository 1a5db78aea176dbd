import type { SandboxFault } from "./errors.ts";

/** What a worker is sent: one run. */
export interface WorkerJob {
  readonly source: string;
  /** JSON text. */
  readonly input: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputBytes: number;
}

/** What a worker sends: that a run has begun, and how it ended. */
export type WorkerMessage =
  | { readonly type: "begun" }
  | { readonly type: "ended"; readonly end: WorkerEnd };

export interface WorkerEnd {
  readonly outcome: WorkerOutcome;
  /** Lines of the console. */
  readonly logs: readonly string[];
}

/** `json` is the text of what the function gave. */
export type WorkerOutcome =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly fault: SandboxFault };
