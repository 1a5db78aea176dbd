import { describe, expect, it } from "vitest";
import { defineAgent } from "../../../src/index.ts";
import { plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

async function resultOf(does: () => unknown, options: object = {}) {
  const { result, planning } = await runPlan({
    plan: planOf({ other: "", a: "" }),
    on_failure: "partial",
    does: ({ id }) => (id === "other" ? "kept" : does()),
    ...options,
  });
  expect(result.status).toBe("COMPLETED");
  const { subtasks } = await planning();
  expect(subtasks["other"]).toMatchObject({ status: "done", result: "kept" });
  return subtasks["a"];
}

const circular: Record<string, unknown> = { name: "it" };
circular["self"] = circular;

describe("a result of code", () => {
  it.each([
    ["nothing", undefined, null],
    ["null", null, null],
    ["0", 0, 0],
    ["an empty text", "", ""],
    ["a circle", circular, { name: "it", self: "[circular]" }],
    ["a big integer", { n: 10n ** 20n }, { n: "100000000000000000000" }],
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["NaN", Number.NaN, null],
    ["a function", () => 1, null],
    ["a map", new Map([["a", 1]]), { a: 1 }],
  ])("is kept as JSON: %s", async (_what, given, kept) => {
    expect(await resultOf(() => given)).toMatchObject({ status: "done", error: null });
    expect((await resultOf(() => given))?.result).toEqual(kept);
  });

  it.each([
    ["a getter", Object.defineProperty({}, "x", { enumerable: true, get: () => boom("getter") })],
    ["toJSON", { toJSON: () => boom("toJSON") }],
    ["a proxy", new Proxy({}, { ownKeys: () => boom("proxy") })],
  ])("fails the subtask, once, when it cannot be read: %s", async (_what, given) => {
    expect(await resultOf(() => given)).toMatchObject({
      status: "failed",
      attempts: 1,
      result: null,
      error: { code: "worker_error", message: expect.stringMatching(/^no /) },
    });
  });

  it("of 100 MB is too large, and is not asked for again", async () => {
    const state = await resultOf(() => "x".repeat(100_000_000));
    expect(state).toMatchObject({
      status: "failed",
      attempts: 1,
      result: null,
      error: { code: "result_too_large" },
    });
    expect(state?.error?.message).toMatch(
      /^The result has more than 100,000,000 bytes, the limit is 1,048,576\. Raise/,
    );
  });

  it("counts in bytes, up to the limit", async () => {
    const limit = { max_result_bytes: 8 };
    expect(await resultOf(() => "ééé", limit)).toMatchObject({ status: "done" });
    expect(await resultOf(() => "éééé", limit)).toMatchObject({
      status: "failed",
      error: { message: expect.stringMatching(/^The result has 10 bytes, the limit is 8\./) },
    });
  });
});

describe("the result of an agent", () => {
  it("is too large like that of code", async () => {
    const agent = defineAgent({ name: "w", description: "Helps." });
    const { planning, result } = await runPlan({
      workers: [agent],
      plan: planOf({ a: "", b: "" }),
      on_failure: "partial",
      max_result_bytes: 1000,
      script: plannerReplies({ "Do a.": "x".repeat(2000), "Do b.": "small" }),
    });
    expect(result.usage.llm_calls).toBe(4);
    expect((await planning()).subtasks).toMatchObject({
      a: { status: "failed", attempts: 1, error: { code: "result_too_large" } },
      b: { status: "done", result: "small" },
    });
  });
});

describe("code", () => {
  const unreadable = "it threw a value that cannot be read";

  it.each([
    ["an error at once", () => boom("luck"), "no luck"],
    ["an error later", () => Promise.reject(new Error("no time")), "no time"],
    ["undefined", () => throwing(undefined), "undefined"],
    ["a text", () => throwing("just text"), "just text"],
    ["null", () => throwing(null), "null"],
    ["an object without a text", () => throwing(Object.create(null)), unreadable],
    ["an error whose message throws", () => throwing(new Sly()), unreadable],
  ])("that throws %s fails its subtask alone", async (_what, does, message) => {
    expect(await resultOf(does)).toMatchObject({
      status: "failed",
      attempts: 1,
      error: { code: "worker_error", message },
    });
  });

  it("that throws a very long message has it cut", async () => {
    const state = await resultOf(() => throwing(new Error("y".repeat(1_000_000))));
    expect(state?.error?.message.length).toBeLessThan(4100);
  });
});

class Sly extends Error {
  override get message(): string {
    throw new Error("sly");
  }
}

function boom(what: string): never {
  throw new Error(`no ${what}`);
}

function throwing(thrown: unknown): never {
  throw thrown;
}
