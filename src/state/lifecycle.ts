import { StratagraphError } from "../errors.ts";

/** The status of a turn, in the order of an ordinary turn; the last three are its possible ends. */
export const statuses = [
  "CREATED",
  "INITIALIZING",
  "PLANNING",
  "EXECUTING",
  "AWAITING_TOOL",
  "AWAITING_HUMAN",
  "REFLECTING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
] as const;
export type Status = (typeof statuses)[number];

/** Every legal move. FAILED and CANCELLED are left only by replaying from an earlier checkpoint. */
const moves: Readonly<Record<Status, readonly Status[]>> = {
  CREATED: ["INITIALIZING", "CANCELLED"],
  INITIALIZING: ["PLANNING", "FAILED", "CANCELLED"],
  PLANNING: ["EXECUTING", "AWAITING_HUMAN", "FAILED", "CANCELLED"],
  EXECUTING: ["EXECUTING", "AWAITING_TOOL", "AWAITING_HUMAN", "REFLECTING", "FAILED", "CANCELLED"],
  AWAITING_TOOL: ["EXECUTING", "AWAITING_HUMAN", "FAILED", "CANCELLED"],
  AWAITING_HUMAN: ["PLANNING", "EXECUTING", "CANCELLED", "FAILED"],
  REFLECTING: ["PLANNING", "COMPLETED", "FAILED", "CANCELLED"],
  COMPLETED: ["INITIALIZING"],
  FAILED: [],
  CANCELLED: [],
};

/** A status change that the lifecycle does not allow. */
export class InvalidTransitionError extends StratagraphError {
  readonly code = "invalid_transition";
  override readonly kind = "run";

  constructor(
    readonly from: Status,
    readonly to: Status,
    /** Statuses that `from` may move to. */
    readonly allowed: readonly Status[],
  ) {
    const instead =
      allowed.length === 0
        ? `${from} is final: replay from an earlier checkpoint to continue.`
        : `From ${from} it can go to ${allowed.join(", ")}.`;
    super(`A turn cannot go from ${from} to ${to}. ${instead}`);
  }
}

/** Returns whether a move is legal. Staying in a status is a move too, which only EXECUTING allows. */
export function canTransition(from: Status, to: Status): boolean {
  return moves[from].includes(to);
}

/**
 * Returns `to`.
 * @throws InvalidTransitionError
 */
export function transition<To extends Status>(from: Status, to: To): To {
  if (!canTransition(from, to)) throw new InvalidTransitionError(from, to, moves[from]);
  return to;
}

/** Statuses in which a turn waits for nothing. */
const passing: readonly Status[] = ["PLANNING", "EXECUTING", "REFLECTING"];

/**
 * Returns the shortest sequence of legal moves from one status to another, by way of passing statuses; the last is
 * `to`. Empty if it is already there and cannot move to it again, null if it cannot be reached.
 */
export function movesTo(from: Status, to: Status): readonly Status[] | null {
  if (from === to && !canTransition(from, to)) return [];
  const ways: (readonly Status[])[] = [[]];
  const seen = new Set<Status>();
  for (const way of ways) {
    const at = way.at(-1) ?? from;
    if (canTransition(at, to)) return [...way, to];
    for (const next of passing) {
      if (seen.has(next) || !canTransition(at, next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return null;
}

/** Returns whether no move leaves a status. COMPLETED is not terminal: the thread's next turn begins there. */
export function isTerminal(status: Status): boolean {
  return moves[status].length === 0;
}
