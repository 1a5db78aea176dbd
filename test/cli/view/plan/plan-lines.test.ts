import { describe, expect, it } from "vitest";
import { planLines } from "../../../../src/cli/view/plan/plan-lines.ts";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import type { ThreadPlan } from "../../../../src/runtime/threads/threads.ts";
import { threadPlanOf } from "../../../helpers/thread-plan.ts";
import { planOf, subtaskState } from "../../../helpers/subtasks.ts";

const now = new Date("2026-01-01T00:00:30.000Z");

function lines(plans: readonly ThreadPlan[], width = 100): string[] {
  return planLines(plans, { width, style: createStyle(false), now });
}

const open = { ended_at: null, result: null } as const;
const plan = planOf({ split: "", count: "split", ask: "split", look: "", report: "count ask" });
const underWay = threadPlanOf({
  plan,
  subtasks: {
    split: subtaskState(0, 10),
    count: subtaskState(10, 10, { status: "running", ...open }),
    ask: subtaskState(10, 10, { status: "running", ...open }),
    look: subtaskState(0, 2, {
      status: "failed",
      result: null,
      error: { code: "timeout", message: "It took\u001B[2J too long." },
    }),
  },
  waiting: ["ask"],
  gaps: ["No sources"],
  criteria_met: false,
  depth: 1,
});

describe("plans of a thread, as text", () => {
  it("are shown level by level, with what became of each subtask and the longest way", () => {
    expect(lines([underWay])).toEqual([
      "team",
      "5 subtasks: 1 done, 1 failed, 2 running · 10.0 s · 1 plan for gaps · 1 gap",
      "",
      "level        subtask  worker    time  after",
      "    1  ✓  *  split    w       10.0 s",
      "       ✗     look     w        2.0 s              failed (timeout): It took too long.",
      "    2  ▸  *  count    w       20.0 s  split",
      "       ?     ask      w               split",
      "    3  ·  *  report   w               count, ask",
      "",
      "Missing",
      "  - No sources",
      "",
      "✓ done   ✗ failed   ▸ running   ? waits for a person   · open   * critical path",
    ]);
  });

  it("keep planners within workers apart", () => {
    const states = { split: subtaskState(0, 1) };
    const outer = threadPlanOf({
      plan: planOf({ split: "" }),
      subtasks: states,
      criteria_met: true,
    });
    const inner = { ...outer, node: "survey", within: ["team", "execute", "split"] };
    expect(lines([outer, inner])).toEqual([
      "team",
      "1 subtask: 1 done · 1.0 s · critical path 1.0 s · no gaps",
      "",
      "level        subtask  worker   time  after",
      "    1  ✓  *  split    w       1.0 s",
      "",
      "team › split › survey",
      "1 subtask: 1 done · 1.0 s · critical path 1.0 s · no gaps",
      "",
      "level        subtask  worker   time  after",
      "    1  ✓  *  split    w       1.0 s",
      "",
      "✓ done   * critical path",
    ]);
  });

  it.each([50, 80, 120])("fit into %i columns", (width) => {
    const ids = Array.from({ length: 20 }, (_, index) => `日本語-${"x".repeat(index * 3)}`);
    const long = planOf(Object.fromEntries(ids.map((id, at) => [id, ids.slice(0, at).join(" ")])));
    const error = { code: "error", message: "word ".repeat(100) };
    const failed = ids.map((id) => [id, subtaskState(0, 1, { status: "failed", error })]);
    const found = threadPlanOf({
      plan: long,
      subtasks: Object.fromEntries(failed),
      gaps: ["word ".repeat(100)],
    });
    const shown = lines([found, { ...underWay, node: "word ".repeat(60) }], width);
    expect(shown.filter((line) => textWidth(line) > width)).toEqual([]);
    expect(shown.join("\n")).not.toMatch(/[^\P{Cc}\n]/u);
  });
});
