import { describe, expect, it } from "vitest";
import type { AgentTool } from "../../src/definition/tool/tool.ts";
import { runToolCalls, type RunToolCallsOptions } from "../../src/tools/run-tool-calls.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { MemoryJournal } from "../helpers/memory-journal.ts";
import { callOf, statefulTool, statelessTool } from "../helpers/probe-tools.ts";

function setUp(tools: readonly AgentTool[]) {
  const journal = new MemoryJournal();
  const controller = new AbortController();
  const clock = new ManualClock();
  const run = (options: Partial<RunToolCallsOptions> = {}) =>
    runToolCalls({
      calls: [callOf()],
      tools: new Map(tools.map((tool) => [tool.definition.name, tool])),
      allowed: "all",
      grants: [],
      values: { input: null, execution: null, attempt: null },
      callsSoFar: 0,
      state: { execution: { n: 0 }, attempt: {} },
      env: { clock, signal: controller.signal },
      log: { journal, threadId: "t", run: "r", stepOf: () => 4 },
      ...options,
    });
  return { journal, controller, clock, run };
}

const crash = new Error("the process ended");

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Counts how often it was called. */
function counted(options: { idempotent?: boolean } = {}) {
  const made = { calls: 0 };
  const tool = statelessTool(() => ({ call: (made.calls += 1) }), options);
  return { made, tool };
}

describe("a call that is written down", () => {
  it("begins before its handler does, and ends before its result is told", async () => {
    const order: string[] = [];
    const tool = statelessTool(() => void order.push(`run after ${journal.log.join()}`));
    const { journal, run } = setUp([tool]);
    await run({ onResult: () => order.push(`result after ${journal.log.join()}`) });
    expect(order).toEqual(["run after begin call-1", "result after begin call-1,end call-1"]);
    expect([...journal.entries.keys()]).toEqual([JSON.stringify(["t", "r", 4, "call-1"])]);
  });

  it("looks no different from one that is not", async () => {
    const { run } = setUp([statelessTool(() => "done")]);
    const { results } = await run();
    expect(results).toEqual((await run({ log: undefined })).results);
    expect(results[0]).not.toHaveProperty("recovered");
  });

  it("that has ended gives its recorded result", async () => {
    const { made, tool } = counted();
    const { run } = setUp([tool]);
    const [first] = (await run()).results;
    const [second] = (await run()).results;
    expect(made.calls).toBe(1);
    expect(second).toEqual({ ...first, recovered: "recorded" });
  });

  it("is not made with an answer that an earlier one of unknown outcome may have asked for", async () => {
    const { made, tool } = counted();
    const { run, journal, controller, clock } = setUp([tool]);
    const [first, second] = [callOf(), callOf({}, "probe", "call-2")];
    const key = { threadId: "t", run: "r", step: 4, callId: first.id };
    await journal.begin({ ...key, tool: first.name, input: first.args, idempotent: false });
    const interrupts = { asked: 0, hasAnswers: true, skip: () => undefined };
    const env = { clock, signal: controller.signal, interrupts };
    const { results } = await run({ calls: [first, second], env });
    expect(results[0]).toMatchObject({ recovered: "unknown" });
    expect(results[1]).toMatchObject({ outcome: "error" });
    expect(results[1]?.error).toContain("Call the tool again to have the person asked again.");
    expect(made.calls).toBe(0);
  });

  it("that was tried more than once keeps how often", async () => {
    let tries = 0;
    const tool = statelessTool(
      () => {
        tries += 1;
        if (tries === 1) throw new Error("down");
        return tries;
      },
      { idempotent: true, retry: { max_retries: 1, backoff_ms: 0 } },
    );
    const { run, clock } = setUp([tool]);
    const first = run();
    while (clock.pending === 0) await turn();
    clock.advance(1);
    expect((await first).results[0]).toMatchObject({ result: 2, retries: 1 });
    expect((await run()).results[0]).toMatchObject({ retries: 1, recovered: "recorded" });
  });

  it("that has ended badly is not made again either", async () => {
    let calls = 0;
    const tool = statelessTool(() => {
      throw new Error(`broke ${(calls += 1)}`);
    });
    const { run } = setUp([tool]);
    await run();
    const { results } = await run();
    expect(results[0]).toMatchObject({ outcome: "error", error: "broke 1", recovered: "recorded" });
  });

  it("that took too long has ended", async () => {
    const { run, clock } = setUp([statelessTool(() => new Promise(() => {}), { timeoutMs: 10 })]);
    const running = run();
    while (clock.pending === 0) await turn();
    clock.advance(10);
    await running;
    expect((await run()).results[0]).toMatchObject({ outcome: "timeout", recovered: "recorded" });
  });

  it("and cut off before its end has an unknown outcome", async () => {
    const { made, tool } = counted();
    const { journal, run } = setUp([tool]);
    journal.failNext = { at: "end", error: crash };
    await expect(run()).rejects.toThrow(crash);
    const { results } = await run();
    expect(made.calls).toBe(1);
    expect(results[0]).toMatchObject({
      outcome: "error",
      result: null,
      error:
        'Outcome unknown: tool "probe" was started at 2026-01-01T00:00:00.000Z and cut off, and whether it took effect is not known. Find out before calling it again.',
      recovered: "unknown",
    });
  });

  it("and cut off before its end is made again when its tool is idempotent", async () => {
    const { made, tool } = counted({ idempotent: true });
    const { journal, run } = setUp([tool]);
    journal.failNext = { at: "end", error: crash };
    await expect(run()).rejects.toThrow(crash);
    expect((await run()).results[0]).toMatchObject({ result: { call: 2 }, recovered: "repeated" });
    expect((await run()).results[0]).toMatchObject({ result: { call: 2 }, recovered: "recorded" });
    expect(made.calls).toBe(2);
  });

  it("is not made when it cannot be written down", async () => {
    const { made, tool } = counted();
    const { journal, run } = setUp([tool]);
    journal.failNext = { at: "begin", error: crash };
    await expect(run()).rejects.toThrow(crash);
    expect(made.calls).toBe(0);
    expect((await run()).results[0]).toMatchObject({ result: { call: 1 } });
  });

  it("with other arguments is another one", async () => {
    const { made, tool } = counted();
    const { run } = setUp([tool]);
    await run({ calls: [callOf({ to: "a" })] });
    await run({ calls: [callOf({ to: "b" })] });
    expect(made.calls).toBe(2);
  });

  it("and refused is not written down", async () => {
    const { journal, run } = setUp([counted().tool]);
    await run({ allowed: [] });
    expect(journal.log).toEqual([]);
  });
});

