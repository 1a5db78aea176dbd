import { describe, expect, it } from "vitest";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import { actionLines, attemptLines } from "../../../../src/cli/view/thread/action-lines.ts";
import { toActionRecord } from "../../../../src/state/action-record.ts";
import { stepRecord, toolResult } from "../../../helpers/step-record.ts";

const narrow = { width: 60, full: false, style: createStyle(false) };
const full = { ...narrow, full: true };

function actionsOf(...steps: readonly ReturnType<typeof stepRecord>[]) {
  return steps.map((step) => ({ ...step, ...toActionRecord(step) }));
}

const noted = stepRecord({
  step_index: 1,
  attempt_number: 1,
  synthesis: "half done",
  hypothesis: { belief: "it leaks", test: "wait" },
  tool_results: [
    toolResult({
      outcome: "failure",
      error: "no\u001b[2J\u0007 such file",
      result: null,
      insights: "i\u202e",
      learning: "list first",
      relevance: "high",
    }),
  ],
});

describe("actionLines", () => {
  it("renders what a step thought, called and noted, without control characters", () => {
    expect(actionLines(actionsOf(noted), narrow)).toEqual([
      "Actions (1)",
      "",
      "Step 1  turn 0, attempt 1 · 2026-01-02 03:04 UTC · fast",
      "  thinking  look it up",
      '  ✗ search(query: "python tutorial")  12 ms · failure',
      "    no␇ such file",
      "  · insights: i�",
      "  · learning: list first",
      "  · relevance: high",
      "  synthesis   half done",
      '  hypothesis  {"belief":"it leaks","test":"wait"}',
    ]);
  });

  it("shows the last 20 actions in lines that fit, and everything if asked to", () => {
    const long = stepRecord({
      thought: "think ".repeat(50),
      tool_results: [toolResult({ result: "word ".repeat(150), insights: "fact ".repeat(50) })],
    });
    const actions = actionsOf(...Array.from({ length: 21 }, () => long));
    const short = actionLines(actions, narrow);
    expect(short[0]).toBe("Actions (last 20 of 21)");
    expect(short.filter((line) => textWidth(line) > narrow.width)).toEqual([]);
    expect(short).toHaveLength(1 + 20 * 6);
    const whole = actionLines(actions, full).join(" ");
    expect(whole.match(/think/g)).toHaveLength(21 * 51);
    expect(whole.match(/word/g)).toHaveLength(21 * 150);
    expect(whole.match(/fact/g)).toHaveLength(21 * 50);
  });
});

describe("attemptLines", () => {
  it("shows the last 100 lines, each cut to the width, and everything if asked to", () => {
    const attempts = Array.from(
      { length: 101 },
      (_, at) => `${at}\u001b[2J\u0007 ${"word ".repeat(20)}`,
    );
    const short = attemptLines(attempts, narrow);
    expect(short[0]).toBe("Attempts (last 100 of 101)");
    expect(short[1]).toMatch(/^ {2}- 1␇ word .+…$/);
    expect(short.filter((line) => textWidth(line) > narrow.width)).toEqual([]);
    expect(short).toHaveLength(101);
    expect(attemptLines(attempts, full).join(" ").match(/word/g)).toHaveLength(101 * 20);
  });
});
