import type { AgentEvent } from "../../src/state/events.ts";
import { canTransition, type Status } from "../../src/state/lifecycle.ts";

/**
 * The moves between statuses that a run's events tell and the lifecycle does not know, agent by agent. A status that a
 * resumed turn stands at is no move, and an agent that is run again after it FAILED is CREATED anew.
 */
export function illegalMoves(run: readonly AgentEvent[]): readonly string[] {
  const last = new Map<string, Status>();
  return run.flatMap((event) => {
    if (event.type !== "status") return [];
    const { status, within, node, resumed } = event;
    const agent = within.join("/");
    const before = last.get(agent);
    last.set(agent, status);
    if (before === undefined) {
      const begins = status === "CREATED" || status === "INITIALIZING" || resumed === true;
      return begins ? [] : [`${agent}/${node}: begins ${status}`];
    }
    if (canTransition(before, status) && resumed !== true) return [];
    if (status === "CREATED" && before === "FAILED") return [];
    return [`${agent}/${node}: ${before} → ${status}`];
  });
}

/** The statuses that a run's events tell of the agent that was run. */
export function statusesIn(run: readonly AgentEvent[]): readonly string[] {
  return run.flatMap((event) =>
    event.type === "status" && event.within.length === 0
      ? [event.resumed === true ? `at ${event.status}` : event.status]
      : [],
  );
}
