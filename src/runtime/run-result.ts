import type { AgentState } from "../state/agent-state.ts";
import type { PendingRequest } from "../state/human-request.ts";
import type { Status } from "../state/lifecycle.ts";
import type { RailRecord } from "../state/rail-record.ts";
import type { StepRecord } from "../state/step-record.ts";
import { stepsOfTurn, turnUsage, type FailedAttempt, type TurnFailure } from "../state/turn.ts";
import { noUsage, type Usage } from "../state/usage.ts";
import type { StreamedTurn } from "./stream-turn.ts";

/** One attempt of a turn; the accepted one has no errors. */
export interface AttemptOutcome {
  readonly attempt_number: number;
  readonly errors: readonly string[];
}

export interface ExecuteResult<Output = unknown, Exec = unknown, Attempt = unknown> {
  /** Null unless `status` is COMPLETED. */
  readonly output: Output | null;
  /** AWAITING_HUMAN while any request waits. */
  readonly status: Status;
  /** What waits for people's answers; each is answered by its id. Empty unless `status` is AWAITING_HUMAN. */
  readonly interrupts: readonly PendingRequest[];
  readonly state: AgentState<Exec, Attempt>;
  /** The records of this turn. */
  readonly steps: readonly StepRecord[];
  /** What guardrails said in this turn. */
  readonly rails: readonly RailRecord[];
  /** What this turn has spent. */
  readonly usage: Usage;
  readonly attempts: readonly AttemptOutcome[];
  /** True when the answer was made from what was known because `max_iterations` was reached. */
  readonly incomplete: boolean;
  /** Why the turn FAILED; else null. */
  readonly failure: TurnFailure | null;
  readonly threadId: string;
}

export function toResult({ state, interrupts }: StreamedTurn, threadId: string): ExecuteResult {
  const { turn, usage = noUsage } = state;
  const failed = turn?.failed_attempts ?? [];
  const accepted =
    state.status === "COMPLETED" ? [{ attempt_number: failed.length, errors: [] }] : [];
  return {
    output: state.output ?? null,
    status: interrupts.length > 0 ? "AWAITING_HUMAN" : (state.status ?? "CREATED"),
    interrupts,
    state: { execution: state.execution, attempt: state.attempt },
    steps: stepsOfTurn(state.steps ?? [], state.turn_number ?? 0),
    rails: (state.rails ?? []).filter(({ turn_number }) => turn_number === state.turn_number),
    usage: turnUsage({ turn, usage }),
    attempts: [...failed.map(outcomeOf), ...accepted],
    incomplete: turn?.draft?.incomplete ?? false,
    failure: turn?.failure ?? null,
    threadId,
  };
}

function outcomeOf({ attempt_number, errors }: FailedAttempt): AttemptOutcome {
  return { attempt_number, errors };
}
