import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool } from "../../../src/index.ts";
import { ModelCallError } from "../../../src/models/errors.ts";
import type { AgentEvent } from "../../../src/state/events.ts";
import { plannerReplies, plannerThread } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { withTime } from "../../helpers/with-time.ts";

const oneSubtask = planOf({ a: "" });
const never = () => new Promise<never>(() => {});
const turn = { max_attempts: 1, timeout_seconds: 7200 };

function attemptsIn(events: readonly AgentEvent[]) {
  return events.flatMap((event) => (event.type === "subtask_start" ? [event.attempt] : []));
}

describe("a subtask that takes too long", () => {
  it.each([0, 2])("is tried %i more times, and then has failed", async (retries) => {
    const thread = await plannerThread({
      plan: oneSubtask,
      does: never,
      timeout_seconds: 60,
      retries,
      on_failure: "partial",
      execution_config: turn,
    });
    const result = await withTime(thread.clock, thread.start(), 1000);
    expect([result.status, result.failure?.cause]).toEqual(["FAILED", "subtask_failed"]);
    const { a } = (await thread.planning()).subtasks;
    expect(a).toMatchObject({
      status: "failed",
      attempts: retries + 1,
      error: {
        code: "subtask_timeout",
        message:
          "The subtask took longer than its 60 s. Raise timeout_seconds of the planner, or plan smaller subtasks.",
      },
    });
    // 60 s each, and 1 s and 2 s between them.
    const took = Date.parse(a?.ended_at ?? "") - Date.parse(a?.started_at ?? "");
    expect(took).toBe(retries === 0 ? 60_000 : 183_000);
  });

  it("says to code that its time is over, and takes nothing that comes after", async () => {
    const reasons: unknown[] = [];
    const thread = await plannerThread({
      plan: oneSubtask,
      timeout_seconds: 60,
      execution_config: turn,
      does: ({ signal, attempt }) =>
        attempt === 2
          ? "second"
          : new Promise((resolve) => {
              signal.addEventListener("abort", () => {
                reasons.push((signal.reason as { code: string }).code);
                resolve("late");
              });
            }),
    });
    const { status } = await withTime(thread.clock, thread.start(), 1000);
    expect([status, reasons]).toEqual(["COMPLETED", ["subtask_timeout"]]);
    expect((await thread.planning()).subtasks["a"]).toMatchObject({
      status: "done",
      attempts: 2,
      result: "second",
      error: null,
    });
  });

  it("ends the turn of an agent whose tool never returns, and begins another", async () => {
    const hang = defineTool({
      name: "hang",
      description: "Never returns.",
      input_schema: z.object({}),
      execution: { timeout_ms: 3_600_000 },
      handler: never,
    });
    const agent = defineAgent({
      name: "w",
      description: "Helps.",
      tools: [hang],
      execution_config: { timeout_seconds: 3600 },
    });
    const thread = await plannerThread({
      workers: [agent],
      plan: oneSubtask,
      timeout_seconds: 60,
      execution_config: turn,
      script: plannerReplies({ "Do a.": [{ calls: [{ name: "hang", args: {} }] }, "At last."] }),
    });
    const { status, usage } = await withTime(thread.clock, thread.start(), 1000);
    expect(status).toBe("COMPLETED");
    expect((await thread.planning()).subtasks["a"]).toMatchObject({
      attempts: 2,
      result: "At last.",
      usage: { llm_calls: 2 },
    });
    expect(usage.llm_calls).toBe(4);
  });

  it("leaves its siblings alone", async () => {
    const thread = await plannerThread({
      plan: planOf({ a: "", b: "", c: "b" }),
      on_failure: "partial",
      retries: 0,
      execution_config: turn,
      does: ({ id }) => (id === "a" ? never() : id),
    });
    const { status } = await withTime(thread.clock, thread.start(), 10_000);
    expect([status, await thread.statuses()]).toEqual([
      "COMPLETED",
      { a: "failed", b: "done", c: "done" },
    ]);
  });
});

describe("a subtask that fails", () => {
  const status = (code: number) => Object.assign(new Error(`status ${code}`), { status: code });

  it.each([
    ["429", status(429)],
    ["500", status(500)],
    ["503 in a cause", new Error("call failed", { cause: status(503) })],
    ["408", status(408)],
    ["ECONNRESET", Object.assign(new Error("reset"), { code: "ECONNRESET" })],
    ["a fetch that failed", new TypeError("fetch failed")],
  ])("is tried again after %s", async (_what, error) => {
    const thread = await plannerThread({
      plan: oneSubtask,
      does: ({ attempt }) => {
        if (attempt < 3) throw error;
        return "ok";
      },
    });
    const result = await withTime(thread.clock, thread.start(), 500);
    expect([result.status, attemptsIn(thread.events)]).toEqual(["COMPLETED", [1, 2, 3]]);
    expect(thread.clock.monotonic()).toBe(3000);
    const waits = thread.events.filter((event) => event.type === "subtask_wait");
    expect(waits).toMatchObject([
      { id: "a", waits_for: "retry", reason: error.message },
      { id: "a", waits_for: "retry" },
    ]);
  });

  it.each([
    ["400", status(400)],
    ["403", status(403)],
    ["an error of its own", new Error("the input is wrong")],
    ["a bug", new TypeError("x is not a function")],
    ["a validation error", z.string().safeParse(1).error as Error],
  ])("is not tried again after %s", async (_what, error) => {
    const thread = await plannerThread({
      plan: oneSubtask,
      max_depth: 0,
      does: () => {
        throw error;
      },
    });
    const result = await thread.start();
    expect([result.status, attemptsIn(thread.events)]).toEqual(["FAILED", [1]]);
    expect((await thread.planning()).subtasks["a"]?.error).toEqual({
      code: "worker_error",
      message: error.message,
    });
  });

  it("waits twice as long each time, at most 30 s", async () => {
    const times: number[] = [];
    const thread = await plannerThread({
      plan: oneSubtask,
      retries: 7,
      on_failure: "partial",
      execution_config: turn,
      does: () => {
        times.push(thread.clock.monotonic());
        throw status(503);
      },
    });
    await withTime(thread.clock, thread.start(), 1000);
    const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it.each([
    ["rate_limit", [1, 2]],
    ["bad_request", [1]],
  ] as const)("of an agent whose model fails with %s", async (reason, attempts) => {
    let calls = 0;
    const agent = defineAgent({ name: "w", description: "Helps." });
    const replies = plannerReplies({ "Do a.": "ok" });
    const thread = await plannerThread({
      workers: [agent],
      plan: oneSubtask,
      max_depth: 0,
      script: [
        () => {
          calls += 1;
          throw new ModelCallError({ ref: "test:scripted", reason, message: "no answer" });
        },
        ...replies,
      ],
    });
    await withTime(thread.clock, thread.start(), 1000);
    expect([calls, attemptsIn(thread.events)]).toEqual([1, attempts]);
    const { a } = (await thread.planning()).subtasks;
    expect([a?.status, a?.error]).toEqual(
      reason === "rate_limit"
        ? ["done", null]
        : ["failed", { code: "model_call", message: "no answer" }],
    );
  });
});
