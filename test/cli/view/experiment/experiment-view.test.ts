import { describe, expect, it } from "vitest";
import { ExperimentView } from "../../../../src/cli/view/experiment/experiment-view.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { ExperimentEvent, RunProgress } from "../../../../src/experiment/run-progress.ts";
import { ManualClock } from "../../../helpers/manual-clock.ts";
import { memorySink } from "../../memory-io.ts";
import { runOf, usageOf } from "../experiment-runs.ts";

const erase = "\r\u001B[2K";
const up = `${erase}\u001B[1A`;

function viewOn(isTerminal: boolean, ids: readonly string[] = ["drift"], columns = 80) {
  const sink = memorySink({ isTerminal, columns });
  const clock = new ManualClock();
  const runs = ids.map((run_id) => ({ run_id, model_name: "a:b", cycle_count: 10 }));
  const view = new ExperimentView({ sink, clock, style: createStyle(false), runs, parallel: 1 });
  return { sink, clock, view };
}

const progress = (run: Partial<RunProgress>): ExperimentEvent => {
  return { type: "progress", run: runOf(run) };
};
const cycleEnd = (run: Partial<RunProgress>): ExperimentEvent => {
  return { type: "cycle_end", run: runOf(run), reflection: "Well." };
};
const message = (text: string): ExperimentEvent => {
  return { type: "message", run_id: "drift", cycle_number: 3, text };
};

describe("ExperimentView on a terminal", () => {
  it("keeps a line that changes with the time, and takes it away in the end", () => {
    const { sink, clock, view } = viewOn(true);
    expect(sink.take()).toBe("");
    view.event(progress({ doing: "thinking" }));
    expect(sink.take()).toBe(`${erase}drift  ────────  0/10  thinking`);
    view.event(cycleEnd({ cycles_done: 5, usage: usageOf(1200), remaining_ms: 10_000 }));
    expect(sink.take()).toBe("");
    clock.advance(200);
    expect(sink.take()).toBe(`${erase}drift  ━━━━────  5/10  1.2k tok  10 s left`);
    clock.advance(4000);
    expect(sink.take()).toMatch(/5\/10 {2}1\.2k tok {2}6 s left$/);
    view.end();
    expect(sink.take()).toBe(erase);
    expect(clock.pending).toBe(0);
  });

  it("shows every run, and replaces the lines from the first change on", () => {
    const { sink, clock, view } = viewOn(true, ["drift.seed-1", "drift.seed-2"]);
    view.event(progress({ run_id: "drift.seed-1", doing: "thinking" }));
    const lines = [
      "seed-1         ────────  0/10  thinking",
      "seed-2         ────────  0/10  waiting",
      "0/2 runs done  ────────  0/20  1 running, 1 waiting",
    ].join("\n");
    expect(sink.take()).toBe(`${erase}${lines}`);
    clock.advance(200);
    expect(sink.take()).toBe("");
    view.event(progress({ run_id: "drift.seed-1", doing: "acting" }));
    clock.advance(200);
    expect(sink.take()).toBe(`${up}${up}${erase}${lines.replace("thinking", "acting")}`);
    view.end();
    expect(sink.take()).toBe(`${up}${up}${erase}`);
  });

  it("prints messages above the lines as they come, without what would act on the terminal", () => {
    const { sink, view } = viewOn(true, ["drift"], 30);
    view.event(progress({ doing: "thinking" }));
    sink.take();
    view.event(message("\u001B[2JHello operator,\r\nI found something in\u0007 the garden."));
    expect(sink.take()).toBe(
      [
        `${erase}✉ drift cycle 3`,
        "  Hello operator,",
        "  I found something in␇ the",
        "  garden.",
        `${erase}drift 0/10`,
      ].join("\n"),
    );
  });

  it("cuts long messages, which the log has whole", () => {
    const { sink, view } = viewOn(true);
    view.event(message("one\n".repeat(20)));
    expect(sink.take()).toBe(`✉ drift cycle 3\n${"  one\n".repeat(12)}  …\n`);
    view.event(message("x".repeat(3000)));
    expect(sink.take()).toHaveLength("✉ drift cycle 3\n".length + 12 * 80 + "  …\n".length);
  });

  it("says that it stops", () => {
    const { sink, view } = viewOn(true);
    view.stopping();
    expect(sink.take()).toBe("");
    view.event(progress({ doing: "thinking" }));
    expect(sink.take()).toBe(`${erase}drift  ────────  0/10  stopping`);
  });
});

describe("ExperimentView where there is no terminal", () => {
  it("tells the ends of cycles, at most one in five seconds, and always the last", () => {
    const { sink, clock, view } = viewOn(false);
    view.event(progress({ doing: "thinking" }));
    for (let cycle = 1; cycle <= 10; cycle += 1) {
      clock.advance(1000);
      const remaining_ms = (10 - cycle) * 1000;
      view.event(cycleEnd({ cycles_done: cycle, usage: usageOf(cycle * 600, 0.01), remaining_ms }));
    }
    view.event(
      progress({ status: "done", cycles_done: 10, usage: usageOf(6000, 0.01), remaining_ms: 0 }),
    );
    expect(sink.take().split("\n")).toEqual([
      "drift cycle 1/10 · 600 tokens · $0.01 · 9 s left",
      "drift cycle 6/10 · 3.6k tokens · $0.01 · 4 s left",
      "✓ drift done, 10 cycles · 6.0k tokens · $0.01",
      "",
    ]);
    expect(clock.pending).toBe(0);
  });

  it("keeps the log of a night short", () => {
    const { sink, clock, view } = viewOn(false);
    for (let second = 1; second <= 12 * 3600; second += 1) {
      clock.advance(1000);
      view.event(cycleEnd({ cycles_done: second, cycle_count: 50_000 }));
    }
    expect(sink.take().split("\n").length).toBeLessThan(1000);
  });

  it("tells of several runs what all have done", () => {
    const { sink, clock, view } = viewOn(false, ["drift.a", "drift.b"]);
    const run = { cycles_done: 2, elapsed_ms: 4000, remaining_ms: 16_000 };
    view.event(cycleEnd({ run_id: "drift.a", ...run }));
    clock.advance(4000);
    const failure = "The model\ndid not answer.";
    view.event(
      progress({ run_id: "drift.a", status: "failed", ...run, remaining_ms: null, failure }),
    );
    view.event(progress({ run_id: "drift.b", status: "stopped", cycles_done: 1 }));
    expect(sink.take().split("\n")).toEqual([
      "drift.a cycle 2/10 · 0 tokens · 16 s left · all: 2/20, 36 s left",
      "✗ drift.a failed after 2 cycles: The model did not answer. · all: 2/20, 20 s left",
      "■ drift.b stopped after 1/10 cycles · 0 tokens · all: 3/20",
      "",
    ]);
  });

  it("prints messages and that it stops, once", () => {
    const { sink, view } = viewOn(false);
    view.event(message(`Hello.\n${"long ".repeat(100)}`));
    view.stopping();
    view.stopping();
    view.end();
    expect(sink.take().split("\n")).toEqual([
      "✉ drift cycle 3",
      "  Hello.",
      `  ${"long ".repeat(100).trim()}`,
      "Stopping.",
      "",
    ]);
  });
});
