import { describe, expect, it } from "vitest";
import { asGaps, asPlan, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

const broken =
  (...ids: readonly string[]) =>
  (task: { readonly id: string }) => {
    if (ids.includes(task.id)) throw new Error(`${task.id} is broken`);
    return `${task.id} done`;
  };
const graph = planOf({ a: "", b: "a", c: "b", d: "b x", x: "", y: "x" });

describe("what depends on a failed subtask", () => {
  it("is skipped all the way down, while the others finish", async () => {
    const { result, planning, statuses } = await runPlan({
      plan: graph,
      does: broken("a"),
      on_failure: "partial",
    });
    expect(result.status).toBe("COMPLETED");
    expect(await statuses()).toEqual({
      a: "failed",
      b: "skipped",
      c: "skipped",
      d: "skipped",
      x: "done",
      y: "done",
    });
    const { a, b, d } = (await planning()).subtasks;
    expect(a?.error).toEqual({ code: "worker_error", message: "a is broken" });
    expect(b).toMatchObject({
      attempts: 0,
      started_at: null,
      result: null,
      error: { code: "skipped", message: 'it needs "a", which failed' },
    });
    expect(d?.error?.message).toBe('it needs "a", which failed');
  });
});

describe("with on_failure partial", () => {
  it("the result is joined from what there is, and says what is missing", async () => {
    const { result, planning, model } = await runPlan({
      plan: planOf({ a: "", b: "" }),
      does: broken("a"),
      on_failure: "partial",
    });
    expect(result.status).toBe("COMPLETED");
    const missing = 'Do a. (subtask "a" failed: a is broken)';
    expect(model.read(0).at(-1)).toContain(`These subtasks gave nothing`);
    expect(model.read(0).at(-1)).toContain(`- ${missing}`);
    expect(await planning()).toMatchObject({ depth: 0, criteria_met: false, gaps: [missing] });
  });

  it("the turn fails where nothing is done at all", async () => {
    const { result, model } = await runPlan({
      plan: planOf({ a: "", b: "a", c: "" }),
      does: broken("a", "c"),
      on_failure: "partial",
    });
    expect([result.status, result.failure?.cause]).toEqual(["FAILED", "subtask_failed"]);
    expect(model.requests).toHaveLength(0);
  });
});

describe("with on_failure fail", () => {
  it("the turn fails with the subtask and its cause, and what is done is kept", async () => {
    const { result, statuses, model } = await runPlan({
      plan: graph,
      does: broken("b"),
      on_failure: "fail",
    });
    expect([result.status, result.failure]).toEqual([
      "FAILED",
      {
        cause: "subtask_failed",
        message:
          'Planner "planner" failed: Subtask "b" of worker "w" failed (worker_error): b is broken',
      },
    ]);
    expect(await statuses()).toMatchObject({ a: "done", b: "failed", c: "skipped", y: "done" });
    expect(model.requests).toHaveLength(0);
  });
});

describe("with on_failure replan", () => {
  it("the model plans for what is missing, with what is done", async () => {
    const runs: string[] = [];
    const { result, planning, model } = await runPlan({
      plan: graph,
      does: (task) => {
        runs.push(task.id);
        return task.id === "again" ? task.results : broken("b")(task);
      },
      script: plannerReplies({ "The results so far": asPlan(planOf({ again: "a y" })) }),
    });
    expect(result.output).toEqual({ message: "Joined." });
    const asked = model.read(0).at(-1);
    expect(asked).toContain('- Do b. (subtask "b" failed: b is broken)');
    expect(asked).toContain('- Do c. (subtask "c" was not begun: it needs "b", which failed)');
    expect(asked).toContain(
      "\nDone already; give the id as a dependency where the result is needed:\n" +
        "- a: Do a.\n- x: Do x.\n- y: Do y.\nUse new ids; those are taken, and these: b, c, d\n",
    );
    expect(asked).toContain("At most 94 subtasks.");
    expect(await planning()).toMatchObject({
      depth: 1,
      criteria_met: true,
      gaps: [],
      subtasks: {
        b: { status: "failed", depth: 0 },
        again: { status: "done", depth: 1, result: { a: "a done", y: "y done" } },
      },
    });
    expect(runs).toEqual(["a", "x", "b", "y", "again"]);
  });

  it("the last plan is joined as it is when it fails too", async () => {
    const { result, planning } = await runPlan({
      plan: planOf({ a: "", b: "" }),
      does: broken("b", "b1", "b2"),
      script: plannerReplies({
        "The results so far": [asPlan(planOf({ b1: "" })), asPlan(planOf({ b2: "" }))],
      }),
    });
    expect(result.status).toBe("COMPLETED");
    expect(await planning()).toMatchObject({
      depth: 2,
      criteria_met: false,
      gaps: ['Do b2. (subtask "b2" failed: b2 is broken)'],
    });
  });

  it("the turn fails when nothing was done by any plan", async () => {
    const { result, planning } = await runPlan({
      plan: planOf({ a: "" }),
      max_depth: 1,
      does: broken("a", "b"),
      script: plannerReplies({ "The results so far": asPlan(planOf({ b: "" })) }),
    });
    expect(result.failure).toMatchObject({ cause: "subtask_failed" });
    expect(result.failure?.message).toContain('Subtask "b"');
    expect((await planning()).depth).toBe(1);
  });

  it("what is done is joined where no sound plan comes for the rest", async () => {
    const { result, planning, model, events } = await runPlan({
      plan: planOf({ a: "", b: "" }),
      max_depth: 1,
      does: broken("b"),
      script: plannerReplies({
        "The results so far": "I give up.",
        "That answer was not accepted": "Still.",
      }),
    });
    expect(result.output).toEqual({ message: "Joined." });
    expect(await planning()).toMatchObject({ criteria_met: false });
    expect(model.read(2).at(-1)).toContain("These subtasks gave nothing");
    // Each announcement of a plan is taken back when none comes.
    const told = events.flatMap((event) => (event.type === "gap" ? [event.replans] : []));
    expect(told).toEqual([true, false, false]);
  });

  it("a gap of the judge beside a failure is planned for with it", async () => {
    const { planning } = await runPlan({
      plan: planOf({ a: "" }),
      script: plannerReplies({
        "Judge the result": [asGaps("an ending"), asGaps()],
        "The results so far": asPlan(planOf({ end: "a" })),
      }),
    });
    expect(await planning()).toMatchObject({ depth: 1, criteria_met: true, gaps: [] });
  });
});
