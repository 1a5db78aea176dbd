import { errorMessage, StratagraphError } from "../errors.ts";
import type { ExecuteResult } from "../runtime/execute-agent.ts";
import type { Status } from "../state/lifecycle.ts";
import { noUsage } from "../state/usage.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import type { FinishedState, RunState } from "../storage/platform/runs/run-rows.ts";
import { isRecord } from "../values/json.ts";
import { requestEvent, type RunEvent } from "./run-events.ts";
import type { RunRequest, RunResult, TurnCause } from "./run-request.ts";

const finishedStates: Readonly<Partial<Record<Status, FinishedState>>> = {
  COMPLETED: "complete",
  FAILED: "failed",
  CANCELLED: "cancelled",
  AWAITING_HUMAN: "awaiting_human",
  AWAITING_TOOL: "awaiting_tool",
};

/** The result of a turn that has ended or waits. */
export function toRunResult(
  result: ExecuteResult,
  of: { readonly request: RunRequest; readonly checkpointId: string | null },
): RunResult {
  const { output, failure, cancel_reason: reason } = result;
  const isOfWaits = result.toolCalls.length === 0 && result.waits.length > 0;
  const ended = finishedStates[result.status] ?? "failed";
  const status = ended === "awaiting_tool" && isOfWaits ? "awaiting_event" : ended;
  const cause =
    failure !== null
      ? { code: failure.cause, message: failure.message }
      : status === "cancelled"
        ? { code: "turn_cancelled", message: reason ?? "The turn was cancelled." }
        : null;
  return {
    turn_id: of.request.turn_id,
    status,
    message: textOf(output),
    output,
    tool_calls: result.toolCalls,
    requests: result.interrupts,
    ...(result.waits.length > 0 && { waits: result.waits }),
    incomplete: result.incomplete_reason,
    cause,
    usage: result.usage,
    checkpoint_id: of.checkpointId,
  };
}

function textOf(output: unknown): string | null {
  const text = isRecord(output) ? output["message"] : output;
  return typeof text === "string" ? text : null;
}

/** Messages of unknown errors may have anything in them: they are logged, and not shown. */
export function causeOf(thrown: unknown): TurnCause {
  if (thrown instanceof StratagraphError)
    return { code: thrown.code, message: errorMessage(thrown).slice(0, 4_000) };
  return { code: "internal", message: "An unexpected error occurred." };
}

/** The result of a run that was cancelled before a worker had it, with its last turn. */
export function cancelledResult(
  request: Pick<RunRequest, "turn_id">,
  before: Pick<RunResult, "turn_id" | "usage" | "checkpoint_id"> | null,
): RunResult {
  const isOpen = before?.turn_id === request.turn_id;
  return endedResult(request, {
    status: "cancelled",
    cause: { code: "turn_cancelled", message: "The run was cancelled." },
    usage: isOpen ? before.usage : noUsage,
    checkpoint_id: isOpen ? before.checkpoint_id : null,
  });
}

/** The result of a run whose workers were lost with it, one after the other. */
export function deadResult(request: Pick<RunRequest, "turn_id">): RunResult {
  const message =
    "The workers that executed the run were lost. Retry it, cancel it, or send a new turn.";
  return endedResult(request, { status: "failed", cause: { code: "run_dead", message } });
}

/** The notice for webhooks of the end of a turn. */
export function endNotice(
  run: Pick<Run, "id" | "threadId" | "instanceId">,
  { turn_id, status, cause }: Pick<RunResult, "turn_id" | "status" | "cause">,
) {
  const { id: run_id, threadId: thread_id, instanceId: instance_id } = run;
  return {
    event: `run.${status}`,
    body: { run_id, thread_id, instance_id, turn_id, status, cause },
  };
}

/** States in which the turn of a run waits. */
export const awaiting: readonly RunState[] = ["awaiting_human", "awaiting_tool", "awaiting_event"];

/** Milliseconds until a run tries again whose turn waits, and could not be continued. */
const refusedMs = 600_000;
/** The year 10,000: a limit after it is none. */
const endOfLimits = 253_402_300_800_000;

/**
 * When a run that waits resumes: at the first deadline of what it waits for, but not soon after it was refused.
 * ISO 8601; null if it does not wait, or without a limit.
 */
export function deadlineOf(
  {
    status,
    requests,
    tool_calls: calls,
    waits = [],
    cause,
  }: Pick<RunResult, "status" | "requests" | "tool_calls" | "waits" | "cause">,
  now: Date,
): string | null {
  if (!awaiting.includes(status)) return null;
  const times = [...requests, ...calls, ...waits].flatMap(({ expires_at: text }) => {
    const time = Date.parse(text ?? "");
    return time < endOfLimits ? [time] : [];
  });
  if (times.length === 0) return null;
  const earliest = cause === null ? 0 : now.getTime() + refusedMs;
  return new Date(Math.max(earliest, Math.min(...times))).toISOString();
}

/** The last events of a turn. The stream of a graph has its errors and interrupts already. */
export function endEvents(
  { kind }: Pick<Run, "kind">,
  end: RunResult & { readonly state: FinishedState | "dead" },
): readonly RunEvent[] {
  const { turn_id, status, checkpoint_id, cause, state } = end;
  const asked = end.requests.filter((request) => request.kind !== "tool_calls");
  const isTold = kind !== "graph" || state === "dead";
  return [
    ...(kind === "graph" ? [] : asked.map(requestEvent)),
    ...(isTold && status === "failed" && cause !== null
      ? [
          {
            event: "error" as const,
            data: { ...cause, ...(kind === "graph" && { error: "RunDeadError" }) },
          },
        ]
      : []),
    { event: "done", data: { turn_id, status, checkpoint_id } },
  ];
}

/** A result without an answer. */
export function endedResult(
  { turn_id }: Pick<RunRequest, "turn_id">,
  end: Pick<RunResult, "status" | "cause"> & Partial<Pick<RunResult, "usage" | "checkpoint_id">>,
): RunResult {
  return {
    message: null,
    output: null,
    tool_calls: [],
    requests: [],
    incomplete: null,
    usage: noUsage,
    checkpoint_id: null,
    turn_id,
    ...end,
  };
}

/** Codes of answers to requests that are not pending. */
export const takenCodes = new Set<string>([
  "nothing_to_answer",
  "unknown_interrupt",
  "unknown_tool_call",
]);
