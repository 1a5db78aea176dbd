import { describe, expect, it } from "vitest";
import { callStateless } from "../../src/tools/call.ts";
import { ToolFailure } from "../../src/tools/tool-result.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { callOf, statelessTool } from "../helpers/probe-tools.ts";

function setUp() {
  const clock = new ManualClock();
  const controller = new AbortController();
  return { clock, controller, env: { clock, signal: controller.signal } };
}

describe("callStateless", () => {
  it("records what a handler returns", async () => {
    const { env } = setUp();
    const tool = statelessTool((input) => ({ got: input }));
    expect(await callStateless(tool, callOf({ a: 1 }), env)).toEqual({
      result: {
        id: "call-1",
        name: "probe",
        args: { a: 1 },
        result: { got: { a: 1 } },
        error: null,
        outcome: "success",
        execution_time_ms: 0,
        insights: "",
        learning: "",
        relevance: "",
      },
    });
  });

  it("needs no timer for a handler that is done at once", async () => {
    const { env, clock } = setUp();
    let pending = -1;
    await callStateless(
      statelessTool(() => void (pending = clock.pending)),
      callOf(),
      env,
    );
    expect(pending).toBe(0);
  });

  it("gives the handler the call's id and the clock's time", async () => {
    const { env } = setUp();
    const tool = statelessTool((_, { callId, now }) => ({ callId, now: now() }));
    const { result } = await callStateless(tool, callOf(), env);
    expect(result.result).toEqual({ callId: "call-1", now: "2026-01-01T00:00:00.000Z" });
  });

  it("measures to the microsecond", async () => {
    const { env, clock } = setUp();
    const tool = statelessTool(() => clock.advance(1.23456));
    const { result } = await callStateless(tool, callOf(), env);
    expect(result.execution_time_ms).toBe(1.235);
  });

  it("refuses bad arguments and says what the tool takes", async () => {
    const { env } = setUp();
    let ran = false;
    const tool = statelessTool(() => (ran = true), {
      input: {
        type: "object",
        properties: { path: { type: "string" }, order: { enum: ["up", "down"] } },
        required: ["path"],
      },
    });
    const { result } = await callStateless(tool, callOf({ path: 7 }), env);
    expect(result.outcome).toBe("error");
    expect(result.error).toBe(
      'Bad arguments for tool "probe": path: Invalid input: expected string, received number. It takes: path (string), order ("up" | "down", optional).',
    );
    expect(ran).toBe(false);
  });

  it("keeps the recorded arguments apart from what the handler does to its input", async () => {
    const { env } = setUp();
    const tool = statelessTool((input) => {
      (input as { list: number[] }).list.push(2);
    });
    const { result } = await callStateless(tool, callOf({ list: [1] }), env);
    expect(result.args).toEqual({ list: [1] });
  });

  it.each([
    ["an error", () => new Error("disk is gone"), "disk is gone"],
    ["a text", () => "plain words", "plain words"],
    ["undefined", () => undefined, "undefined"],
    ["an error without words", () => new Error(""), "it threw an error without a message"],
    ["what has no text", () => Object.create(null), "it threw an error without a message"],
    [
      "an error whose message throws",
      () =>
        Object.defineProperty(new Error("x"), "message", {
          get() {
            throw new Error("no");
          },
        }),
      "it threw an error without a message",
    ],
  ])("makes an error of %s that was thrown", async (_, make, message) => {
    const { env } = setUp();
    const throws = statelessTool(() => {
      throw make();
    });
    const rejects = statelessTool(() => Promise.reject(make()));
    for (const tool of [throws, rejects]) {
      const { result } = await callStateless(tool, callOf(), env);
      expect(result).toMatchObject({ outcome: "error", error: message, result: null });
    }
  });

  it("cuts an endless message", async () => {
    const { env } = setUp();
    const tool = statelessTool(() => {
      throw new Error("x".repeat(100_000));
    });
    const { result } = await callStateless(tool, callOf(), env);
    expect(result.error).toBe(`${"x".repeat(2_000)}… [cut: 98,000 more characters]`);
  });

  it("makes a failure of a ToolFailure", async () => {
    const { env } = setUp();
    const tool = statelessTool(() => {
      throw new ToolFailure("no such file");
    });
    const { result } = await callStateless(tool, callOf(), env);
    expect(result).toMatchObject({ outcome: "failure", error: "no such file" });
  });

  it("waits for anything with a then", async () => {
    const { env } = setUp();
    // oxlint-disable-next-line no-thenable -- that is what is tested
    const thenable = { then: (resolve: (value: number) => void) => resolve(5) };
    const { result } = await callStateless(
      statelessTool(() => thenable),
      callOf(),
      env,
    );
    expect(result.result).toBe(5);
  });

  describe("output", () => {
    const output = {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    };

    it("is an error when it does not fit the output schema", async () => {
      const { env } = setUp();
      const tool = statelessTool(() => ({ n: "one" }), { output });
      const { result } = await callStateless(tool, callOf(), env);
      expect(result.outcome).toBe("error");
      expect(result.error).toBe(
        'Tool "probe" returned what does not fit its output_schema: n: Invalid input: expected number, received string.',
      );
    });

    it("is checked as JSON", async () => {
      const { env } = setUp();
      const tool = statelessTool(() => new Map([["n", 1]]), { output });
      expect((await callStateless(tool, callOf(), env)).result.result).toEqual({ n: 1 });
    });

    it("is checked whole before it is cut", async () => {
      const { env } = setUp();
      const tool = statelessTool(() => ({ text: "x".repeat(5_000) }), { output });
      expect((await callStateless(tool, callOf(), env)).result.outcome).toBe("error");
    });

    it("is an error when it cannot be read", async () => {
      const { env } = setUp();
      const tool = statelessTool(() => ({
        get broken() {
          throw new Error("getter broke");
        },
      }));
      const { result } = await callStateless(tool, callOf(), env);
      expect(result).toMatchObject({ outcome: "error", error: "getter broke" });
    });

    it("does not follow what the handler does to its object later", async () => {
      const { env } = setUp();
      const shared = { count: 1 };
      const { result } = await callStateless(
        statelessTool(() => shared),
        callOf(),
        env,
      );
      shared.count = 2;
      expect(result.result).toEqual({ count: 1 });
    });
  });

  describe("timeout", () => {
    it("ends a call whose handler ignores its signal, and ignores what it does later", async () => {
      const { env, clock } = setUp();
      const handler = withResolvers<unknown>();
      const called = callStateless(
        statelessTool(() => handler.promise),
        callOf(),
        env,
      );
      clock.advance(999);
      expect(clock.pending).toBe(1);
      clock.advance(1);
      const { result } = await called;
      expect(result).toMatchObject({ outcome: "timeout", result: null, execution_time_ms: 1_000 });
      expect(result.error).toMatch(/^Tool "probe" did not end within 1,000 ms/);
      handler.reject(new Error("too late"));
      await nextMacrotask();
    });

    it("aborts the handler's signal, also when it is asked for afterwards", async () => {
      const { env, clock } = setUp();
      const seen: unknown[] = [];
      const tool = statelessTool((_, context) => {
        context.signal.addEventListener("abort", () => seen.push(context.signal.reason));
        return new Promise(() => {});
      });
      const late = statelessTool(async (_, context) => {
        await unlocked;
        seen.push(context.signal.aborted);
      });
      const { promise: unlocked, resolve: unlock } = withResolvers<void>();
      const calls = [callStateless(tool, callOf(), env), callStateless(late, callOf(), env)];
      clock.advance(1_000);
      await Promise.all(calls);
      unlock();
      await nextMacrotask();
      expect(seen).toEqual([expect.objectContaining({ code: "tool_timeout" }), true]);
    });

    it("counts the time in which a handler blocked the thread", async () => {
      const { env, clock } = setUp();
      const tool = statelessTool(() => {
        clock.advance(900);
        return new Promise(() => {});
      });
      const called = callStateless(tool, callOf(), env);
      clock.advance(100);
      expect((await called).result.outcome).toBe("timeout");
    });

    it("lets go of timer and signal when the handler is done", async () => {
      const { env, clock } = setUp();
      await callStateless(
        statelessTool(() => Promise.resolve(1)),
        callOf(),
        env,
      );
      expect(clock.pending).toBe(0);
    });
  });

  describe("the run's signal", () => {
    it("ends the call with its reason and aborts the handler", async () => {
      const { env, clock, controller } = setUp();
      const reason = new Error("cancelled");
      let aborted: unknown;
      const tool = statelessTool(
        (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              aborted = signal.reason;
              reject(new Error("handler stopped"));
            });
          }),
      );
      const called = callStateless(tool, callOf(), env);
      controller.abort(reason);
      await expect(called).rejects.toBe(reason);
      expect(aborted).toBe(reason);
      expect(clock.pending).toBe(0);
    });

    it("keeps the handler from running when it has aborted before", async () => {
      const { env, controller } = setUp();
      controller.abort(new Error("cancelled"));
      let ran = false;
      const tool = statelessTool(() => (ran = true));
      await expect(callStateless(tool, callOf(), env)).rejects.toThrow("cancelled");
      expect(ran).toBe(false);
    });
  });
});

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

/** After it, a promise that rejected unhandled has failed the test run. */
function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
