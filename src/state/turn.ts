import { isRecord } from "../values/json.ts";
import { StateUpdateError } from "./reducers.ts";
import type { StepRecord } from "./step-record.ts";
import { type Usage, usageSince } from "./usage.ts";

/** Why a turn failed. `cause` is a stable word: `attempts_exhausted`, `turn_timeout` or the code of an error. */
export interface TurnFailure {
  readonly cause: string;
  readonly message: string;
  /** Whether the same turn may succeed later; left out if it would fail again. */
  readonly transient?: true;
}

/** An attempt that ended without an accepted output, and why. */
export interface FailedAttempt {
  readonly attempt_number: number;
  readonly errors: readonly string[];
  /** The refused answer; null if the attempt gave none. */
  readonly answer: string | null;
  /** Set if a guardrail withheld the answer from the next attempt. */
  readonly withheld?: true;
  /** What the attempt left in the execution state, for the next one; left out if that holds nothing new. */
  readonly execution_view?: readonly string[];
}

/**
 * Why an answer is incomplete: `max_iterations` were reached and it was made from known results, or the model reached its
 * output limit (`length`).
 */
export type IncompleteReason = "max_iterations" | "length";

/** The result of the reasoning before it is judged: an answer, or why there is none. */
export type Draft =
  | {
      readonly answer: string;
      /** The id of the model's own message, so that the streamed and the stored message are the same. */
      readonly message_id: string | null;
      readonly incomplete: boolean;
      /** Left out unless `incomplete`. */
      readonly incomplete_reason?: IncompleteReason;
      readonly problem: null;
    }
  | { readonly answer: null; readonly incomplete: false; readonly problem: string };

/** Bookkeeping of the running turn. */
export interface TurnState {
  /** The name of the agent that runs it and owns the thread; left out by earlier versions. */
  readonly agent?: string;
  /** Id of this execution of the turn: kept when it is resumed, new for a fork or a replay. */
  readonly run: string;
  /** ISO 8601. */
  readonly started_at: string;
  /** Active milliseconds so far, without waiting for people and without the time between a crash and its resume. */
  readonly elapsed_ms: number;
  /** LangGraph's number of the superstep in which the turn began. */
  readonly first_superstep: number;
  /** The thread's usage when the turn began. */
  readonly usage_before: Usage;
  /** Deep mode: the strategy of the attempt. */
  readonly approach: string;
  /** Set from the last reasoning step of an attempt until the attempt is judged and the turn is over. */
  readonly draft: Draft | null;
  readonly failed_attempts: readonly FailedAttempt[];
  /** Set when the turn has FAILED. */
  readonly failure: TurnFailure | null;
  /**
   * Digest of the conversation at the end of the turn, if input rails have checked all of it; left out without input
   * rails.
   */
  readonly conversation?: string;
  /** Approvals of the step in progress; left out before the first request. */
  readonly approvals?: Approvals;
}

/** Hashes of approved calls, by call id. */
export type Approvals = Readonly<Record<string, string>>;

/**
 * Merges by key. `first_superstep` begins a new turn and replaces everything. Of concurrent branches the longest counts
 * as active time, and the failure that was written first stays.
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

/** Returns the usage of the running turn. */
export function turnUsage(state: {
  readonly turn?: TurnState | undefined;
  readonly usage: Usage;
}): Usage {
  return state.turn === undefined ? state.usage : usageSince(state.turn.usage_before, state.usage);
}

/** The steps of the running turn, indexed for the reasoning loop. */
export interface TurnSteps {
  /** The steps of the last turn, in order. */
  readonly steps: readonly StepRecord[];
  /** The steps of its last attempt. */
  readonly attempt: readonly StepRecord[];
  readonly callIds: ReadonlySet<string>;
  readonly toolCalls: number;
  /** The highest `step_index`; -1 without steps. Branches do not complete their steps in this order. */
  readonly lastIndex: number;
}

interface MutableTurnSteps {
  steps: StepRecord[];
  attempt: StepRecord[];
  callIds: Set<string>;
  toolCalls: number;
  lastIndex: number;
}

/** How far from its end a list is searched for the part that was already folded. */
const reach = 16;

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

/**
 * Returns the steps of the running turn, which are at the end of the list. The cost is that of the steps added since
 * the last call.
 */
export function turnSteps(
  steps: readonly StepRecord[],
  under: { readonly turnNumber: number; readonly attemptNumber: number },
): TurnSteps {
  const turn = lastTurn(steps);
  const last = turn.steps.at(-1);
  if (last?.turn_number !== under.turnNumber) return noSteps;
  return last.attempt_number === under.attemptNumber ? turn : { ...turn, attempt: [] };
}

/** Returns the steps of any turn. The cost grows with the length of the thread; meant for results, not for the loop. */
export function stepsOfTurn(
  steps: readonly StepRecord[],
  turnNumber: number,
): readonly StepRecord[] {
  return steps.filter((step) => step.turn_number === turnNumber);
}

/**
 * A fold over growing lists, cached so that a list that has grown costs only the added elements. Any other change (a
 * fork, an element replaced in the middle) is detected, and the list is folded again. Elements are compared by identity
 * and must not change.
 *
 * @param empty returns the value of an empty list
 * @param add adds one element to the value, in place
 * @returns the fold; it owns its value, which is valid until the next call
 */
export function appendFold<T extends object, Value>(
  empty: () => Value,
  add: (value: Value, element: T) => void,
): (list: readonly T[]) => Value {
  const folded = new WeakMap<T, { readonly list: readonly T[]; readonly value: Value }>();
  return (list) => {
    const last = list.at(-1);
    if (last === undefined) return empty();
    const known = longestKnown(list, folded);
    if (known?.list.length === list.length) return known.value;
    const value = known?.value ?? empty();
    for (let at = known?.list.length ?? 0; at < list.length; at += 1) add(value, list[at] as T);
    folded.set(last, { list, value });
    return value;
  };
}

/** Returns the longest cached prefix. Its entry is removed unless it is the whole list, because the value will grow. */
function longestKnown<T extends object, Entry extends { readonly list: readonly T[] }>(
  list: readonly T[],
  folded: WeakMap<T, Entry>,
): Entry | undefined {
  for (let end = list.length; end > 0 && end > list.length - reach; end -= 1) {
    const key = list[end - 1] as T;
    const entry = folded.get(key);
    if (entry !== undefined && entry.list.length === end && isPrefix(entry.list, list)) {
      if (end < list.length) folded.delete(key);
      return entry;
    }
  }
  return undefined;
}

function isPrefix<T>(prefix: readonly T[], list: readonly T[]): boolean {
  for (let at = 0; at < prefix.length; at += 1) {
    if (prefix[at] !== list[at]) return false;
  }
  return true;
}
