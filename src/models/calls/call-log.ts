import type { Status } from "../../state/lifecycle.ts";
import type { StepRecord } from "../../state/step-record.ts";
import type { TurnFailure } from "../../state/turn.ts";
import type { ModelCallRecord, Usage } from "../../state/usage.ts";

/** What a model was called for. */
export type CallPurpose =
  /** A step of the standard loop. */
  | "reasoning"
  /** An answer from known results, without tools. */
  | "synthesis"
  /** An approach, the plan of a deep step, or the subtasks of a planner. */
  | "planning"
  /** A verdict on an answer, or on the joined result of a planner. */
  | "judging"
  | "routing"
  | "reflection"
  /** Of earlier turns, or of a large result. */
  | "summary"
  /** The judge of a guardrail. */
  | "rail"
  /** The facts of a finished turn. */
  | "memory"
  /** A step of a workflow's llm node. */
  | "node";

/** The turn that a call belongs to: the outermost one, also for calls of nested agents. */
export interface LoggedPlace {
  /** Null outside of a thread. */
  readonly threadId: string | null;
  /** `turn.run`, the `run` of the journal; null outside of a turn. */
  readonly turnId: string | null;
  /** The agent that makes the call. */
  readonly agent: string | null;
}

/** One request to a model: every retry and every fallback is one. */
export interface LoggedModelCall extends ModelCallRecord, LoggedPlace {
  readonly purpose: CallPurpose;
  /** `step_index` of the record that the call is made for; null if it is for none. */
  readonly step: number | null;
  /** Number of the request in its call, from 1. */
  readonly attempt: number;
  /** JSON: the messages as they were sent, with references in place of bytes. At most 256 KiB. */
  readonly messages: unknown;
  /** JSON: what came back, at most 256 KiB; null if nothing did. */
  readonly response: unknown;
  /** Of this request alone: no tokens and no cost for one that failed, as far as is known. */
  readonly usage: Usage;
}

/** A turn as it stands. Of several reports on one turn the last holds. */
export interface LoggedTurn extends LoggedPlace {
  readonly threadId: string;
  readonly turnId: string;
  readonly agent: string;
  readonly status: Status;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Whether it ended, or waits. */
  readonly isOver: boolean;
  /** JSON, with placeholders where rails redacted values. */
  readonly input: unknown;
  readonly output: unknown;
  readonly failure: TurnFailure | null;
  readonly usage: Usage;
  /** Active milliseconds. */
  readonly latencyMs: number;
  /** The newest checkpoint; null before the turn ends or waits. */
  readonly checkpointId: string | null;
}

/** Completed steps, whose tool calls are logged. */
export interface LoggedSteps extends LoggedPlace {
  readonly steps: readonly StepRecord[];
}

/** Which model calls to read. */
export interface ModelCallQuery {
  readonly threadId: string;
  /** UUID of a run of the platform. Default: all runs of the thread. */
  readonly runId?: string;
  /** Number of a turn, from 0. Default: all turns. */
  readonly turn?: number;
  /** Whether messages and responses are read too. Default false. */
  readonly whole?: boolean;
  /** 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** A stored request to a model. */
export interface StoredModelCall {
  /** UUID. */
  readonly id: string;
  /** ISO 8601: when it was reported. */
  readonly at: string;
  /** From 0 in its thread. */
  readonly turn: number;
  readonly agent: string | null;
  readonly step: number | null;
  readonly purpose: CallPurpose;
  /** `provider:model`. */
  readonly model: string;
  readonly provider: string;
  readonly attempt: number;
  readonly finish_reason: ModelCallRecord["outcome"];
  readonly tokens_in: number;
  readonly cached_tokens: number;
  readonly tokens_out: number;
  readonly reasoning_tokens: number;
  readonly latency_ms: number;
  /** Null if nothing was streamed. */
  readonly first_token_ms: number | null;
  /** US dollars; null if the model has no known price. */
  readonly cost_usd: number | null;
  /** Left out unless asked for. */
  readonly messages?: unknown;
  readonly response?: unknown;
}

export interface ModelCallPage {
  /** Oldest first. */
  readonly items: readonly StoredModelCall[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/**
 * Receives what a runtime's agents do, for people to read and for quotas. Reports return at once and never throw: a log
 * that fails fails no run.
 */
export interface CallLog {
  modelCall(call: LoggedModelCall): void;
  steps(steps: LoggedSteps): void;
  turn(turn: LoggedTurn): void;
  /** Reports the status of the agent on a thread. */
  status(of: { readonly threadId: string; readonly agent: string; readonly status: Status }): void;
  /** Waits until everything that was reported so far is stored, or given up. */
  flush(): Promise<void>;
  /** Reads the model calls of a thread, after a flush. @throws InvalidCallCursorError, SealedValueError */
  modelCalls(of: ModelCallQuery): Promise<ModelCallPage>;
  /** Removes everything about a thread, apart from the sums of usage. */
  forget(threadId: string): Promise<void>;
}
