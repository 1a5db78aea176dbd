import { describe, expect, it } from "vitest";
import { StratagraphError } from "../../src/errors.ts";
import {
  canTransition,
  InvalidTransitionError,
  isTerminal,
  statuses,
  transition,
  type Status,
} from "../../src/state/lifecycle.ts";

/** The lifecycle's table as it is specified. */
const specified = `
| CREATED | INITIALIZING, CANCELLED |
| INITIALIZING | PLANNING, FAILED, CANCELLED |
| PLANNING | EXECUTING, AWAITING_HUMAN, FAILED, CANCELLED |
| EXECUTING | EXECUTING, AWAITING_TOOL, AWAITING_HUMAN, REFLECTING, FAILED, CANCELLED |
| AWAITING_TOOL | EXECUTING, AWAITING_HUMAN, FAILED, CANCELLED |
| AWAITING_HUMAN | PLANNING, EXECUTING, CANCELLED, FAILED |
| REFLECTING | PLANNING, COMPLETED, FAILED, CANCELLED |
| COMPLETED | INITIALIZING |
| FAILED | |
| CANCELLED | |`;

const allowed = new Map<string, string[]>(
  specified
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()))
    .map(([, from = "", to = ""]) => [from, to === "" ? [] : to.split(", ")]),
);

const pairs = statuses.flatMap((from) => statuses.map((to): [Status, Status] => [from, to]));

describe("the lifecycle", () => {
  it("knows the ten statuses of the table", () => {
    expect([...statuses]).toEqual([...allowed.keys()]);
    expect(pairs).toHaveLength(100);
  });

  it.each(pairs)("moves from %s to %s as the table says", (from, to) => {
    const legal = allowed.get(from)?.includes(to) ?? false;
    expect(canTransition(from, to)).toBe(legal);
    const moved = caught(() => transition(from, to));
    expect(moved === to).toBe(legal);
    expect(moved instanceof InvalidTransitionError).toBe(!legal);
  });

  it("names both statuses and what is allowed instead", () => {
    const error = caught(() => transition("CREATED", "COMPLETED"));
    expect(error).toBeInstanceOf(StratagraphError);
    expect(error).toMatchObject({
      code: "invalid_transition",
      kind: "run",
      from: "CREATED",
      to: "COMPLETED",
      allowed: ["INITIALIZING", "CANCELLED"],
      message:
        "A turn cannot go from CREATED to COMPLETED. From CREATED it can go to INITIALIZING, CANCELLED.",
    });
  });

  it("says how to go on from a final status", () => {
    expect(caught(() => transition("FAILED", "EXECUTING"))).toMatchObject({
      message:
        "A turn cannot go from FAILED to EXECUTING. FAILED is final: replay from an earlier checkpoint to continue.",
    });
  });

  it("ends in FAILED and CANCELLED only", () => {
    expect(statuses.filter(isTerminal)).toEqual(["FAILED", "CANCELLED"]);
  });
});

function caught(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
}
