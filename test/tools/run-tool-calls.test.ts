import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentTool } from "../../src/definition/tool/tool.ts";
import type { ToolResult } from "../../src/state/step-record.ts";
import { HandlerMutationError } from "../../src/tools/stateful-call.ts";
import { type RunToolCallsOptions, runToolCalls } from "../../src/tools/run-tool-calls.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { callOf, statefulTool, statelessTool } from "../helpers/probe-tools.ts";

interface Log {
  readonly log: readonly string[];
}

function run(tools: readonly AgentTool[], options: Partial<RunToolCallsOptions>) {
  return runToolCalls({
    calls: [],
    tools: new Map(tools.map((tool) => [tool.definition.name, tool])),
    allowed: "all",
    grants: [],
    values: { input: null, execution: null, attempt: null },
    callsSoFar: 0,
    state: { execution: {}, attempt: { log: [] } },
    env: { clock: new ManualClock(), signal: new AbortController().signal },
    ...options,
  });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const echo = statelessTool((input) => input, { name: "echo" });
const note = statefulTool(
  async (state, input) => {
    await Promise.resolve();
    const attempt: Log = { log: [...(state.attempt as Log).log, (input as { text: string }).text] };
    return { newState: { ...state, attempt }, toolResult: attempt.log.length };
  },
  { name: "note", persistence: "attempt" },
);

describe("runToolCalls", () => {
  it("gives results in the order of the calls, whichever ends first", async () => {
    const waiting: (() => void)[] = [];
    const slow = statelessTool((input) => new Promise((done) => waiting.push(() => done(input))), {
      name: "slow",
    });
    const ended: string[] = [];
    const ran = run([slow], {
      calls: [callOf({ n: 1 }, "slow", "a"), callOf({ n: 2 }, "slow", "b")],
      onResult: ({ id }) => ended.push(id),
    });
    while (waiting.length < 2) await turn();
    for (const finish of waiting.toReversed()) {
      finish();
      await Promise.resolve();
    }
    const { results, concurrent } = await ran;
    expect(results.map(({ id, result }) => [id, result])).toEqual([
      ["a", { n: 1 }],
      ["b", { n: 2 }],
    ]);
    expect(ended).toEqual(["b", "a"]);
    expect(concurrent).toBe(true);
  });

  it("runs stateful calls one after the other, each on the state of the former", async () => {
    const { results, state, concurrent } = await run([note], {
      calls: ["x", "y", "z"].map((text) => callOf({ text }, "note", text)),
    });
    expect(results.map(({ result }) => result)).toEqual([1, 2, 3]);
    expect(state.attempt).toEqual({ log: ["x", "y", "z"] });
    expect(concurrent).toBe(false);
  });

  it("loses no update, however calls are mixed and whichever fail", async () => {
    const kinds = fc.constantFrom("note", "echo", "failing", "unknown");
    const failing = statefulTool(() => Promise.reject(new Error("broke")), { name: "failing" });
    await fc.assert(
      fc.asyncProperty(
        fc.array(kinds, { maxLength: 12 }),
        fc.nat(4),
        async (names, concurrency) => {
          const calls = names.map((name, index) =>
            callOf({ text: String(index) }, name, `c${index}`),
          );
          const ended: ToolResult[] = [];
          const { results, state } = await run([note, echo, failing], {
            calls,
            concurrency,
            onResult: (result) => ended.push(result),
          });
          expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
          expect(new Set(ended)).toEqual(new Set(results));
          const noted = calls.filter(({ name }) => name === "note").map(({ args }) => args["text"]);
          expect(state.attempt).toEqual({ log: noted });
        },
      ),
    );
  });

  it("keeps to the concurrency", async () => {
    const open: (() => void)[] = [];
    const busy = statelessTool(() => new Promise<void>((end) => open.push(end)), { name: "busy" });
    const calls = Array.from({ length: 9 }, (_, n) => callOf({}, "busy", `c${n}`));
    const ran = run([busy], { calls, concurrency: 3 });
    for (let ended = 0; ended < calls.length; ended += 3) {
      while (open.length < 3) await turn();
      await turn();
      expect(open).toHaveLength(3);
      for (const end of open.splice(0)) end();
    }
    expect((await ran).concurrent).toBe(true);
    const echoes = calls.map((call) => ({ ...call, name: "echo" }));
    expect((await run([echo], { calls: echoes, concurrency: 1 })).concurrent).toBe(false);
  });

  it("is not concurrent with one call or none", async () => {
    expect(await run([echo], { calls: [callOf({}, "echo")] })).toMatchObject({ concurrent: false });
    expect(await run([echo], {})).toMatchObject({ results: [], concurrent: false });
  });

  describe("calls that may not be made", () => {
    const errorOf = async (call: object, options: Partial<RunToolCallsOptions> = {}) => {
      const calls = [{ ...callOf({}, "echo"), ...call }];
      const { results } = await run([echo, note], { calls, ...options });
      expect(results[0]).toMatchObject({ outcome: "error", result: null, execution_time_ms: 0 });
      return results[0]?.error;
    };

    it("says which tools there are", async () => {
      expect(await errorOf({ name: "ecko" })).toBe(
        'There is no tool "ecko". Did you mean "echo"? Tools: echo, note.',
      );
      expect(await errorOf({ name: "ecko" }, { allowed: ["note"] })).toBe(
        'There is no tool "ecko". Tools: note.',
      );
    });

    it("says which tools are allowed", async () => {
      expect(await errorOf({}, { allowed: ["note"] })).toBe(
        'Tool "echo" may not be called here (allowed_tools). Tools that may: note.',
      );
      expect(await errorOf({}, { allowed: [] })).toBe(
        'Tool "echo" may not be called here (allowed_tools). No tool may.',
      );
    });

    it("names the limit of calls", async () => {
      const calls = ["a", "b", "c"].map((id) => callOf({}, "echo", id));
      const { results } = await run([echo], { calls, callsSoFar: 3, maxCalls: 5 });
      expect(results.map(({ outcome }) => outcome)).toEqual(["success", "success", "error"]);
      expect(results[2]?.error).toBe(
        'Tool "echo" was not called: the turn has had its 5 tool calls (max_calls_per_turn). Answer with what is known.',
      );
    });

    it("passes on why arguments could not be read", async () => {
      expect(await errorOf({ problem: "The arguments are no JSON." })).toBe(
        "The arguments are no JSON.",
      );
      const message = 'The arguments of tool "echo" must be a JSON object.';
      for (const args of [null, [], "text", 3]) expect(await errorOf({ args })).toBe(message);
    });
  });

  it("stops the other calls when a handler changes its state", async () => {
    let aborted = false;
    let begin = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const endless = statelessTool(
      (_, { signal }) => {
        signal.addEventListener("abort", () => (aborted = true));
        begin();
        return new Promise(() => {});
      },
      { name: "endless" },
    );
    const mutating = statefulTool(
      async (state) => {
        // The event loop may have a turn between the starts of two calls.
        await begun;
        (state.attempt as { log: string[] }).log.push("x");
        return { newState: state, toolResult: null };
      },
      { name: "mutating" },
    );
    const calls = [callOf({}, "endless", "a"), callOf({}, "mutating", "b")];
    await expect(run([endless, mutating], { calls })).rejects.toThrow(HandlerMutationError);
    expect(aborted).toBe(true);
  });

  it("ends with the reason of the run's signal", async () => {
    const controller = new AbortController();
    const endless = statelessTool(() => new Promise(() => {}), { name: "endless" });
    const ran = run([endless, note], {
      calls: [callOf({}, "endless", "a"), callOf({ text: "x" }, "note", "b")],
      env: { clock: new ManualClock(), signal: controller.signal },
    });
    controller.abort(new Error("cancelled"));
    await expect(ran).rejects.toThrow("cancelled");
  });
});
