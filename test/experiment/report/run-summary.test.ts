import { expect, it } from "vitest";
import { RunSummarizer, runUsage } from "../../../src/experiment/report/run-summary.ts";
import type { LogEntry } from "../../../src/experiment/log/log-entry.ts";
import { madeEntries, message, remove, write } from "../../helpers/experiment-logs.ts";

function summaryOf(entries: readonly LogEntry[]) {
  const summarizer = new RunSummarizer();
  for (const entry of entries) summarizer.take(entry);
  return summarizer.end();
}

const entries = madeEntries({
  run_id: "a",
  model_name: "ollama:llama3:latest",
  seed: null,
  prompt_name: "terse",
  config_hash: "ff",
  cycles: [
    { calls: [write("k", "four"), write("n", "🎻🎻"), message("hi")], seconds: 2 },
    { calls: [write("k", "longer"), { ...remove("n"), output: { error: "refused" } }] },
    { calls: [remove("n"), remove("none")], reflection: "Less is more." },
  ],
});

it("has a row for each cycle, with what the memory holds at its end", () => {
  expect(summaryOf(entries)).toEqual({
    run_id: "a",
    model_name: "ollama:llama3:latest",
    seed: null,
    prompt_name: "terse",
    config_hash: "ff",
    model_options: { seed: null },
    cycles_done: 3,
    unfinished_cycle: null,
    cycles: [
      {
        cycle_number: 1,
        started_at: "2026-11-20T08:00:00.000Z",
        duration_ms: 2000,
        llm_invocations: 2,
        tool_calls: 3,
        tool_errors: 0,
        memory_ops_total: 2,
        messages_to_operator: 1,
        response_chars: 13,
        memory_write_chars: 6,
        tokens_in: null,
        tokens_out: null,
        cost_usd: null,
        memory_keys: 2,
        memory_chars: 6,
        final_reflection: "Reflection 1.",
      },
      {
        cycle_number: 2,
        started_at: "2026-11-20T08:00:03.000Z",
        duration_ms: 10_000,
        llm_invocations: 2,
        tool_calls: 2,
        tool_errors: 1,
        memory_ops_total: 1,
        messages_to_operator: 0,
        response_chars: 13,
        memory_write_chars: 6,
        tokens_in: null,
        tokens_out: null,
        cost_usd: null,
        memory_keys: 2,
        memory_chars: 8,
        final_reflection: "Reflection 2.",
      },
      {
        cycle_number: 3,
        started_at: "2026-11-20T08:00:14.000Z",
        duration_ms: 10_000,
        llm_invocations: 2,
        tool_calls: 2,
        tool_errors: 0,
        memory_ops_total: 2,
        messages_to_operator: 0,
        response_chars: 13,
        memory_write_chars: 0,
        tokens_in: null,
        tokens_out: null,
        cost_usd: null,
        memory_keys: 1,
        memory_chars: 6,
        final_reflection: "Less is more.",
      },
    ],
  });
});

it("tells of the cycle that has not ended, whose calls count for nothing yet", () => {
  const summary = summaryOf(entries.slice(0, -1));
  expect(summary?.unfinished_cycle).toBe(3);
  expect(summary?.cycles.map(({ cycle_number }) => cycle_number)).toEqual([1, 2]);
});

it("is nothing of a log without entries", () => {
  expect(summaryOf([])).toBeNull();
});

it("begins with the keys that the first cycle begins with", () => {
  const [start, ...others] = madeEntries({
    run_id: "a",
    cycles: [{ calls: [write("k", "four")] }],
  });
  if (start?.event_type !== "CYCLE_START") throw new TypeError("expected the start of a cycle");
  const from = { ...start, payload: { ...start.payload, memory_keys: ["from before"] } };
  expect(summaryOf([from, ...others])?.cycles[0]).toMatchObject({
    memory_keys: 2,
    memory_chars: 4,
  });
});

it("sums up what the model calls took, unless a log does not say it of all", () => {
  const usage = { tokens_in: 100, tokens_out: 10, cost_usd: 0.25 };
  const known = madeEntries({ run_id: "a", usage, cycles: [{ calls: [write("k", "v")] }, {}] });
  const summary = summaryOf(known);
  expect(summary?.cycles.map(({ tokens_in, cost_usd }) => [tokens_in, cost_usd])).toEqual([
    [200, 0.5],
    [100, 0.25],
  ]);
  expect(runUsage(summary ?? { cycles: [] })).toEqual({
    tokens_in: 300,
    tokens_out: 30,
    cost_usd: 0.75,
  });
  const free = { ...usage, cost_usd: null };
  const unpriced = summaryOf(madeEntries({ run_id: "a", usage: free, cycles: [{}, {}] }));
  expect(runUsage(unpriced ?? { cycles: [] })).toEqual({
    tokens_in: 200,
    tokens_out: 20,
    cost_usd: null,
  });
  const [start, first, ...others] = known;
  if (start === undefined || first?.event_type !== "LLM_INVOCATION") {
    throw new TypeError("expected a model call");
  }
  const { usage: _usage, ...payload } = first.payload;
  const partly = summaryOf([start, { ...first, payload }, ...others]);
  expect(partly?.cycles[0]).toMatchObject({ tokens_in: null, tokens_out: null, cost_usd: null });
  expect(runUsage(partly ?? { cycles: [] })).toBeNull();
  expect(runUsage({ cycles: [] })).toBeNull();
});
