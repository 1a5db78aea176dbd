import { expect, it } from "vitest";
import { chatReport } from "../../../src/cli/chat/chat-report.ts";
import type { ExecuteResult } from "../../../src/index.ts";
import { noUsage } from "../../../src/state/usage.ts";
import { memoryIo } from "../memory-io.ts";

const cut: ExecuteResult = {
  status: "COMPLETED",
  output: { message: "- At noon, and" },
  interrupts: [],
  waits: [],
  toolCalls: [],
  state: { execution: {}, attempt: {} },
  steps: [],
  rails: [],
  usage: noUsage,
  invocation_usage: noUsage,
  attempts: [],
  incomplete: true,
  incomplete_reason: "length",
  failure: null,
  cancel_reason: null,
  threadId: "t",
};

it("says at the end why an answer is incomplete", () => {
  const shown = (result: ExecuteResult) => {
    const io = memoryIo({ cwd: "." });
    chatReport({ maxAttempts: 1, showReasoning: false, resume: null }, io).end(result);
    return io.stdout.take().split("\n").slice(0, 4);
  };
  expect(shown(cut)).toEqual([
    "",
    "• At noon, and",
    "",
    "■ Incomplete: cut off at the output limit.",
  ]);
  expect(shown({ ...cut, incomplete_reason: "max_iterations" })[3]).toBe(
    "■ Incomplete: the step limit was reached.",
  );
});
