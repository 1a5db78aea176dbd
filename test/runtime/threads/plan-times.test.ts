import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planTimes } from "../../../src/runtime/threads/plans.ts";
import type { SubtaskState } from "../../../src/state/plan.ts";
import { planOf, subtaskState } from "../../helpers/subtasks.ts";

describe("how long a plan took", () => {
  it("is the time while a subtask ran, the sum of all, and the longest way", () => {
    const plan = planOf({ a: "", b: "", c: "a", d: "b c" });
    const states = {
      a: subtaskState(0, 1),
      b: subtaskState(0.5, 4),
      c: subtaskState(1, 2),
      d: subtaskState(10, 12),
    };
    expect(planTimes(plan, states)).toEqual({
      wallMs: 6000,
      summedMs: 7500,
      criticalPath: { ids: ["b", "d"], ms: 5500 },
    });
  });

  it("counts nothing for what was skipped, and the mean for what has not ended", () => {
    const plan = planOf({ a: "", b: "", c: "b", d: "" });
    const open = subtaskState(2, 2, { status: "running", ended_at: null });
    const skipped = { ...subtaskState(2, 2, { status: "skipped" }), started_at: null };
    expect(
      planTimes(plan, { a: subtaskState(0, 3), b: subtaskState(0, 2), c: open, d: skipped }),
    ).toEqual(
      // 5 s over three that have ended: c counts for 1.7 s.
      { wallMs: 3000, summedMs: 5000, criticalPath: { ids: ["b", "c"], ms: 2000 } },
    );
  });

  it("leaves what was skipped out of the longest way", () => {
    const skipped = { ...subtaskState(3, 3, { status: "skipped" }), started_at: null };
    const states = { a: subtaskState(0, 3, { status: "failed" }), b: skipped };
    expect(planTimes(planOf({ a: "", b: "a" }), states).criticalPath).toEqual({
      ids: ["a"],
      ms: 3000,
    });
  });

  it("is the way of most subtasks where nothing has ended", () => {
    expect(planTimes(planOf({ a: "", b: "a", c: "" }), {})).toEqual({
      wallMs: 0,
      summedMs: 0,
      criticalPath: { ids: ["a", "b"], ms: 0 },
    });
  });

  it("is no time below 0 where clocks differ", () => {
    expect(planTimes(planOf({ a: "" }), { a: subtaskState(5, 3) }).summedMs).toBe(0);
  });

  it("is never shorter than the longest way, nor longer than one after the other", () => {
    const run = fc
      .array(fc.record({ waits: fc.nat(9), takes: fc.nat(9), needs: fc.array(fc.nat(20)) }))
      .map((drawn) => {
        const states: Record<string, SubtaskState> = {};
        const dependencies: Record<string, string> = {};
        for (const [index, { waits, takes, needs }] of drawn.entries()) {
          const before = [...new Set(needs.filter((need) => need < index))].map(
            (need) => `s${need}`,
          );
          const ends = before.map((id) => Date.parse(states[id]?.ended_at ?? "") / 1000);
          const from = Math.max(0, ...ends.map((end) => end - Date.UTC(2026, 0, 1) / 1000)) + waits;
          states[`s${index}`] = subtaskState(from, from + takes);
          dependencies[`s${index}`] = before.join(" ");
        }
        return { plan: planOf(dependencies), states };
      });
    fc.assert(
      fc.property(run, ({ plan, states }) => {
        const { wallMs, summedMs, criticalPath } = planTimes(plan, states);
        expect(criticalPath.ms).toBeLessThanOrEqual(wallMs);
        expect(wallMs).toBeLessThanOrEqual(summedMs);
      }),
    );
  });
});
