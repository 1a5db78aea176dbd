import { describe, expect, it } from "vitest";
import { recoveryLines } from "../../../src/cli/view/recovery-lines.ts";
import { createStyle } from "../../../src/cli/view/style.ts";

const style = createStyle(false);

describe("a recovery", () => {
  it("says from where, what was skipped and why, and which calls were not made again", () => {
    const lines = recoveryLines(
      {
        threadId: "t",
        from: { threadId: "t", checkpointId: "good" },
        skipped: [{ checkpointId: "bad", reason: "its hash does not fit\u0007" }],
        settled: [{ callId: "c1", tool: "send", state: "done" }],
        warnings: ["channel x is stored and unknown"],
        reason: "resumed",
        message: "The turn went on.",
        waiting: [],
      },
      { width: 80, style },
    );
    expect(lines).toEqual([
      "Recovered from checkpoint good.",
      "The turn went on.",
      "  ✗ skipped bad: its hash does not fit␇",
      "  ✓ send (c1) was not called again: done",
      "  ! channel x is stored and unknown",
    ]);
  });
});
