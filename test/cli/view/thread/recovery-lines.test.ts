import { describe, expect, it } from "vitest";
import { recoveryLines } from "../../../../src/cli/view/thread/history-lines.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { ExecuteResult } from "../../../../src/runtime/execute-agent.ts";
import type { Recovery } from "../../../../src/runtime/threads/threads.ts";
import { stepRecord, toolResult } from "../../../helpers/step-record.ts";

const style = createStyle(false);
const recovery: Recovery = {
  threadId: "t",
  from: { threadId: "t", checkpointId: "good" },
  skipped: [],
  settled: [],
  memories: [],
  warnings: [],
  reason: "resumed",
  message: "The turn went on.",
  waiting: [],
  result: null,
};

describe("a recovery", () => {
  it("says from where, what was skipped and why, and what is to be known", () => {
    const lines = recoveryLines(
      {
        ...recovery,
        skipped: [{ checkpointId: "bad", cause: "damaged", reason: "its hash does not fit\u0007" }],
        warnings: ["channel x is stored and unknown"],
      },
      { width: 80, style },
    );
    expect(lines).toEqual([
      "Recovered from checkpoint good.",
      "The turn went on.",
      "  ✗ skipped bad: its hash does not fit␇",
      "  ! channel x is stored and unknown",
    ]);
  });

  it("does not say that it went on where nothing was to be run", () => {
    const [line] = recoveryLines({ ...recovery, reason: "over" }, { width: 80, style });
    expect(line).toBe("The last intact checkpoint is good.");
  });

  it("tells of every call that had begun whether it was made again", () => {
    const tool_results = [toolResult({ id: "b", recovered: "repeated" })];
    const result = { steps: [stepRecord({ tool_results })] } as unknown as ExecuteResult;
    const settled = [
      { callId: "a", tool: "send", state: "finished", idempotent: false },
      { callId: "b", tool: "print", state: "started", idempotent: true },
      { callId: "c", tool: "pay", state: "started", idempotent: false },
      { callId: "d", tool: "book", state: "damaged", idempotent: false },
      { callId: "e", tool: "store", state: "damaged", idempotent: true },
    ] as const;
    const lines = recoveryLines({ ...recovery, settled, result }, { width: 60, style });
    expect(lines.slice(2)).toEqual([
      "  ✓ send: not repeated, its recorded result was used",
      "  ✓ print: repeated, it is idempotent",
      "  ? pay: not repeated: it had started, and its outcome is",
      "    unknown",
      "  ? book: not repeated: its record is damaged, and its",
      "    outcome is unknown",
      "  ✓ store: repeated, it is idempotent",
    ]);
  });
});
