import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { describe, expect, it } from "vitest";
import {
  areEventsRead,
  countTurnCalls,
  TurnTime,
  turnTime,
  withTurnTime,
} from "../../../src/compile/run/turn-calls.ts";

describe("the active time of a turn", () => {
  it("counts from the node that begins it, without a gap", () => {
    const time = new TurnTime();
    expect(time.elapsed(1_000, null)).toBe(0);
    expect(time.elapsed(1_700, 0)).toBe(700);
    // What passed since the last node was given its state counts too.
    expect(time.elapsed(5_000, 700)).toBe(4_000);
  });

  it("goes on from what is stored where a run resumes it, without the time between", () => {
    const time = new TurnTime();
    expect(time.elapsed(3_600_000, 700)).toBe(700);
    expect(time.elapsed(3_600_500, 700)).toBe(1_200);
  });

  it("begins anew with the next turn, and never goes back", () => {
    const time = new TurnTime();
    time.elapsed(1_000, 500);
    expect(time.elapsed(2_000, null)).toBe(0);
    expect(time.elapsed(1_500, 300)).toBe(300);
  });

  it("is that of the run: nodes share it, two runs do not", () => {
    const [one, other] = [withTurnTime({}), withTurnTime({})];
    turnTime(one).elapsed(1_000, null);
    expect(turnTime(one).elapsed(1_400, 0)).toBe(400);
    expect(turnTime(other).elapsed(1_400, 0)).toBe(0);
  });
});

describe("areEventsRead", () => {
  const writer = () => {};

  /** Returns the config that the run of a counted graph has. */
  function configOf(options: object, graph: object = {}): RunnableConfig {
    let given: RunnableConfig = {};
    const counted = countTurnCalls({
      streamMode: ["updates"],
      withConfig: () => undefined,
      async *_streamIterator(_input: never, own: RunnableConfig = {}) {
        given = own;
        yield null;
      },
      ...graph,
    });
    void counted["_streamIterator"](undefined as never, options as never).next();
    return given;
  }
  const readIn = (...of: Parameters<typeof configOf>) => areEventsRead(configOf(...of));

  it("is false in a run that streams no custom events", () => {
    expect(readIn({})).toBe(false);
    expect(readIn({ streamMode: "values" })).toBe(false);
  });

  it("is true in a run that streams custom events or has a writer", () => {
    expect(readIn({ streamMode: ["values", "custom"] })).toBe(true);
    expect(readIn({}, { streamMode: "custom" })).toBe(true);
    expect(readIn({ writer })).toBe(true);
    expect(readIn({}, { config: { writer } })).toBe(true);
  });

  it("is true in the context of another run, to whose stream it may write", () => {
    const around = { configurable: {} };
    const isRead = AsyncLocalStorageProviderSingleton.runWithConfig(around, () => readIn({}));
    expect(isRead).toBe(true);
  });

  it("is passed on to a nested run, which has the writer of the outer one", () => {
    const inside = (streamMode: string) => readIn({ ...configOf({ streamMode }), writer });
    expect(inside("custom")).toBe(true);
    expect(inside("values")).toBe(false);
  });
});
