import type { ValueCipher } from "../../encryption/value-cipher.ts";
import {
  checkCount,
  checkId,
  checkText,
  checkTime,
  isoTime,
  isoTimeOrNull,
  jsonbText,
  sealedText,
} from "../checks.ts";
import { NotFoundError } from "../errors.ts";

export const missedPolicies = ["once", "all", "none"] as const;

/** What runs, when, and on which thread. */
export interface NewSchedule {
  readonly agentId: string;
  /** Unique among those of the tenant; null for none. */
  readonly name: string | null;
  /** The caller has checked it, and the time zone. */
  readonly cron: string;
  readonly timeZone: string;
  readonly kind: "turn" | "graph";
  /** The request of its runs, without the version of the agent and the id of the turn. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly priority: number;
  /** Of its runs. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The thread of all its runs; null: each run has a new one. */
  readonly threadId: string | null;
  /** Whether new threads are deleted after the end of their runs. */
  readonly isEphemeral: boolean;
  /** Whether a firing is left out while a run of the thread is queued or running. */
  readonly isExclusive: boolean;
  /** Which of the firings make runs that passed while no process looked, or while the schedule was paused. */
  readonly missed: (typeof missedPolicies)[number];
  /** Missed firings that make runs with `all`. 1 to 100. */
  readonly maxMissed: number;
  readonly enabled: boolean;
  /** ISO 8601; null: none. */
  readonly nextAt: string | null;
  /** ISO 8601: no firing after it. Null: no end. */
  readonly endAt: string | null;
}

export interface Schedule extends NewSchedule {
  readonly id: string;
  readonly tenantId: string;
  readonly lastAt: string | null;
  readonly lastRunId: string | null;
  /** Why the last firing made no run; null if it made one. */
  readonly lastProblem: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What may change. The agent and the kind of a schedule stay. */
export type ScheduleChange = Partial<Omit<NewSchedule, "agentId" | "kind">>;

export interface ScheduleFilter {
  readonly agentId?: string;
  readonly threadId?: string;
  readonly kind?: Schedule["kind"];
  readonly enabled?: boolean;
  /** The metadata contains this. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Bytes of JSON of a request. */
const maxRequestBytes = 262_144;
const maxMetadataBytes = 65_536;

export const scheduleColumns = [
  "id, tenant_id, agent_id, name, cron, time_zone, kind, request, priority, metadata, thread_id, is_ephemeral, is_exclusive",
  "missed, max_missed, enabled, next_at, last_at, last_run_id, last_problem, end_at, created_at, updated_at",
].join(", ");

/** The columns that callers give, with their types. */
export const columnTypes = {
  name: "text",
  cron: "text",
  time_zone: "text",
  kind: "text",
  request: "json",
  priority: "integer",
  metadata: "jsonb",
  thread_id: "text",
  is_ephemeral: "boolean",
  is_exclusive: "boolean",
  missed: "text",
  max_missed: "integer",
  enabled: "boolean",
  next_at: "timestamptz",
  end_at: "timestamptz",
} as const;

export function conditionsOf(
  tenantId: string,
  { agentId, threadId, kind, enabled, metadata }: ScheduleFilter,
): { readonly where: string; readonly values: unknown[] } {
  const values: unknown[] = [tenantId];
  const conditions = ["tenant_id = $1::uuid"];
  const add = (condition: string, value: unknown) => {
    if (value !== undefined) conditions.push(condition.replace("?", `$${values.push(value)}`));
  };
  add("agent_id = ?::uuid", agentId === undefined ? undefined : checkId("agent", agentId));
  add("thread_id = ?", threadId);
  add("kind = ?", kind);
  add("enabled = ?::boolean", enabled);
  add("metadata @> ?::jsonb", metadata && jsonbText("metadata", metadata, 4_096));
  return { where: conditions.join(" and "), values };
}

export interface ScheduleRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly agent_id: string;
  readonly name: string | null;
  readonly cron: string;
  readonly time_zone: string;
  readonly kind: Schedule["kind"];
  readonly request: unknown;
  readonly priority: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly thread_id: string | null;
  readonly is_ephemeral: boolean;
  readonly is_exclusive: boolean;
  readonly missed: Schedule["missed"];
  readonly max_missed: number;
  readonly enabled: boolean;
  readonly next_at: Date | null;
  readonly last_at: Date | null;
  readonly last_run_id: string | null;
  readonly last_problem: string | null;
  readonly end_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** The columns that are given, with their checked values. @throws InvalidValueError */
export function columnsOf(
  values: ValueCipher,
  given: ScheduleChange & Partial<Pick<NewSchedule, "kind">>,
): Record<string, unknown> {
  const { name, cron, timeZone, request, metadata, threadId, missed, maxMissed } = given;
  const time = (field: string, text: string | null) =>
    text === null ? null : checkTime(field, text);
  const all: { readonly [Name in keyof typeof columnTypes]: unknown } = {
    name: name == null ? name : checkText("name", name, 200),
    cron: cron === undefined ? cron : checkText("cron", cron, 200),
    time_zone: timeZone === undefined ? timeZone : checkText("time_zone", timeZone, 100),
    kind: given.kind,
    request: request && sealedText(values, "request", request, maxRequestBytes),
    priority:
      given.priority === undefined
        ? undefined
        : checkCount("priority", given.priority, { from: -1_000, to: 1_000 }),
    metadata: metadata && jsonbText("metadata", metadata, maxMetadataBytes),
    thread_id: threadId == null ? threadId : checkText("thread_id", threadId, 500),
    is_ephemeral: given.isEphemeral,
    is_exclusive: given.isExclusive,
    missed,
    max_missed:
      maxMissed === undefined
        ? undefined
        : checkCount("max_missed", maxMissed, { from: 1, to: 100 }),
    enabled: given.enabled,
    next_at: given.nextAt === undefined ? undefined : time("next_at", given.nextAt),
    end_at: given.endAt === undefined ? undefined : time("end_at", given.endAt),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function toSchedule(row: ScheduleRow, values: ValueCipher): Schedule {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    name: row.name,
    cron: row.cron,
    timeZone: row.time_zone,
    kind: row.kind,
    request: values.openJson(row.request) as Schedule["request"],
    priority: row.priority,
    metadata: row.metadata,
    threadId: row.thread_id,
    isEphemeral: row.is_ephemeral,
    isExclusive: row.is_exclusive,
    missed: row.missed,
    maxMissed: row.max_missed,
    enabled: row.enabled,
    nextAt: isoTimeOrNull(row.next_at),
    lastAt: isoTimeOrNull(row.last_at),
    lastRunId: row.last_run_id,
    lastProblem: row.last_problem,
    endAt: isoTimeOrNull(row.end_at),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
/** The schedule of the only row. @throws NotFoundError */
export function oneSchedule(
  [row]: readonly ScheduleRow[],
  id: string,
  values: ValueCipher,
): Schedule {
  if (row === undefined) throw new NotFoundError("schedule", id);
  return toSchedule(row, values);
}