describe("a call with state that is written down", () => {
  const bump = statefulTool(
    (state, input) => {
      const { n } = state.execution as { n: number };
      const { by = 1 } = input as { by?: number };
      if (by === 0) throw new Error("by nothing");
      return { newState: { ...state, execution: { n: n + by } }, toolResult: n + by };
    },
    { name: "bump" },
  );
  const calls = [1, 10, 100].map((by) => callOf({ by }, "bump", `by-${by}`));

  it("has its changes applied when it is not made again", async () => {
    const { journal, run } = setUp([bump]);
    await run({ calls: calls.slice(0, 2) });
    const { results, state } = await run({ calls });
    expect(results.map(({ result }) => result)).toEqual([1, 11, 111]);
    expect(results.map(({ recovered }) => recovered)).toEqual(["recorded", "recorded", undefined]);
    expect(state).toEqual({ execution: { n: 111 }, attempt: {} });
    expect(Object.isFrozen(state.execution)).toBe(true);
    expect(journal.log.filter((line) => line === "begin by-100")).toHaveLength(1);
  });

  it("leaves the state as it was when its outcome is unknown", async () => {
    const { journal, run } = setUp([bump]);
    journal.failNext = { at: "end", error: crash };
    await expect(run({ calls: calls.slice(0, 1) })).rejects.toThrow(crash);
    const { results, state } = await run({ calls });
    expect(results.map(({ result }) => result)).toEqual([null, 10, 110]);
    expect(state.execution).toEqual({ n: 110 });
  });

  it("changes nothing when it had failed", async () => {
    const { run } = setUp([bump]);
    const failing = [callOf({ by: 0 }, "bump")];
    await run({ calls: failing });
    const before = { execution: { n: 0 }, attempt: {} };
    expect((await run({ calls: failing, state: before })).state).toEqual(before);
  });
});

describe("a call that is cancelled", () => {
  it("before its handler was called has not begun", async () => {
    const { made, tool } = counted();
    const { journal, controller, run } = setUp([tool]);
    const begin = journal.begin.bind(journal);
    journal.begin = async (entry) => {
      const known = await begin(entry);
      controller.abort(new Error("cancelled"));
      return known;
    };
    await expect(run()).rejects.toThrow("cancelled");
    expect([made.calls, journal.entries.size]).toEqual([0, 0]);
  });

  it("in its handler has an unknown outcome when the turn goes on, and those that had ended keep theirs", async () => {
    const begun: string[] = [];
    const hanging = statelessTool(
      (_, { callId }) => {
        begun.push(callId);
        return new Promise(() => {});
      },
      { name: "hanging" },
    );
    const { made, tool } = counted();
    const { journal, controller, run } = setUp([hanging, tool]);
    const asked = [callOf({}, "hanging", "a"), callOf({}, "probe", "b")];
    const running = run({ calls: asked });
    while (!journal.log.includes("end b") || begun.length === 0) await turn();
    controller.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
    const resumed = { clock: new ManualClock(), signal: new AbortController().signal };
    const { results } = await run({ calls: asked, env: resumed });
    expect(results.map(({ recovered }) => recovered)).toEqual(["unknown", "recorded"]);
    expect([begun, made.calls]).toEqual([["a"], 1]);
  });

  it("while it waits for its turn is made when the turn goes on", async () => {
    const { made, tool } = counted();
    const { controller, run } = setUp([tool]);
    controller.abort(new Error("cancelled"));
    await expect(run()).rejects.toThrow("cancelled");
    const resumed = { clock: new ManualClock(), signal: new AbortController().signal };
    expect((await run({ env: resumed })).results[0]).not.toHaveProperty("recovered");
    expect(made.calls).toBe(1);
  });
});
