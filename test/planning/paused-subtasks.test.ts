import { describe, expect, it } from "vitest";
import { Scheduler } from "../../src/planning/scheduler.ts";
import { subtasksOf } from "../helpers/arbitrary-plan.ts";

describe("a subtask that is paused", () => {
  it("leaves its place to others, and comes again by its remaining way", () => {
    const run = new Scheduler(subtasksOf("long:; next: long; a:; b:"), { maxParallel: 1 });
    expect(run.start()).toEqual(["long"]);
    run.pause("long");
    expect(run.start()).toEqual(["a"]);
    run.resume("long");
    run.complete("a");
    expect(run.start()).toEqual(["long"]);
    run.complete("long");
    expect(run.start()).toEqual(["next"]);
  });

  it("keeps the run from being over", () => {
    const run = new Scheduler(subtasksOf("a:"), { maxParallel: 1 });
    run.start();
    run.pause("a");
    expect([run.running, run.isOver]).toEqual([0, false]);
    run.resume("a");
    expect(run.isOver).toBe(false);
    expect(run.start()).toEqual(["a"]);
    run.complete("a");
    expect(run.isOver).toBe(true);
  });

  it("is a mistake where it does not run, or is not paused", () => {
    const run = new Scheduler(subtasksOf("a:"), { maxParallel: 1 });
    expect(() => run.pause("a")).toThrow(TypeError);
    run.start();
    expect(() => run.resume("a")).toThrow(TypeError);
    expect(() => run.resume("b")).toThrow(TypeError);
  });
});
