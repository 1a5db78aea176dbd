import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { followTurn } from "../../../src/cli/run/follow-turn.ts";
import { runReport } from "../../../src/cli/run/run-report.ts";
import { defineAgent, type ExecuteResult, type Runtime } from "../../../src/index.ts";
import { noUsage } from "../../../src/state/usage.ts";
import { memoryIo } from "../memory-io.ts";
import { screenOf } from "../screen.ts";
import { eventOf, stepOf } from "../view/events.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const prepared = { definition: defineAgent({ name: "a" }), model: "test:m", services: {} };
const given = { agent: "a.yaml", prepared, threadId: null };
const completed: ExecuteResult = {
  status: "COMPLETED",
  output: { message: "At noon." },
  interrupts: [],
  waits: [],
  toolCalls: [],
  state: { execution: {}, attempt: {} },
  steps: [],
  rails: [],
  usage: noUsage,
  invocation_usage: noUsage,
  attempts: [],
  incomplete: false,
  incomplete_reason: null,
  failure: null,
  cancel_reason: null,
  threadId: "t",
};
const origin = { message_id: "m", attempt: 1, node: "reason", within: [] };

it("keeps the text of a reply that was cancelled, which no step shows", () => {
  const io = memoryIo({ cwd: ".", isTerminal: true });
  const report = runReport(given, io);
  report.begin();
  report.streams.onToken?.("High tide is", origin);
  report.stopping();
  report.end({ ...completed, status: "CANCELLED", output: null });
  const screen = screenOf(io.stdout.take());
  expect(screen.slice(1, 5)).toEqual(["", "     High tide is", "", "■ Cancelled."]);
});

it("prints reasoning without a terminal only where it is asked for, and no tokens", () => {
  expect(runReport(given, memoryIo({ cwd: "." })).streams).toEqual({});
  const io = memoryIo({ cwd: "." });
  const report = runReport({ ...given, showReasoning: true }, io);
  expect(Object.keys(report.streams)).toEqual(["onReasoning"]);
  report.streams.onReasoning?.("It depends on\nthe moon.", origin);
  report.event(eventOf({ type: "step", step: stepOf({ next_action: "finish" }) }));
  expect(io.stdout.take()).toContain(
    "\n     It depends on\n     the moon.\n  1  gives its answer\n",
  );
});

it("says how long the turn took, without the time before its database was open", async () => {
  const io = memoryIo({ cwd: "." });
  const report = runReport(given, io);
  await followTurn({
    io,
    report,
    openPrompt: null,
    async openRuntime() {
      await vi.advanceTimersByTimeAsync(9000);
      return { close: async () => {} } as Runtime;
    },
    async begin() {
      await vi.advanceTimersByTimeAsync(1300);
      return completed;
    },
    goOn: async () => completed,
    end: (ended) => report.end(ended),
  });
  const lines = io.stdout.take().trimEnd().split("\n");
  expect(lines.at(-1)).toBe("0 tool calls · 1.3 s");
});
