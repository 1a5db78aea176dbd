import { describe, expect, it } from "vitest";
import { planMoments, type Subtask, subtasksAt } from "../../web/views/plan/plan-moments.ts";
import { timeAt } from "../helpers/inspector-path.ts";

const subtask = (
  id: string,
  [from, to]: readonly [number | null, number | null],
  more: Partial<Subtask> = {},
): Subtask => ({
  id,
  description: id,
  dependencies: [],
  level: 0,
  status: to !== null ? "done" : from === null ? "pending" : "running",
  is_waiting: false,
  is_critical: false,
  worker: "counter",
  depth: 0,
  attempts: 1,
  started_at: from === null ? null : timeAt(from),
  ended_at: to === null ? null : timeAt(to),
  error: null,
  result: 42,
  result_bytes: 2,
  tokens_in: 0,
  tokens_out: 0,
  cost_usd: 0,
  ...more,
});

const plan = {
  subtasks: [
    subtask("a", [0, 100]),
    subtask("b", [0, 300], { status: "failed", attempts: 2, result: null }),
    subtask("c", [100, 200]),
    subtask("d", [null, 300], { status: "skipped", result: null }),
    subtask("e", [400, null], { depth: 1 }),
  ],
};

describe("planMoments", () => {
  it("tells each begin and end, and plans for gaps, in order", () => {
    expect(planMoments(plan).map(({ changes }) => changes)).toEqual([
      ["Planned 4 subtasks"],
      ["a started", "b started"],
      ["a done after 100 ms", "c started"],
      ["c done after 100 ms"],
      ["b failed after 300 ms in 2 attempts", "d skipped"],
      ["Plan 2, for gaps, added 1 subtask", "e started"],
    ]);
    expect([...planMoments(plan)[2]!.changed]).toEqual(["a", "c"]);
  });

  it("has one version of a plan of which nothing ran", () => {
    expect(planMoments({ subtasks: [subtask("a", [null, null])] })).toHaveLength(1);
  });
});

describe("subtasksAt", () => {
  it("shows subtasks as they were, without results and subtasks that came later", () => {
    const moments = planMoments(plan);
    const statuses = moments.map((moment) =>
      subtasksAt(plan, moment).map(({ id, status }) => `${id} ${status}`),
    );
    expect(statuses).toEqual([
      ["a pending", "b pending", "c pending", "d pending"],
      ["a running", "b running", "c pending", "d pending"],
      ["a done", "b running", "c running", "d pending"],
      ["a done", "b running", "c done", "d pending"],
      ["a done", "b failed", "c done", "d skipped"],
      ["a done", "b failed", "c done", "d skipped", "e running"],
    ]);
    expect(subtasksAt(plan, moments[1]!)[0]).toMatchObject({ result: null, ended_at: null });
  });
});
