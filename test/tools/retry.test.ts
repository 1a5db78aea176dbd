import { describe, expect, it } from "vitest";
import type { StatelessTool } from "../../src/definition/tool/tool.ts";
import { callStateful, callStateless } from "../../src/tools/call.ts";
import { HandlerMutationError } from "../../src/tools/stateful-call.ts";
import { ToolFailure } from "../../src/tools/tool-result.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { callOf, statefulTool, statelessTool } from "../helpers/probe-tools.ts";

/** Throws what is given, one for each try, then returns. */
function flaky(
  throws: readonly unknown[],
  options: { idempotent?: boolean; retries?: number } = {},
) {
  const tries: number[] = [];
  const clock = new ManualClock();
  const tool = statelessTool(
    async () => {
      const at = tries.push(clock.monotonic()) - 1;
      if (at < throws.length) throw throws[at];
      return "done";
    },
    {
      idempotent: options.idempotent ?? false,
      retry: { max_retries: options.retries ?? 2, backoff_ms: 100 },
    },
  );
  return { tool, tries, clock };
}

async function run(tool: StatelessTool, clock: ManualClock) {
  const { signal } = new AbortController();
  const pending = callStateless(tool, callOf({}), { clock, signal, random: () => 0.5 });
  const progress = { isOver: false };
  void pending.finally(() => (progress.isOver = true));
  while (!progress.isOver) {
    await new Promise(setImmediate);
    if (!progress.isOver) clock.advance(25);
  }
  return (await pending).result;
}

const withCode = (code: string) => Object.assign(new Error(code), { code });

describe("a call that fails", () => {
  it("is tried again where its tool is idempotent, after longer and longer waits", async () => {
    const { tool, tries, clock } = flaky([new Error("a"), new Error("b")], { idempotent: true });
    expect(await run(tool, clock)).toMatchObject({
      outcome: "success",
      result: "done",
      retries: 2,
    });
    expect(tries).toEqual([0, 75, 225]);
  });

  it("is not tried again where its tool is not, and something may have been done", async () => {
    const { tool, tries, clock } = flaky([new Error("cut off"), new Error("b")]);
    expect(await run(tool, clock)).toMatchObject({ outcome: "error", error: "cut off" });
    expect(tries).toHaveLength(1);
  });

  it.each([
    ["was never sent", withCode("ECONNREFUSED")],
    [
      "was never sent, as its cause says",
      new Error("fetch failed", { cause: withCode("ENOTFOUND") }),
    ],
    ["was turned away by a limit", Object.assign(new Error("slow down"), { status: 429 })],
    ["says so itself", Object.assign(new ToolFailure("busy"), { retryable: true })],
  ])("is tried again whatever its tool where the request %s", async (_why, thrown) => {
    const { tool, tries, clock } = flaky([thrown]);
    expect(await run(tool, clock)).toMatchObject({ outcome: "success", retries: 1 });
    expect(tries).toHaveLength(2);
  });

  it("is not tried again for a failure that is the tool's answer", async () => {
    const { tool, tries, clock } = flaky([new ToolFailure("no such file")], { idempotent: true });
    expect(await run(tool, clock)).toMatchObject({ outcome: "failure", error: "no such file" });
    expect(tries).toHaveLength(1);
  });

  it("gives the last error when no try is left", async () => {
    const { tool, clock } = flaky([new Error("a"), new Error("b"), new Error("c")], {
      idempotent: true,
    });
    expect(await run(tool, clock)).toMatchObject({ outcome: "error", error: "c", retries: 2 });
  });

  it("has its time for each try", async () => {
    const clock = new ManualClock();
    let tries = 0;
    const tool = statelessTool(
      () => {
        tries += 1;
        return tries === 1 ? new Promise(() => {}) : "done";
      },
      { idempotent: true, timeoutMs: 1_000, retry: { max_retries: 1, backoff_ms: 100 } },
    );
    expect(await run(tool, clock)).toMatchObject({ outcome: "success", retries: 1 });
  });

  it("ends at once when the run is over, also while it waits", async () => {
    const { tool, tries, clock } = flaky([new Error("a")], { idempotent: true });
    const stop = new AbortController();
    const pending = callStateless(tool, callOf({}), { clock, signal: stop.signal });
    await new Promise(setImmediate);
    stop.abort(new Error("cancelled"));
    await expect(pending).rejects.toThrow("cancelled");
    expect(tries).toHaveLength(1);
  });
});

describe("a call that no other try can mend", () => {
  const retry = { max_retries: 2, backoff_ms: 1 };

  it("is made once where its handler changes the state that it was given", async () => {
    let tries = 0;
    const tool = statefulTool(
      (state) => {
        tries += 1;
        (state.execution as { n: number }).n = 1;
        return { newState: state, toolResult: null };
      },
      { idempotent: true, retry },
    );
    const env = { clock: new ManualClock(), signal: new AbortController().signal };
    const call = callStateful(tool, callOf(), { execution: { n: 0 }, attempt: {} }, env);
    await expect(call).rejects.toThrow(HandlerMutationError);
    expect(tries).toBe(1);
  });

  it("is made once where there is no sandbox for it", async () => {
    const { tool, clock } = flaky([], { idempotent: true });
    const { definition } = tool;
    const execution = { ...definition.execution, sandbox: true };
    const result = await run({ ...tool, definition: { ...definition, execution } }, clock);
    expect(result.error).toContain("there is none here");
    expect(result.retries).toBeUndefined();
  });
});
