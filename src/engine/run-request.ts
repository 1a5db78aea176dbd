import type { Attachment } from "../compile/attachments/read-attachments.ts";
import type { ToolCallResult } from "../runtime/execute-agent.ts";
import type { ClientCall, PendingRequest } from "../state/human-request.ts";
import type { Usage } from "../state/usage.ts";
import type { FinishedState } from "../storage/platform/runs/run-rows.ts";

/** What a claim of a run executes, as the row of the run stores it. */
export interface RunRequest {
  /** The version of the agent. */
  readonly definition_id: string;
  /** Names the turn that begins or goes on, so that it is executed once however often the run is claimed. */
  readonly turn_id: string;
  /** Of a run of kind `turn`. */
  readonly input?: unknown;
  readonly attachments?: readonly Attachment[];
  /** `provider:model` instead of the definition's. */
  readonly model?: string;
  /** Whose memories the run reads and writes. */
  readonly user?: string;
  /** Of a run of kind `resume`: answers by id of their requests. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Of a run of kind `resume`. */
  readonly tool_results?: readonly ToolCallResult[];
}

/** Why a turn failed or was cancelled, or why its request was refused. */
export interface TurnCause {
  readonly code: string;
  readonly message: string;
}

/** How the last turn of a run ended, or what it waits for, as the row of the run stores it. */
export interface RunResult {
  readonly turn_id: string;
  readonly status: FinishedState;
  /** The text of the answer; null without one. */
  readonly message: string | null;
  /** The whole answer; null without one. */
  readonly output: unknown;
  /** Calls of client tools whose results the run waits for. */
  readonly tool_calls: readonly ClientCall[];
  /** Requests that wait for people. */
  readonly requests: readonly PendingRequest[];
  /** What wait nodes wait for; left out by a run without. */
  readonly waits?: readonly PendingRequest[];
  readonly incomplete: string | null;
  readonly cause: TurnCause | null;
  /** Of the whole turn. */
  readonly usage: Usage;
  readonly checkpoint_id: string | null;
}
