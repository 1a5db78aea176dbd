import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { followTurn } from "../../../src/cli/run/follow-turn.ts";
import { runReport } from "../../../src/cli/run/run-report.ts";
import { defineAgent, type ExecuteResult, type Runtime } from "../../../src/index.ts";
import { noUsage } from "../../../src/state/usage.ts";
import { memoryIo } from "../memory-io.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

it("says how long the turn took, without the time before its database was open", async () => {
  const io = memoryIo({ cwd: "." });
  const prepared = { definition: defineAgent({ name: "a" }), model: "test:m", services: {} };
  const given = { agent: "a.yaml", prepared, threadId: null };
  const result: ExecuteResult = {
    status: "COMPLETED",
    output: { message: "At noon." },
    interrupts: [],
    state: { execution: {}, attempt: {} },
    steps: [],
    rails: [],
    usage: noUsage,
    attempts: [],
    incomplete: false,
    failure: null,
    threadId: "t",
  };
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
      return result;
    },
    goOn: async () => result,
    end: (ended) => report.end(ended),
  });
  const lines = io.stdout.take().trimEnd().split("\n");
  expect(lines.at(-1)).toBe("0 tool calls · 1.3 s");
});
