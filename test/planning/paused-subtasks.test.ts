import { describe, expect, it } from "vitest";
import { Scheduler } from "../../src/planning/scheduler.ts";
import { subtasksOf } from "../helpers/arbitrary-plan.ts";

describe("a subtask that is paused", () => {
  it("leaves its place to others, and comes again by its remaining way", () => {
    const run = new Scheduler(subtasksOf("long:; next: long; a:; b:"), { maxParallel: 1 });
    expect(run.begin()).toEqual(["long"]);
    run.pauses("long");
    expect(run.begin()).toEqual(["a"]);
    run.again("long");
    run.done("a");
    expect(run.begin()).toEqual(["long"]);
    run.done("long");
    expect(run.begin()).toEqual(["next"]);
  });

  it("keeps the run from being over", () => {
    const run = new Scheduler(subtasksOf("a:"), { maxParallel: 1 });
    run.begin();
    run.pauses("a");
    expect([run.running, run.isOver]).toEqual([0, false]);
    run.again("a");
    expect(run.isOver).toBe(false);
    expect(run.begin()).toEqual(["a"]);
    run.done("a");
    expect(run.isOver).toBe(true);
  });

  it("is a mistake where it does not run, or is not paused", () => {
    const run = new Scheduler(subtasksOf("a:"), { maxParallel: 1 });
    expect(() => run.pauses("a")).toThrow(TypeError);
    run.begin();
    expect(() => run.again("a")).toThrow(TypeError);
    expect(() => run.again("b")).toThrow(TypeError);
  });
});
