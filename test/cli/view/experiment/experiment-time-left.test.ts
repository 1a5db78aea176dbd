import { describe, expect, it } from "vitest";
import { timeLeftOfAll } from "../../../../src/cli/view/experiment/experiment-view.ts";
import type { RunProgress } from "../../../../src/experiment/run-progress.ts";
import { runOf } from "../experiment-runs.ts";

const pace = (progress: Partial<RunProgress>, model_name = "a:b") => {
  return { model_name, progress: runOf(progress) };
};

describe("timeLeftOfAll", () => {
  it("is not known before a cycle has ended", () => {
    expect(timeLeftOfAll([pace({}), pace({ status: "waiting" })], 1)).toBeNull();
  });

  it("is nothing where nothing is left", () => {
    expect(timeLeftOfAll([pace({ status: "done" }), pace({ status: "failed" })], 1)).toBeNull();
  });

  it("adds what runs beside each other do not share", () => {
    const running = pace({ cycles_done: 5, elapsed_ms: 500, remaining_ms: 500 });
    const waiting = pace({ status: "waiting" });
    const runs = [running, waiting, waiting, waiting];
    expect(timeLeftOfAll(runs, 1)).toBe(3500);
    expect(timeLeftOfAll(runs, 2)).toBe(2000);
    expect(timeLeftOfAll(runs, 4)).toBe(1000);
    expect(timeLeftOfAll(runs, 64)).toBe(1000);
  });

  it("takes the pace of runs of the same model, and only of cycles of this process", () => {
    const runs = [
      pace({ status: "done", cycles_done: 10, cycles_before: 8, elapsed_ms: 2000 }, "slow:one"),
      pace({ status: "done", cycles_done: 10, elapsed_ms: 1000 }, "fast:one"),
      pace({ status: "waiting" }, "slow:one"),
    ];
    expect(timeLeftOfAll(runs, 1)).toBe(10_000);
    expect(timeLeftOfAll([...runs.slice(0, 2), pace({ status: "waiting" }, "new:one")], 1)).toBe(
      2500,
    );
  });
});
