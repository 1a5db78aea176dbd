import type { ValueCipher } from "../../encryption/value-cipher.ts";
import { isoTime, isoTimeOrNull } from "../checks.ts";

export const runStates = [
  "queued",
  "running",
  "awaiting_human",
  "awaiting_tool",
  "complete",
  "failed",
  "cancelled",
  "dead",
] as const;

export type RunState = (typeof runStates)[number];

/** The states in which the turn of a run ends. */
export type FinishedState = Exclude<RunState, "queued" | "running" | "dead">;

export type RunKind = "turn" | "resume" | "replay" | "graph";

/** An execution on a thread that was asked for, with all of its turns. */
export interface Run {
  readonly id: string;
  readonly tenantId: string;
  readonly instanceId: string;
  readonly threadId: string;
  /** Number on its thread, from 1, without gaps. */
  readonly seq: number;
  readonly kind: RunKind;
  readonly state: RunState;
  /** What the next claim executes. */
  readonly request: Readonly<Record<string, unknown>>;
  /** How the last turn ended; null until then. */
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly priority: number;
  readonly runAt: string;
  readonly epoch: number;
  /** Claims of the current request. */
  readonly attempts: number;
  readonly worker: string | null;
  readonly leaseUntil: string | null;
  readonly cancelRequestedAt: string | null;
  /** Number of the newest event; 0 where there is none. */
  readonly lastEvent: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

/** A run without what it executes and how it ended, which may be large. */
export type RunSummary = Omit<Run, "request" | "result">;

export interface SummaryRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly instance_id: string;
  readonly thread_id: string;
  readonly seq: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly priority: number;
  readonly run_at: Date;
  readonly epoch: number;
  readonly attempts: number;
  readonly worker: string | null;
  readonly lease_until: Date | null;
  readonly cancel_requested_at: Date | null;
  readonly last_event: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
}

export interface RunRow extends SummaryRow {
  readonly request: unknown;
  readonly result: unknown;
}

const columns = [
  "id, tenant_id, instance_id, thread_id, seq, kind, state, request, result, priority",
  "run_at, epoch, attempts, worker, lease_until, cancel_requested_at, last_event, metadata, created_at, started_at, ended_at",
]
  .flatMap((some) => some.split(", "))
  .map((column) => `r.${column}`);
export const summaryColumns = columns
  .filter((column) => !/request$|result$/.test(column))
  .join(", ");
export const runColumns = columns.join(", ");

export function toRun(row: RunRow, values: ValueCipher): Run {
  return {
    ...toSummary(row),
    request: values.openJson(row.request) as Run["request"],
    result: row.result === null ? null : (values.openJson(row.result) as Run["result"]),
  };
}

export function toSummary(row: SummaryRow): RunSummary {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    instanceId: row.instance_id,
    threadId: row.thread_id,
    seq: row.seq,
    kind: row.kind,
    state: row.state,
    priority: row.priority,
    runAt: isoTime(row.run_at),
    epoch: row.epoch,
    attempts: row.attempts,
    worker: row.worker,
    leaseUntil: isoTimeOrNull(row.lease_until),
    cancelRequestedAt: isoTimeOrNull(row.cancel_requested_at),
    lastEvent: row.last_event,
    metadata: row.metadata,
    createdAt: isoTime(row.created_at),
    startedAt: isoTimeOrNull(row.started_at),
    endedAt: isoTimeOrNull(row.ended_at),
  };
}
