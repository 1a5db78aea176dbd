import type { Attachment } from "../compile/attachments/read-attachments.ts";
import type { ToolCallResult } from "../runtime/execute-agent.ts";
import type { ClientCall, PendingRequest } from "../state/human-request.ts";
import { noUsage, type Usage } from "../state/usage.ts";
import type { FinishedState, Run } from "../storage/platform/runs/runs.ts";

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
  readonly incomplete: string | null;
  readonly cause: TurnCause | null;
  /** Of the whole turn. */
  readonly usage: Usage;
  readonly checkpoint_id: string | null;
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
  const message = "The workers that executed the run were lost. Cancel it, or send a new turn.";
  return endedResult(request, { status: "failed", cause: { code: "run_dead", message } });
}

/** What webhooks are told of the end of a turn. */
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

/** A result without an answer. */
function endedResult(
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
