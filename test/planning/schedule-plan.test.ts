import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidPlanError, InvalidScheduleOptionError } from "../../src/planning/errors.ts";
import { type PlanSchedule, schedulePlan } from "../../src/planning/schedule-plan.ts";
import { chainOf, subtasksOf, type TimedPlan, timedPlans } from "../helpers/arbitrary-plan.ts";

const planOf = (written: string) => ({ subtasks: subtasksOf(written) });

it("begins each subtask when its own dependencies end, not with its level", () => {
  const durations: Record<string, number> = { a: 1, b: 5, c: 2, d: 1 };
  const schedule = schedulePlan(planOf("a:; b:; c: a; d: b c"), {
    durationOf: (id) => durations[id] ?? 0,
  });
  expect(schedule).toEqual({
    subtasks: [
      { id: "b", start: 0, end: 5 },
      { id: "a", start: 0, end: 1 },
      { id: "c", start: 1, end: 3 },
      { id: "d", start: 5, end: 6 },
    ],
    makespan: 6,
    criticalPath: { length: 6, ids: ["b", "d"] },
    levels: [["a", "b"], ["c"], ["d"]],
  });
});

it("settles all that ends at one time before more begins", () => {
  const schedule = schedulePlan(planOf("x:; y:; short: x; long: y; after: long"), {
    maxParallel: 2,
  });
  expect(schedule.subtasks.map(({ id, start }) => `${id} ${start}`)).toEqual([
    "y 0",
    "x 0",
    "long 1",
    "short 1",
    "after 2",
  ]);
});

it("runs eight at once by default, each for 1", () => {
  const plan = planOf(Array.from({ length: 17 }, (_, at) => `s${at}:`).join(";"));
  expect(schedulePlan(plan).makespan).toBe(3);
  expect(schedulePlan(plan, { maxParallel: Infinity }).makespan).toBe(1);
});

