import { describe, expect, it } from "vitest";
import { asPlan, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

const again = "That answer was not accepted";
const many = (count: number) =>
  planOf(Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${at}`, ""])));

const refused: readonly (readonly [string, unknown, string])[] = [
  ["is empty", { subtasks: [] }, "subtasks: expected at least one subtask, got none"],
  [
    "has an id twice",
    { subtasks: [...planOf({ a: "" }).subtasks, ...planOf({ a: "" }).subtasks] },
    'subtasks[1].id: "a" was used before, by subtasks[0]; give each subtask an id of its own',
  ],
  [
    "depends on what there is not",
    planOf({ abc: "", b: "abd" }),
    'Subtask "b" depends on "abd", which does not exist. Did you mean "abc"? There are: abc, b.',
  ],
  [
    "goes round in a circle",
    planOf({ a: "b", b: "a", c: "" }),
    "These subtasks form a dependency cycle, each depending on the next: a → b → a",
  ],
  ["depends on itself", planOf({ a: "a" }), 'Subtask "a" depends on itself'],
  [
    "names a worker that there is not",
    planOf({ a: "" }, { worker: "ww" }),
    'Subtask "a" names the worker "ww", which does not exist. Did you mean "w"? There are: w.',
  ],
  ["has 10,000 subtasks", many(10_000), "subtasks: expected at most 100, got 10,000"],
];

describe("a plan of the caller's that", () => {
  it.each(refused)("%s fails the turn, and nothing is run or asked", async (_what, plan, why) => {
    const { result, events, model } = await runPlan({ plan });
    expect([result.status, result.failure]).toEqual([
      "FAILED",
      {
        cause: "invalid_plan",
        message: `Planner "planner" failed: The plan cannot be run:\n  - ${why}`,
      },
    ]);
    expect(events.filter(({ type }) => type === "plan" || type === "subtask_start")).toEqual([]);
    expect(model.requests).toHaveLength(0);
  });

  it.each([
    ["a text", "first a, then b", 'plan: expected an object, got "first a, then b"'],
    ["a number", 7, "plan: expected an object, got 7"],
    ["a list", [1], "plan: expected an object, got "],
    ["false", false, "plan: expected an object, got false"],
    ["without subtasks", {}, "subtasks: expected an array, got "],
    ["of texts", { subtasks: ["a"] }, 'subtasks[0]: expected an object, got "a"'],
  ])("is %s is refused as it is", async (_what, plan, why) => {
    const { result } = await runPlan({ plan });
    expect(result.failure?.cause).toBe("invalid_plan");
    expect(result.failure?.message).toContain(why);
  });

  it("is null is made by the model", async () => {
    const { result } = await runPlan({
      plan: null,
      script: plannerReplies({ "Break the task": asPlan(planOf({ a: "" })) }),
    });
    expect(result.status).toBe("COMPLETED");
  });

  it("has all its problems is told all at once", async () => {
    const { result } = await runPlan({
      plan: planOf({ a: "b", b: "a", c: "c", d: "e" }, { worker: "x" }),
    });
    expect(result.failure?.message.split("\n")).toHaveLength(8);
  });
});

describe("a plan of the model's that", () => {
  it.each(refused)("%s is asked for once more, with what is wrong", async (_what, plan, why) => {
    const { result, model } = await runPlan({
      plan: null,
      script: plannerReplies({
        "Break the task": asPlan(plan as object),
        [again]: asPlan(planOf({ a: "" })),
      }),
    });
    expect(result.status).toBe("COMPLETED");
    expect(model.read(1).at(-1)).toContain(why);
    expect(model.read(1).at(-2)).toMatch(/^ai: \{"subtasks":/);
    expect(model.read(1).at(-2)?.length).toBeLessThan(8100);
  });

  it.each(refused)("%s twice fails the turn", async (_what, plan, why) => {
    const { result, events, model } = await runPlan({
      plan: null,
      script: plannerReplies({
        "Break the task": asPlan(plan as object),
        [again]: asPlan(plan as object),
      }),
    });
    expect([result.status, result.failure?.cause]).toEqual(["FAILED", "invalid_plan"]);
    expect(result.failure?.message).toContain("The model's plan, asked for twice, cannot be run:");
    expect(result.failure?.message).toContain(why);
    expect(model.requests).toHaveLength(2);
    expect(events.filter(({ type }) => type === "subtask_start")).toEqual([]);
  });

  it("is prose is asked for once more", async () => {
    const { result, model } = await runPlan({
      plan: null,
      script: plannerReplies({
        "Break the task": "We should first do a and then b.",
        [again]: asPlan(planOf({ a: "" })),
      }),
    });
    expect(result.output).toEqual({ message: "Joined." });
    expect(model.read(1).slice(-2)).toEqual([
      "ai: We should first do a and then b.",
      expect.stringContaining("- the reply has no plan"),
    ]);
  });

  it("is prose twice fails the turn", async () => {
    const { result } = await runPlan({
      plan: null,
      script: plannerReplies({ "Break the task": "Hm.", [again]: "" }),
    });
    expect([result.status, result.failure?.cause]).toEqual(["FAILED", "invalid_plan"]);
  });
});

describe("max_subtasks", () => {
  it("counts the subtasks of all plans for a task", async () => {
    const { result, model, statuses } = await runPlan({
      plan: planOf({ a: "", b: "" }),
      max_subtasks: 3,
      on_failure: "replan",
      does: ({ id }) => {
        if (id === "b") throw new Error("broken");
        return id;
      },
      script: plannerReplies({
        "The results so far": asPlan(planOf({ c: "", d: "" })),
        [again]: asPlan(planOf({ c: "a" })),
      }),
    });
    expect(result.status).toBe("COMPLETED");
    expect(model.read(0).at(-1)).toContain("At most 1 subtasks.");
    expect(model.read(1).at(-1)).toContain("expected at most 3 with the 2 planned before, got 2");
    expect(await statuses()).toEqual({ a: "done", b: "failed", c: "done" });
  });

  it("has no plan made for gaps where none is left", async () => {
    const { result, events, model, planning } = await runPlan({
      plan: planOf({ a: "", b: "" }),
      max_subtasks: 2,
      does: ({ id }) => {
        if (id === "b") throw new Error("broken");
        return id;
      },
    });
    expect([result.status, model.requests.length]).toEqual(["COMPLETED", 2]);
    const gaps = ['Do b. (subtask "b" failed: broken)'];
    expect(await planning()).toMatchObject({ depth: 0, criteria_met: false, gaps });
    expect(events.filter(({ type }) => type === "gap")).toMatchObject([{ gaps, replans: false }]);
  });

  it("leaves a plan of as many as it allows", async () => {
    const { result, events } = await runPlan({ plan: many(100) });
    expect(result.status).toBe("COMPLETED");
    expect(events.filter(({ type }) => type === "subtask_end")).toHaveLength(100);
  });
});
