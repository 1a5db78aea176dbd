import type { AgentEventBody } from "../../state/event.ts";
import { movesTo, type Status } from "../../state/lifecycle.ts";

type StatusEvent = Extract<AgentEventBody, { type: "status" }>;

/** What was told last in a run, by the agents around. A run and the agents inside of it have one writer. */
const told = new WeakMap<object, Map<string, Status>>();

/**
 * The events that tell of a status: every move of the lifecycle on the way from what the run told before, so that the
 * nodes need not know what ran before or beside them. Nothing where that is the status already, or where no move leads
 * there, as from the end that another branch has given the turn. A run that goes on with a turn first tells where it
 * stands, which is no move.
 */
export function statusMoves(
  writer: object,
  within: readonly string[],
  of: {
    readonly status: Status;
    /** In the state that the node was given. */
    readonly stored: Status;
    /** Whether the node begins a turn. */
    readonly beginsTurn: boolean;
  },
): readonly StatusEvent[] {
  const { status, stored, beginsTurn } = of;
  const statuses = told.get(writer) ?? new Map<string, Status>();
  told.set(writer, statuses);
  const agent = within.join("/");
  const before = statuses.get(agent);
  const events = (moves: readonly Status[]): readonly StatusEvent[] => {
    statuses.set(agent, moves.at(-1) ?? before ?? stored);
    return moves.map((one) => ({ type: "status", status: one }));
  };
  if (beginsTurn) {
    const isNext = (before ?? stored) === "COMPLETED";
    return events(isNext ? [status] : ["CREATED", status]);
  }
  if (before !== undefined) return events(movesTo(before, status) ?? []);
  const resumed: StatusEvent = { type: "status", status: stored, resumed: true };
  return [resumed, ...events(movesTo(stored, status) ?? [])];
}
