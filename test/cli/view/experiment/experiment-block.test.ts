import { describe, expect, it } from "vitest";
import { experimentBlock } from "../../../../src/cli/view/experiment/experiment-block.ts";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import type { RunProgress } from "../../../../src/experiment/run-progress.ts";
import { runOf, usageOf } from "../experiment-runs.ts";

const matrix = [
  runOf({
    run_id: "drift.llama3-latest.seed-1.curious",
    cycles_done: 12,
    cycle_count: 100,
    usage: usageOf(14_200, 0.12),
    remaining_ms: 180_000,
    doing: "thinking",
  }),
  runOf({
    run_id: "drift.llama3-latest.seed-2.curious",
    status: "done",
    cycles_done: 100,
    cycle_count: 100,
    usage: usageOf(1_420_000, 1.2),
  }),
  runOf({
    run_id: "drift.rules.seed-1.curious",
    status: "failed",
    cycles_done: 3,
    cycle_count: 100,
    failure: "No\nanswer\u001B[2J.",
  }),
  runOf({ run_id: "drift.rules.seed-2.curious", status: "waiting", cycle_count: 100 }),
];

function blockOf(
  runs: readonly RunProgress[],
  { width = 100, remaining_ms = null as number | null, isStopping = false } = {},
): readonly string[] {
  return experimentBlock({ runs, remaining_ms, isStopping }, { width, style: createStyle(false) });
}

describe("experimentBlock", () => {
  it("shows one run on one line", () => {
    expect(blockOf(matrix.slice(0, 1))).toEqual([
      "drift.llama3-latest.seed-1.curious  ────────  12/100  14.2k tok  $0.12  3 min left  thinking",
    ]);
    const unknown = runOf({ doing: "memory_write" });
    expect(blockOf([unknown])).toEqual(["drift  ────────  0/10  memory_write"]);
  });

  it("shows several runs by what tells them apart, and all of them together", () => {
    expect(blockOf(matrix, { remaining_ms: 7_500_000 })).toEqual([
      "llama3-latest.seed-1  ────────   12/100  14.2k tok  $0.12      3 min left  thinking",
      "llama3-latest.seed-2  ━━━━━━━━  100/100   1.4M tok  $1.20                  done",
      "rules.seed-1          ────────    3/100                                    failed: No answer.",
      "rules.seed-2          ────────    0/100                                    waiting",
      "1/4 runs done         ━━──────  115/400   1.4M tok  $1.32  2 h 5 min left  1 failed, 1 running, 1 w…",
    ]);
  });

  it("leaves out what there is no room for, and cuts names in the middle", () => {
    expect(blockOf(matrix, { width: 79, remaining_ms: 7_500_000 })).toEqual([
      "llama3-…seed-1  ────────   12/100  14.2k tok  $0.12      3 min left  thinking",
      "llama3-…seed-2  ━━━━━━━━  100/100   1.4M tok  $1.20                  done",
      "rules.seed-1    ────────    3/100                                    failed: N…",
      "rules.seed-2    ────────    0/100                                    waiting",
      "1/4 runs done   ━━──────  115/400   1.4M tok  $1.32  2 h 5 min left  1 failed,…",
    ]);
    expect(blockOf(matrix, { width: 40 })).toEqual([
      "llama3-…seed-1   12/100  thinking",
      "llama3-…seed-2  100/100  done",
      "rules.seed-1      3/100  failed: No ans…",
      "rules.seed-2      0/100  waiting",
      "1/4 runs done   115/400  1 failed, 1 ru…",
    ]);
    expect(blockOf(matrix, { width: 20 })).toEqual([
      "llama3…seed-1 12/100",
      "llama3…eed-2 100/100",
      "rules.seed-1 3/100",
      "rules.seed-2 0/100",
      "1/4 ru… done 115/400",
    ]);
  });

  it("is never wider than the terminal", () => {
    const long = runOf({
      run_id: "a".repeat(128),
      cycles_done: 999_999,
      cycle_count: 1_000_000,
      usage: usageOf(123_456_789_012, 12_345.67),
      remaining_ms: 99_999_999_999,
      doing: "x".repeat(200),
    });
    for (const width of [1, 5, 12, 20, 39, 40, 41, 60, 79, 80, 100, 140, 200]) {
      for (const runs of [matrix, [long], [long, ...matrix]]) {
        const widths = blockOf(runs, { width, remaining_ms: 1e12 }).map(textWidth);
        expect(Math.max(...widths), `at ${width} columns`).toBeLessThanOrEqual(width);
      }
    }
  });

  it("shows of many runs those that are under way", () => {
    const runs = Array.from({ length: 300 }, (_, index) =>
      runOf({
        run_id: `drift.seed-${index}`,
        status: index < 20 ? "done" : index < 32 ? "running" : "waiting",
        cycles_done: index < 20 ? 10 : 0,
        doing: index < 32 ? "thinking" : null,
      }),
    );
    const lines = blockOf(runs);
    expect(lines).toHaveLength(9);
    expect(lines[0]).toBe("seed-20           ────────       0/10  thinking");
    expect(lines.slice(-2)).toEqual([
      "seed-27           ────────       0/10  thinking",
      "20/300 runs done  ────────  200/3,000  12 running, 268 waiting",
    ]);
  });

  it("says that runs are being stopped", () => {
    expect(blockOf(matrix.slice(0, 1), { isStopping: true })).toEqual([
      "drift.llama3-latest.seed-1.curious  ────────  12/100  14.2k tok  $0.12  stopping",
    ]);
  });

  it("paints bars by what has become of the runs", () => {
    const style = createStyle(true);
    const half = runOf({ status: "failed", cycles_done: 5, failure: "No." });
    expect(
      experimentBlock(
        { runs: [half], remaining_ms: null, isStopping: false },
        { width: 80, style },
      ),
    ).toEqual([
      "drift  \u001B[31m━━━━\u001B[39m\u001B[2m────\u001B[22m  5/10  \u001B[31mfailed: No.\u001B[39m",
    ]);
  });
});
