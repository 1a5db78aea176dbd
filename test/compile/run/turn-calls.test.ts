import { describe, expect, it } from "vitest";
import { TurnTime, turnTime, withTurnTime } from "../../../src/compile/run/turn-calls.ts";

describe("the active time of a turn", () => {
  it("counts from the node that begins it, without a gap", () => {
    const time = new TurnTime();
    expect(time.elapsed(1_000, null)).toBe(0);
    expect(time.elapsed(1_700, 0)).toBe(700);
    // What passed since the last node was given its state counts too.
    expect(time.elapsed(5_000, 700)).toBe(4_000);
  });

  it("goes on from what is stored where a run resumes it, without the time between", () => {
    const time = new TurnTime();
    expect(time.elapsed(3_600_000, 700)).toBe(700);
    expect(time.elapsed(3_600_500, 700)).toBe(1_200);
  });

  it("begins anew with the next turn, and never goes back", () => {
    const time = new TurnTime();
    time.elapsed(1_000, 500);
    expect(time.elapsed(2_000, null)).toBe(0);
    expect(time.elapsed(1_500, 300)).toBe(300);
  });

  it("is that of the run: nodes share it, two runs do not", () => {
    const [one, other] = [withTurnTime({}), withTurnTime({})];
    turnTime(one).elapsed(1_000, null);
    expect(turnTime(one).elapsed(1_400, 0)).toBe(400);
    expect(turnTime(other).elapsed(1_400, 0)).toBe(0);
  });
});
