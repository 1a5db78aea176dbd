import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Scheduler, type SchedulerOptions } from "../../src/planning/scheduler.ts";
import { chainOf, subtasksOf, timedPlans } from "../helpers/arbitrary-plan.ts";

const scheduler = (written: string, options: Partial<SchedulerOptions> = {}) =>
  new Scheduler(subtasksOf(written), { maxParallel: Infinity, ...options });

describe("begin", () => {
  it("gives a subtask the moment its own dependencies are done", () => {
    const run = scheduler("a:; b:; c: a; d: b c");
    expect(run.start()).toEqual(["a", "b"]);
    expect(run.start()).toEqual([]);
    run.complete("a");
    expect(run.start()).toEqual(["c"]);
    run.complete("c");
    expect(run.start()).toEqual([]);
    run.complete("b");
    expect(run.start()).toEqual(["d"]);
    expect([run.running, run.isOver]).toEqual([1, false]);
    run.complete("d");
    expect([run.running, run.isOver]).toEqual([0, true]);
  });

  it("gives the longest remaining way first, then the order of the plan", () => {
    const run = scheduler("x:; y:; long:; next: long; last: next; z:", { maxParallel: 2 });
    expect(run.start()).toEqual(["long", "x"]);
    run.complete("x");
    expect(run.start()).toEqual(["y"]);
    run.complete("long");
    expect(run.start()).toEqual(["next"]);
  });

  it("measures the way by durations where they are known", () => {
    const durations: Record<string, number> = { a: 1, b: 2, c: 9 };
    const run = scheduler("a:; b:; c: b", {
      maxParallel: 1,
      durationOf: (id) => durations[id] ?? 0,
    });
    expect(run.start()).toEqual(["b"]);
  });

  it("takes dependencies that nobody knows for done", () => {
    expect(scheduler("a: before before").start()).toEqual(["a"]);
  });
});

describe("failed", () => {
  it("skips all that depends on it, and lets the others go on", () => {
    const run = scheduler("d: c e; c: b; b: a; a:; e:; f: e");
    run.start();
    expect(run.fail("a")).toEqual([
      { id: "d", because: "a" },
      { id: "c", because: "a" },
      { id: "b", because: "a" },
    ]);
    run.complete("e");
    expect(run.start()).toEqual(["f"]);
    run.complete("f");
    expect(run.isOver).toBe(true);
  });

  it("skips once what depends on two that fail", () => {
    const run = scheduler("a:; b:; c: a b");
    run.start();
    expect(run.fail("b")).toEqual([{ id: "c", because: "b" }]);
    expect(run.fail("a")).toEqual([]);
  });
});

describe("waits", () => {
  it("leaves its place to others, and holds back what depends on it", () => {
    const run = scheduler("a:; b:; c: a", { maxParallel: 1 });
    expect(run.start()).toEqual(["a"]);
    run.suspend("a");
    expect([run.running, run.isOver]).toEqual([0, false]);
    expect(run.start()).toEqual(["b"]);
    run.complete("b");
    expect(run.start()).toEqual([]);
    expect(run.isOver).toBe(true);
    expect(() => run.complete("a")).toThrow('Subtask "a" is waiting, not running');
  });
});

describe("what is settled from before", () => {
  it("is not begun again, and counts as done where it is", () => {
    const run = scheduler("a:; b: a; c: b; d: a", { settled: new Map([["a", "done"]]) });
    expect(run.initiallySkipped).toEqual([]);
    expect(run.start()).toEqual(["b", "d"]);
  });

  it("skips at once what depends on something failed, through what was skipped before", () => {
    const settled = new Map<string, "done" | "failed" | "skipped">([
      ["a", "failed"],
      ["b", "skipped"],
      ["d", "done"],
    ]);
    const run = scheduler("e: d b; c: b; b: a; a:; d: a; f: d", { settled });
    expect(run.initiallySkipped).toEqual([
      { id: "e", because: "a" },
      { id: "c", because: "a" },
    ]);
    expect(run.start()).toEqual(["f"]);
  });

  it("may be of an earlier plan", () => {
    const settled = new Map([
      ["old", "failed"],
      ["older", "skipped"],
      ["oldest", "done"],
    ] as const);
    const run = scheduler("a: oldest; b: oldest older; c: b; d: old", { settled });
    expect(run.initiallySkipped).toEqual([
      { id: "b", because: "older" },
      { id: "c", because: "older" },
      { id: "d", because: "old" },
    ]);
    expect(run.start()).toEqual(["a"]);
  });

  it("may be everything", () => {
    const run = scheduler("a:; b: a", {
      settled: new Map([
        ["a", "done"],
        ["b", "done"],
      ]),
    });
    expect(run.start()).toEqual([]);
    expect(run.isOver).toBe(true);
  });
});

it("refuses to settle what does not run", () => {
  const run = scheduler("a:; b: a");
  expect(() => run.complete("a")).toThrow(TypeError);
  run.start();
  expect(() => run.fail("b")).toThrow('Subtask "b" is pending, not running');
  expect(() => run.suspend("x")).toThrow('There is no subtask "x"');
  run.complete("a");
  expect(() => run.complete("a")).toThrow('Subtask "a" is done, not running');
  expect(run.running).toBe(0);
});

