import { isRecord } from "../values/json.ts";
import { StateUpdateError } from "./reducers.ts";
import type { StepRecord } from "./step-record.ts";
import { type Reasoning, type Usage, usageSince } from "./usage.ts";

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

/** An entry of long-term memory that a turn begins with. Its text is not stored here: contexts read it by the id. */
export interface TurnMemory {
  readonly id: string;
  /** `short_term`, `episodic`, `semantic` or `procedural`. */
  readonly type: string;
  /** From 0 to 1. */
  readonly score: number;
  /** Why the search found it: the parts of the score, and the words and names of the request that matched. */
  readonly why: Readonly<Record<string, unknown>>;
  /** Of its line in the memory section. */
  readonly tokens: number;
  /** `updated_at` of the entry when it was found; a text that is newer must be checked again. */
  readonly read_at: string;
  /** Set if an input rail redacted its text. */
  readonly redacted?: true;
}

/** What a turn remembers: references to entries, never their texts. */
export interface TurnMemories {
  /** Best first. */
  readonly items: readonly TurnMemory[];
  /** Entries that were found and left out. `reason` is `budget`, or `guardrail:` and the name of the rail. */
  readonly dropped: readonly { readonly id: string; readonly reason: string }[];
  /** Why the memory could not be read, or the use of entries not recorded. The turn runs without it. */
  readonly error?: string;
  /** Milliseconds of the search and the checks. */
  readonly took_ms: number;
}

/** How many entries of long-term memory a turn has left, by type. Their keys begin with `turn.run`. */
export interface MemoryWritten {
  readonly short_term: number;
  readonly episodic: number;
  readonly semantic: number;
  /** Sequences of tools that were counted. */
  readonly procedural: number;
  /** Set if the turn's model extracted the facts; rules did otherwise. */
  readonly extracted_by?: string;
  /** What became of short-term entries of the thread; left out if none were due. */
  readonly consolidation?: {
    readonly consolidated: number;
    readonly merged: number;
    readonly evicted: number;
    readonly archived: number;
  };
  /** Codes of the errors that kept entries from being written; the turn ends as it would without memory. */
  readonly errors?: readonly string[];
}

/** Bookkeeping of the running turn. */
export interface TurnState {
  /** The name of the agent that runs it and owns the thread; left out by earlier versions. */
  readonly agent?: string;
  /** Id of this execution of the turn, or that of the caller: kept when it is resumed, new for a fork or a replay. */
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
  /** Why a caller cancelled the turn by the id of its thread; left out otherwise, and without a reason. */
  readonly cancel_reason?: string;
  /**
   * Digest of the conversation at the end of the turn, if input rails have checked all of it; left out without input
   * rails.
   */
  readonly conversation?: string;
  /**
   * Ids of messages of callers that the thread contains and that may still be in its inbox; left out before the first one.
   * A turn begins with those of the turn before it.
   */
  readonly inbox?: readonly string[];
  /** Approvals of the step in progress; left out before the first request. */
  readonly approvals?: Approvals;
  /** Whose memories the turn reads and writes; left out for those that all users of the agent share. */
  readonly user?: string;
  /** Left out without long-term memory. */
  readonly memories?: TurnMemories;
  /** Left out while the turn runs, without long-term memory, and for turns that leave nothing: cancelled ones. */
  readonly memory_written?: MemoryWritten;
}

/** Where a message came that a caller sent into a running turn: before this step. */
export interface MessagePlace {
  readonly turn_number: number;
  readonly attempt_number: number;
  readonly step_index: number;
}

/** The key of a {@link MessagePlace} in the `additional_kwargs` of a message. */
export const placeKey = "within_turn";

