import { appendFold } from "./append-fold.ts";
import { isRecord } from "./is-record.ts";
import type { StepRecord } from "./step-record.ts";
import { StateUpdateError } from "./update-error.ts";
import { usageSince, type Usage } from "./usage.ts";

/** Why a turn failed. `cause` is a stable word: `attempts_exhausted`, `turn_timeout` or the code of an error. */
export interface TurnFailure {
  readonly cause: string;
  readonly message: string;
  /** Whether the same turn may succeed a little later; left out where it would fail again. */
  readonly transient?: true;
}

/** An attempt that ended without an accepted output, and why. */
export interface FailedAttempt {
  readonly attempt_number: number;
  readonly errors: readonly string[];
  /** The answer that was refused; null when the attempt gave none. */
  readonly answer: string | null;
}

/** What the reasoning gave to be judged: an answer, or the reason why there is none. */
export type Draft =
  | {
      readonly answer: string;
      /** Of the model's own message, so that what was streamed and what is stored are one. */
      readonly message_id: string | null;
      readonly incomplete: boolean;
      readonly problem: null;
    }
  | { readonly answer: null; readonly incomplete: false; readonly problem: string };

/** Bookkeeping of the turn under way. */
export interface TurnState {
  /** The name of the agent that runs it, to which the thread belongs; left out by versions that did not say. */
  readonly agent?: string;
  /** Id of this execution of the turn: kept when it is resumed, and new where a fork or a replay goes another way. */
  readonly run: string;
  /** ISO 8601. */
  readonly started_at: string;
  /** Active milliseconds so far: neither waiting for people nor the time between a crash and its resumption counts. */
  readonly elapsed_ms: number;
  /** LangGraph's number of the superstep that the turn began with. */
  readonly first_superstep: number;
  /** What the thread had spent when the turn began. */
  readonly usage_before: Usage;
  /** Deep mode: the strategy of the attempt. */
  readonly approach: string;
  /** Set from the last reasoning step of an attempt on, until the attempt is judged and the turn is over. */
  readonly draft: Draft | null;
  readonly failed_attempts: readonly FailedAttempt[];
  /** Set when the turn has FAILED. */
  readonly failure: TurnFailure | null;
  /** The conversation as the turn left it, where input rails have looked at all of it; left out where there are none. */
  readonly conversation?: string;
  /** What people approved in the step under way; left out until somebody was asked. */
  readonly approvals?: Approvals;
}

/** Hashes of calls that people let be made, by the ids of the calls. */
export type Approvals = Readonly<Record<string, string>>;

/**
 * Merges by key. `first_superstep` begins a new turn and replaces everything. Of branches that ran at the same time the
 * longest counts as active time, and the failure that was written first stays.
 */
export function reduceTurn(turn: TurnState, update: Partial<TurnState>): TurnState {
  if (!isRecord(update)) throw new StateUpdateError("turn", "an object");
  if (update.first_superstep !== undefined) return update as TurnState;
  return {
    ...turn,
    ...update,
    elapsed_ms: Math.max(turn.elapsed_ms, update.elapsed_ms ?? 0),
    failure: turn.failure ?? update.failure ?? null,
  };
}

/** What the turn under way has spent. */
export function turnUsage(state: {
  readonly turn?: TurnState | undefined;
  readonly usage: Usage;
}): Usage {
  return state.turn === undefined ? state.usage : usageSince(state.turn.usage_before, state.usage);
}

/** What the reasoning looks up about the steps of the turn under way. */
export interface TurnSteps {
  /** The last turn's, in order. */
  readonly steps: readonly StepRecord[];
  /** Those of its last attempt. */
  readonly attempt: readonly StepRecord[];
  readonly callIds: ReadonlySet<string>;
  readonly toolCalls: number;
  /** The highest `step_index`; -1 without steps. Branches do not close their steps in its order. */
  readonly lastIndex: number;
}

interface MutableTurnSteps {
  steps: StepRecord[];
  attempt: StepRecord[];
  callIds: Set<string>;
  toolCalls: number;
  lastIndex: number;
}

const lastTurn = appendFold<StepRecord, MutableTurnSteps>(
  () => ({ steps: [], attempt: [], callIds: new Set(), toolCalls: 0, lastIndex: -1 }),
  (turn, step) => {
    const before = turn.steps.at(-1);
    const sameTurn = before?.turn_number === step.turn_number;
    if (!sameTurn) {
      Object.assign(turn, { steps: [], callIds: new Set(), toolCalls: 0, lastIndex: -1 });
    }
    if (!sameTurn || before.attempt_number !== step.attempt_number) turn.attempt = [];
    turn.steps.push(step);
    turn.attempt.push(step);
    turn.toolCalls += step.tool_results.length;
    turn.lastIndex = Math.max(turn.lastIndex, step.step_index);
    for (const { id } of step.tool_predictions) turn.callIds.add(id);
  },
);

const noSteps: TurnSteps = {
  steps: [],
  attempt: [],
  callIds: new Set(),
  toolCalls: 0,
  lastIndex: -1,
};

/** The steps of the turn under way, which stand at the end of the list. Costs what was added since the last call. */
export function turnSteps(
  steps: readonly StepRecord[],
  under: { readonly turnNumber: number; readonly attemptNumber: number },
): TurnSteps {
  const turn = lastTurn(steps);
  const last = turn.steps.at(-1);
  if (last?.turn_number !== under.turnNumber) return noSteps;
  return last.attempt_number === under.attemptNumber ? turn : { ...turn, attempt: [] };
}

/** The steps of any turn. Costs what the thread is long: for results, not for the loop. */
export function stepsOfTurn(
  steps: readonly StepRecord[],
  turnNumber: number,
): readonly StepRecord[] {
  return steps.filter((step) => step.turn_number === turnNumber);
}
