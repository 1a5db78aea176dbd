import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  detectStuck,
  raiseOrEnd,
  type StepRecord,
  type ToolResult,
} from "../../src/state/step-record.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

const calls = (...over: Partial<ToolResult>[]): StepRecord =>
  stepRecord({ tool_results: over.map(toolResult) });
/** A step unlike any other. */
const other = (n: number): StepRecord => calls({ args: { query: `other ${n}` } });
const others = (count: number): StepRecord[] => Array.from({ length: count }, (_, n) => other(n));
const idle = stepRecord({ next_action: "continue" });
const noProgress = (n: number): StepRecord => ({ ...other(n), progress: "stuck" });
const deep = (step: StepRecord): StepRecord => ({ ...step, mode: "deep" });

describe("detectStuck", () => {
  it("finds nothing in an attempt that goes on", () => {
    expect(detectStuck([])).toBeNull();
    expect(detectStuck(others(20))).toBeNull();
  });

  it("finds three steps in a row that judge themselves stuck", () => {
    const stuck = [0, 1, 2].map(noProgress);
    expect(detectStuck(stuck)).toEqual({
      kind: "no_progress",
      reason: "3 steps in a row made no progress",
    });
    expect(detectStuck(stuck.slice(1))).toBeNull();
    expect(detectStuck([noProgress(0), other(1), noProgress(2), noProgress(3)])).toBeNull();
  });

  it("finds the same call with the same result three times", () => {
    expect(detectStuck([calls({}), calls({}), calls({})])).toEqual({
      kind: "repeated_call",
      reason: "the same call of search gave the same result 3 times",
    });
    expect(detectStuck([calls({}), calls({})])).toBeNull();
  });

  it("does not mind the order of keys, ids and durations", () => {
    const steps = [
      calls({ id: "1", args: { a: 1, b: { c: 2, d: 3 } }, execution_time_ms: 5 }),
      calls({ id: "2", args: { b: { d: 3, c: 2 }, a: 1 }, execution_time_ms: 6 }),
      calls({ id: "3", args: { a: 1, b: { c: 2, d: 3 } }, execution_time_ms: 7 }),
    ];
    expect(detectStuck(steps)?.kind).toBe("repeated_call");
  });

  it.each<[string, Partial<ToolResult>]>([
    ["name", { name: "find" }],
    ["arguments", { args: { query: "rust tutorial" } }],
    ["result", { result: "4 hits" }],
    ["outcome", { outcome: "failure" }],
    ["error", { error: "no" }],
  ])("takes a call with another %s for another", (_part, over) => {
    expect(detectStuck([calls({}), calls(over), calls({})])).toBeNull();
  });

  it("finds repetitions among other calls, and with other steps between", () => {
    const busy = calls({ args: {} }, {});
    expect(detectStuck([calls({}), ...others(5), busy, ...others(4), calls({})])?.kind).toBe(
      "repeated_call",
    );
  });

  it("looks no further back than twelve steps", () => {
    expect(detectStuck([calls({}), ...others(9), calls({}), calls({})])).not.toBeNull();
    expect(detectStuck([calls({}), ...others(10), calls({}), calls({})])).toBeNull();
  });

  it("counts the calls of one step once", () => {
    expect(detectStuck([other(0), other(1), calls({}, {}, {})])).toBeNull();
  });

  it("forgets repetitions once a step does something else", () => {
    expect(detectStuck([calls({}), calls({}), calls({}), other(0)])).toBeNull();
  });

  it("finds three steps in a row with neither action nor answer", () => {
    expect(detectStuck([idle, idle, idle])).toEqual({
      kind: "no_action",
      reason: "3 steps in a row had neither a tool call nor an answer",
    });
    expect(detectStuck([idle, idle, other(0), idle])).toBeNull();
  });

  it("judges by the last twelve steps alone", () => {
    const step = fc.constantFrom(idle, calls({}), other(1), noProgress(2), noProgress(3), other(4));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        expect(detectStuck(steps)).toEqual(detectStuck(steps.slice(-12)));
      }),
    );
  });
});

describe("raiseOrEnd", () => {
  const repeated = [calls({}), calls({}), calls({})];

  it("goes on while the attempt is not stuck", () => {
    expect(raiseOrEnd(others(3))).toEqual({ action: "none" });
  });

  it("deepens once, then ends", () => {
    const reason = "the same call of search gave the same result 3 times";
    expect(raiseOrEnd(repeated)).toEqual({ action: "deepen", reason });
    expect(raiseOrEnd([...repeated, deep(calls({}))])).toEqual({ action: "end", reason });
  });

  it("goes on after a deep step that did something new, and ends when it is stuck again", () => {
    const helped = [...repeated, deep(other(0))];
    expect(raiseOrEnd(helped)).toEqual({ action: "none" });
    expect(raiseOrEnd([...helped, ...others(9), ...repeated]).action).toBe("end");
  });

  it("ends an attempt that is deep already", () => {
    expect(raiseOrEnd(repeated.map(deep)).action).toBe("end");
  });

  it("ends an attempt at three steps with neither action nor answer", () => {
    expect(raiseOrEnd([idle, idle, idle]).action).toBe("end");
  });
});