/** Returns where in its turn a message came; null for one that begins a turn, and for other messages. */
export function placeOf({
  additional_kwargs: extras,
}: {
  readonly additional_kwargs?: Readonly<Record<string, unknown>>;
}): MessagePlace | null {
  const place = extras?.[placeKey];
  if (!isRecord(place)) return null;
  const { turn_number, attempt_number, step_index } = place;
  const isPlace = [turn_number, attempt_number, step_index].every(Number.isInteger);
  return isPlace ? (place as unknown as MessagePlace) : null;
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
  /** The steps of the last attempt by the node that made them. */
  readonly byNode: ReadonlyMap<string, readonly StepRecord[]>;
  /** The names of the tools whose calls have results. */
  readonly toolNames: ReadonlySet<string>;
  /** What models thought before their calls, by call id. */
  readonly reasoning: ReadonlyMap<string, CallReasoning>;
}

/** What a model thought before a call. */
interface CallReasoning {
  /** `provider:model`. */
  readonly model: string;
  readonly reasoning: Reasoning;
}

interface MutableTurnSteps {
  steps: StepRecord[];
  attempt: StepRecord[];
  callIds: Set<string>;
  toolCalls: number;
  lastIndex: number;
  byNode: Map<string, StepRecord[]>;
  toolNames: Set<string>;
  reasoning: Map<string, CallReasoning>;
}

function emptyTurn(): MutableTurnSteps {
  return {
    steps: [],
    attempt: [],
    callIds: new Set(),
    toolCalls: 0,
    lastIndex: -1,
    byNode: new Map(),
    toolNames: new Set(),
    reasoning: new Map(),
  };
}

/** How far from its end a list is searched for the part that was already folded. */
const reach = 16;

const lastTurn = appendFold<StepRecord, MutableTurnSteps>(emptyTurn, (turn, step) => {
  const before = turn.steps.at(-1);
  const sameTurn = before?.turn_number === step.turn_number;
  if (!sameTurn) Object.assign(turn, emptyTurn());
  if (!sameTurn || before.attempt_number !== step.attempt_number) {
    turn.attempt = [];
    turn.byNode = new Map();
  }
  turn.steps.push(step);
  turn.attempt.push(step);
  turn.toolCalls += step.tool_results.length;
  turn.lastIndex = Math.max(turn.lastIndex, step.step_index);
  const ofNode = turn.byNode.get(step.node);
  if (ofNode === undefined) turn.byNode.set(step.node, [step]);
  else ofNode.push(step);
  for (const { name } of step.tool_results) turn.toolNames.add(name);
  const { model, reasoning } = step;
  for (const { id } of step.tool_predictions) {
    turn.callIds.add(id);
    // Edits of the state may hold anything.
    if (isRecord(reasoning)) turn.reasoning.set(id, { model, reasoning });
  }
});

const noSteps: TurnSteps = emptyTurn();

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
  const isAttempt = last.attempt_number === under.attemptNumber;
  return isAttempt ? turn : { ...turn, attempt: [], byNode: new Map() };
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
  const folded = new WeakMap<T, Folded<T, Value>>();
  return (list) => {
    const last = list.at(-1);
    if (last === undefined) return empty();
    const { length } = list;
    const known = longestKnown(list, folded);
    if (known?.length === length) return known.value;
    const value = known?.value ?? empty();
    for (let at = known?.length ?? 0; at < length; at += 1) add(value, list[at] as T);
    folded.set(last, { list, length, value });
    return value;
  };
}

interface Folded<T, Value> {
  readonly list: readonly T[];
  /** Elements that are folded: the list itself may have grown since. */
  readonly length: number;
  readonly value: Value;
}

/** Returns the longest cached prefix. Its entry is removed unless it is the whole list, because the value will grow. */
function longestKnown<T extends object, Value>(
  list: readonly T[],
  folded: WeakMap<T, Folded<T, Value>>,
): Folded<T, Value> | undefined {
  for (let end = list.length; end > 0 && end > list.length - reach; end -= 1) {
    const key = list[end - 1] as T;
    const entry = folded.get(key);
    if (entry !== undefined && entry.length === end && isSame(entry.list, list, end)) {
      if (end < list.length) folded.delete(key);
      return entry;
    }
  }
  return undefined;
}

function isSame<T>(one: readonly T[], other: readonly T[], end: number): boolean {
  if (one === other) return true;
  for (let at = 0; at < end; at += 1) if (one[at] !== other[at]) return false;
  return true;
}
