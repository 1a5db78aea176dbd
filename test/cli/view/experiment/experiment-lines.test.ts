import { describe, expect, it } from "vitest";
import { experimentEnding } from "../../../../src/cli/view/experiment/experiment-lines.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { RunProgress } from "../../../../src/experiment/run-progress.ts";
import { runOf, usageOf } from "../experiment-runs.ts";

function endingOf(runs: readonly RunProgress[], width = 60): readonly string[] {
  return experimentEnding(runs, {
    width,
    style: createStyle(false),
    elapsedMs: 301_000,
    logs: "logs",
    again: "stratagraph experiment run drift.yaml",
    report: "stratagraph experiment report logs",
  });
}

describe("experimentEnding", () => {
  it("tells of runs that are done where their logs are, and how they are compared", () => {
    const run = runOf({
      status: "done",
      cycles_done: 10,
      usage: usageOf(14_200),
      elapsed_ms: 90_000,
    });
    expect(endingOf([run])).toEqual([
      "",
      "run    status  cycles  tokens        time",
      "drift  done     10/10   14.2k  1 min 30 s",
      "",
      "1 run done · 10/10 cycles · 14.2k tokens · 5 min 1 s",
      "Logs: logs",
      "To compare the runs:",
      "  stratagraph experiment report logs",
      "",
    ]);
  });

  it("tells of others why they failed, and how they go on", () => {
    const runs = [
      runOf({
        run_id: "drift.a",
        status: "done",
        cycles_done: 10,
        usage: usageOf(900, 0.5),
        elapsed_ms: 5000,
      }),
      runOf({
        run_id: "drift.b",
        status: "failed",
        cycles_done: 2,
        elapsed_ms: 1000,
        failure: "The model did not answer, and\u001B[31m did not say why it would not do so.",
      }),
      runOf({ run_id: "drift.c", status: "stopped", cycles_done: 3, elapsed_ms: 1000 }),
      runOf({ run_id: "drift.d", status: "stopped" }),
    ];
    expect(endingOf(runs)).toEqual([
      "",
      "run      status       cycles  tokens   cost   time",
      "drift.a  done          10/10     900  $0.50  5.0 s",
      "drift.b  failed         2/10       0         1.0 s",
      "drift.c  stopped        3/10       0         1.0 s",
      "drift.d  not started    0/10       0",
      "",
      "✗ drift.b: The model did not answer, and did not say why it",
      "would not do so.",
      "",
      "1 of 4 runs done · 15/40 cycles · 900 tokens · $0.50 · 5 min",
      "1 s",
      "Logs: logs",
      "To continue:",
      "  stratagraph experiment run drift.yaml",
      "To compare the runs:",
      "  stratagraph experiment report logs",
      "",
    ]);
  });

  it("leaves out columns that there is no room for, but never ids", () => {
    const run = runOf({
      run_id: "d".repeat(30),
      status: "done",
      cycles_done: 10,
      elapsed_ms: 5000,
    });
    expect(endingOf([run], 50).slice(1, 3)).toEqual([
      `run${" ".repeat(27)}  status  cycles`,
      `${"d".repeat(30)}  done     10/10`,
    ]);
    expect(endingOf([runOf({ run_id: "d".repeat(128) })], Infinity)[2]).toContain("d".repeat(128));
  });

  it("lists of many runs those that are not done first", () => {
    const runs = Array.from({ length: 100 }, (_, index) =>
      runOf({ run_id: `drift.${index}`, status: index === 99 ? "failed" : "done", failure: "No." }),
    );
    const lines = endingOf(runs);
    expect(lines[2]).toBe("drift.99  failed    0/10       0");
    expect(lines[3]).toBe("drift.0   done      0/10       0");
    expect(lines[42]).toBe("… and 60 more");
  });
});