it("refuses what could never run", () => {
  expect(() => scheduler("a: b; b: a")).toThrow(TypeError);
  expect(() => scheduler("a:; a:")).toThrow(TypeError);
  expect(() => scheduler("a:", { maxParallel: 0 })).toThrow(TypeError);
  expect(() => scheduler("a:", { maxParallel: NaN })).toThrow(TypeError);
});

/** Ends running subtasks in the order of `picks`, in the way that `endOf` says. */
function play(
  run: Scheduler,
  picks: readonly number[],
  endOf: (id: string) => "done" | "failed" | "waits",
  seen: (begun: readonly string[], running: readonly string[]) => void = () => {},
) {
  const running: string[] = [];
  const ended = new Map<string, string>(run.initiallySkipped.map(({ id }) => [id, "skipped"]));
  for (let turn = 0; ; turn += 1) {
    const begun = run.start();
    running.push(...begun);
    seen(begun, running);
    if (running.length === 0) return ended;
    const [id = ""] = running.splice((picks[turn % picks.length] ?? 0) % running.length, 1);
    const end = endOf(id);
    ended.set(id, end);
    if (end === "failed") for (const one of run.fail(id)) ended.set(one.id, "skipped");
    else if (end === "done") run.complete(id);
    else run.suspend(id);
  }
}

const picksOf = fc.array(fc.nat(), { minLength: 1 });

describe("whatever ends in whatever order", () => {
  it("never begins a subtask before its dependencies are done, nor leaves a place empty", () => {
    fc.assert(
      fc.property(timedPlans(), picksOf, fc.integer({ min: 1, max: 5 }), (plan, picks, most) => {
        const { subtasks } = plan;
        const run = new Scheduler(subtasks, { maxParallel: most });
        const done = new Set<string>();
        const begunOnes = new Set<string>();
        const ended = play(
          run,
          picks,
          (id) => {
            done.add(id);
            return "done";
          },
          (begun, running) => {
            for (const id of begun) {
              const own = subtasks.find((one) => one.id === id);
              expect(own?.dependencies.every((one) => done.has(one))).toBe(true);
              begunOnes.add(id);
            }
            expect(run.running).toBe(running.length);
            expect(running.length).toBeLessThanOrEqual(most);
            const ready = subtasks.filter(
              ({ id, dependencies }) =>
                !begunOnes.has(id) && dependencies.every((one) => done.has(one)),
            );
            expect(running.length === most || ready.length === 0).toBe(true);
          },
        );
        expect(ended.size).toBe(subtasks.length);
        expect(run.isOver).toBe(true);
      }),
    );
  });

  it("skips exactly what follows from a failed one, and keeps back what follows from a waiting one", () => {
    const fates = fc.array(fc.constantFrom("done", "done", "failed", "waits"), {
      minLength: 25,
      maxLength: 25,
    });
    fc.assert(
      fc.property(timedPlans(), fates, picksOf, ({ subtasks }, drawn, picks) => {
        const fateOf = (id: string) => drawn[Number(id.slice(1))] ?? "done";
        // By definition; ids are numbered so that dependencies have the lower ones.
        const expected = new Map<string, string>();
        const inOrder = subtasks.toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)));
        for (const { id, dependencies } of inOrder) {
          const before = dependencies.map((one) => expected.get(one) ?? "kept");
          if (before.every((one) => one === "done")) expected.set(id, fateOf(id));
          else if (before.includes("failed") || before.includes("skipped")) {
            expected.set(id, "skipped");
          }
        }
        const run = new Scheduler(subtasks, { maxParallel: 3 });
        expect(play(run, picks, fateOf)).toEqual(expected);
        expect(run.isOver).toBe(true);
      }),
    );
  });

  it("goes on from any point as it would have gone", () => {
    const fates = fc.array(fc.constantFrom("done", "done", "failed"), {
      minLength: 25,
      maxLength: 25,
    });
    fc.assert(
      fc.property(timedPlans(), fates, picksOf, fc.nat(), ({ subtasks }, drawn, picks, cut) => {
        const fateOf = (id: string) => drawn[Number(id.slice(1))] ?? "done";
        const options = { maxParallel: 2 };
        const whole = play(new Scheduler(subtasks, options), picks, fateOf);
        // What was settled when the run stopped; skips follow at once from failures, so some may not be known.
        const begun = [...whole].filter(([, end]) => end !== "skipped");
        const settled = new Map(
          begun.slice(0, cut % (begun.length + 1)) as [string, "done" | "failed"][],
        );
        const rest = play(new Scheduler(subtasks, { ...options, settled }), picks, fateOf);
        expect(new Map([...settled, ...rest])).toEqual(new Map(whole));
      }),
    );
  });
});

it("skips along a chain that no stack would hold", () => {
  const run = new Scheduler(chainOf(5_000), { maxParallel: 1 });
  run.start();
  expect(run.fail("s0")).toHaveLength(4_999);
  const settled = new Map([["s0", "failed"]] as const);
  const again = new Scheduler(chainOf(5_000).toReversed(), { maxParallel: 1, settled });
  expect(again.initiallySkipped).toHaveLength(4_999);
});