it("lets what takes no time end when it begins", () => {
  const { subtasks, makespan } = schedulePlan({ subtasks: chainOf(3) }, { durationOf: () => 0 });
  expect(subtasks.map(({ start, end }) => [start, end])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  expect(makespan).toBe(0);
});

describe("refuses", () => {
  it.each([
    ["a cycle", planOf("a: b; b: a"), "a → b → a"],
    ["an unknown dependency", planOf("a: b"), 'Subtask "a" depends on "b"'],
    ["two of one id", planOf("a:; a:"), '"a" was used before'],
    ["nothing", { subtasks: [] }, "expected at least one subtask"],
    ["what is no plan", null as never, "plan: expected an object, got null"],
  ])("%s", (_, plan, message) => {
    expect(() => schedulePlan(plan)).toThrow(InvalidPlanError);
    expect(() => schedulePlan(plan)).toThrow(message);
  });

  it.each([0, -1, NaN, 1.5, "8" as never])("maxParallel %s", (maxParallel) => {
    expect(() => schedulePlan(planOf("a:"), { maxParallel })).toThrow(InvalidScheduleOptionError);
  });

  it.each([-1, NaN, Infinity, undefined as never])("a duration of %s", (duration) => {
    const durationOf = (id: string) => (id === "b" ? duration : 1);
    expect(() => schedulePlan(planOf("a:; b:"), { durationOf })).toThrow(
      expect.objectContaining({ code: "invalid_schedule_option", option: "durationOf" }) as Error,
    );
  });

  it("saying what came", () => {
    expect(() => schedulePlan(planOf("a:"), { durationOf: () => -1 })).toThrow(
      'The option durationOf of a schedule must be a finite number from 0 for subtask "a"; got -1.',
    );
  });
});

it("puts up with workers, which it does not know", () => {
  const subtasks = [{ id: "a", description: "x", dependencies: [], worker: "anybody" }];
  expect(schedulePlan({ subtasks }).makespan).toBe(1);
});

describe("for any plan", () => {
  const byIdOf = ({ subtasks }: PlanSchedule) => new Map(subtasks.map((one) => [one.id, one]));
  const scheduled = (plan: TimedPlan, maxParallel: number) =>
    schedulePlan(plan, { maxParallel, durationOf: plan.durationOf });
  const places = fc.integer({ min: 1, max: 6 });

  it("takes as long as the critical path where nothing limits it", () => {
    fc.assert(
      fc.property(timedPlans(), (plan) => {
        const { makespan, criticalPath } = scheduled(plan, Infinity);
        expect(makespan).toBe(criticalPath.length);
      }),
    );
  });

  it("takes as long as the critical path for fractions too", () => {
    const drawn = fc.array(fc.double({ min: 0, max: 10, noNaN: true }), { minLength: 25 });
    fc.assert(
      fc.property(timedPlans(), drawn, ({ subtasks }, durations) => {
        const durationOf = (id: string) => durations[Number(id.slice(1))] ?? 0;
        const { makespan, criticalPath } = schedulePlan(
          { subtasks },
          { maxParallel: Infinity, durationOf },
        );
        expect(makespan).toBe(criticalPath.length);
      }),
    );
  });

  it("runs every subtask once, after its dependencies, at most so many at once", () => {
    fc.assert(
      fc.property(timedPlans(), places, (plan, maxParallel) => {
        const schedule = scheduled(plan, maxParallel);
        const byId = byIdOf(schedule);
        expect(schedule.subtasks).toHaveLength(plan.subtasks.length);
        for (const { id, dependencies } of plan.subtasks) {
          const { start = -1, end } = byId.get(id) ?? {};
          expect(end).toBe(start + plan.durationOf(id));
          for (const one of dependencies) expect(byId.get(one)?.end).toBeLessThanOrEqual(start);
          const atOnce = schedule.subtasks.filter((one) => one.start <= start && one.end > start);
          expect(atOnce.length).toBeLessThanOrEqual(maxParallel);
        }
        expect(schedule.makespan).toBe(Math.max(...schedule.subtasks.map(({ end }) => end)));
      }),
    );
  });

  it("leaves no place empty while a subtask is ready", () => {
    fc.assert(
      fc.property(timedPlans(), places, (plan, maxParallel) => {
        const schedule = scheduled(plan, maxParallel);
        const byId = byIdOf(schedule);
        for (const { id, dependencies } of plan.subtasks) {
          const start = byId.get(id)?.start ?? 0;
          const ready = Math.max(0, ...dependencies.map((one) => byId.get(one)?.end ?? 0));
          for (let time = ready; time < start; time += 1) {
            const busy = schedule.subtasks.filter((one) => one.start <= time && one.end > time);
            expect(busy).toHaveLength(maxParallel);
          }
        }
      }),
    );
  });

  it("keeps to Graham's bound", () => {
    fc.assert(
      fc.property(timedPlans(), places, (plan, k) => {
        const { makespan, criticalPath } = scheduled(plan, k);
        const total = plan.subtasks.reduce((sum, { id }) => sum + plan.durationOf(id), 0);
        // Times k, so that all numbers are whole.
        expect(makespan * k).toBeLessThanOrEqual(total + (k - 1) * criticalPath.length);
        expect(makespan * k).toBeGreaterThanOrEqual(Math.max(total, k * criticalPath.length));
      }),
    );
  });

  it("is the same for the same plan, which it leaves as it is", () => {
    fc.assert(
      fc.property(timedPlans(), places, (plan, maxParallel) => {
        const before = structuredClone(plan.subtasks);
        const first = scheduled(plan, maxParallel);
        expect(scheduled(plan, maxParallel)).toEqual(first);
        expect(plan.subtasks).toEqual(before);
      }),
    );
  });
});

it("holds a chain that no stack would", () => {
  const { makespan, criticalPath } = schedulePlan({ subtasks: chainOf(5_000).toReversed() });
  expect([makespan, criticalPath.length]).toEqual([5_000, 5_000]);
});

it("holds a wide plan", () => {
  const [root, ...leaves] = chainOf(5_000);
  const subtasks = [
    ...(root === undefined ? [] : [root]),
    ...leaves.map((one) => ({ ...one, dependencies: ["s0"] })),
    { id: "end", description: "all", dependencies: leaves.map(({ id }) => id) },
  ];
  expect(schedulePlan({ subtasks }).makespan).toBe(2 + Math.ceil(4_999 / 8));
});
