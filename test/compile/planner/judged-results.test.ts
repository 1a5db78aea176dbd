import { describe, expect, it } from "vitest";
import { definePlanner } from "../../../src/index.ts";
import type { AgentEvent } from "../../../src/state/events.ts";
import type { StepRecord } from "../../../src/state/step-record.ts";
import { asGaps, asPlan, codeWorker, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

const plan = planOf({ a: "" });
const gapsIn = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === "gap" ? [[event.gaps, event.replans]] : []));

describe("gaps that the judge finds", () => {
  it("lead to a plan for them alone, whose results are joined with those before", async () => {
    const runs: string[] = [];
    const { result, planning, model, events } = await runPlan({
      plan,
      does: ({ id, results }) => {
        runs.push(id);
        return id === "b" ? results : `${id} done`;
      },
      script: plannerReplies({
        "Give the result": ["First.", "Second."],
        "Judge the result": [asGaps("the ending"), asGaps()],
        "The results so far": asPlan(planOf({ b: "a" })),
      }),
    });
    expect([result.output, runs]).toEqual([{ message: "Second." }, ["a", "b"]]);
    const asked = model.read(2).at(-1) ?? "";
    expect(asked).toMatch(
      /^human: The results so far leave gaps\. Plan subtasks for these gaps only/,
    );
    expect(asked).toContain("Gaps:\n- the ending\nDone already");
    expect(model.read(3).join("\n")).toContain('{"a":"a done"}');
    expect(await planning()).toMatchObject({
      depth: 1,
      gaps: [],
      criteria_met: true,
      subtasks: { a: { depth: 0 }, b: { depth: 1, result: { a: "a done" } } },
    });
    expect(gapsIn(events)).toEqual([[["the ending"], true]]);
  });

  it("are planned for max_depth times; then the result with the fewest is given", async () => {
    const { result, planning, events, model } = await runPlan({
      plan,
      max_depth: 2,
      script: plannerReplies({
        "Give the result": ["First.", "Second.", "Third."],
        "Judge the result": [asGaps("x", "y"), asGaps("x"), asGaps("x", "y", "z")],
        "The results so far": [asPlan(planOf({ b: "" })), asPlan(planOf({ c: "" }))],
      }),
    });
    expect([result.status, result.output]).toEqual(["COMPLETED", { message: "Second." }]);
    expect(await planning()).toMatchObject({ depth: 2, criteria_met: false, gaps: ["x"] });
    expect(gapsIn(events)).toEqual([
      [["x", "y"], true],
      [["x"], true],
      [["x"], false],
    ]);
    expect(model.requests).toHaveLength(8);
  });

  it("leave the newest of two results that are as good", async () => {
    const { result } = await runPlan({
      plan,
      max_depth: 1,
      script: plannerReplies({
        "Give the result": ["First.", "Second."],
        "Judge the result": [asGaps("x"), asGaps("y")],
        "The results so far": asPlan(planOf({ b: "" })),
      }),
    });
    expect(result.output).toEqual({ message: "Second." });
  });

  it("are only told with max_depth 0", async () => {
    const { result, planning, model } = await runPlan({
      plan,
      max_depth: 0,
      script: plannerReplies({ "Judge the result": asGaps("x") }),
    });
    expect(result.output).toEqual({ message: "Joined." });
    expect(await planning()).toMatchObject({ depth: 0, criteria_met: false, gaps: ["x"] });
    expect(model.requests).toHaveLength(2);
  });

  it("leave the result that there is when no sound plan comes for them", async () => {
    const { result, planning, model, events } = await runPlan({
      plan,
      script: plannerReplies({
        "Judge the result": asGaps("x"),
        "The results so far": asPlan({ subtasks: [] }),
        "That answer was not accepted": "No.",
      }),
    });
    expect([result.status, result.output]).toEqual(["COMPLETED", { message: "Joined." }]);
    expect(await planning()).toMatchObject({ criteria_met: false, gaps: ["x"] });
    expect(model.requests).toHaveLength(4);
    expect(gapsIn(events)).toEqual([
      [["x"], true],
      [["x"], false],
    ]);
  });
});

describe("what failed before the last plan", () => {
  const failing = {
    plan: planOf({ a: "", b: "" }),
    does: ({ id }: { readonly id: string }) => {
      if (id === "a") throw new Error("it is gone");
      return id;
    },
  };
  const gap = 'Do a. (subtask "a" failed: it is gone)';
  const planned = { "The results so far": asPlan(planOf({ c: "" })) };

  it("is told to who joins and judges, who decides whether it is still missing", async () => {
    const { model, planning } = await runPlan({
      ...failing,
      max_depth: 1,
      script: plannerReplies({ ...planned, "Judge the result": asGaps(gap) }),
    });
    const [joining, judging] = [model.read(1).at(-1), model.read(2).at(-1)];
    expect(joining).toContain(
      `\nThese were missing before; add what there is now, or say that it is still missing:\n- ${gap}`,
    );
    expect(joining).not.toContain("gave nothing");
    expect(judging).toContain(
      `\nThese were missing before; list those that still are, and what else is:\n- ${gap}\n`,
    );
    expect(await planning()).toMatchObject({ criteria_met: false, gaps: [gap] });
  });

  it("is no gap where the verdict does not say so", async () => {
    const { planning } = await runPlan({ ...failing, script: plannerReplies(planned) });
    expect(await planning()).toMatchObject({ depth: 1, criteria_met: true, gaps: [] });
  });

  it("is not told twice where no plan came for it", async () => {
    const { model, planning } = await runPlan({
      ...failing,
      max_depth: 1,
      script: plannerReplies({
        "The results so far": "No.",
        "That answer was not accepted": "No.",
      }),
    });
    expect(model.read(2).at(-1)).toContain(`gave nothing; say what is missing for it:\n- ${gap}`);
    for (const at of [2, 3]) expect(model.read(at).at(-1)).not.toContain("missing before");
    expect(await planning()).toMatchObject({ criteria_met: false, gaps: [gap] });
  });
});

describe("a verdict", () => {
  it.each([
    ["prose", "Much is missing, I think."],
    ["nothing", ""],
    ["of another form", { calls: [{ name: "judge", args: { verdict: "bad" } }] }],
    ["gaps that are no list", { calls: [{ name: "judge", args: { gaps: "all" } }] }],
    ["gaps that are no texts", { calls: [{ name: "judge", args: { gaps: [1, null] } }] }],
    ["a call of something else", { calls: [{ name: "other", args: {} }] }],
  ])("that cannot be read is asked for once more: %s", async (_what, verdict) => {
    const again = "That answer was not accepted";
    const read = await runPlan({
      plan,
      max_depth: 0,
      script: plannerReplies({ "Judge the result": verdict, [again]: asGaps("x") }),
    });
    expect(read.model.requests).toHaveLength(3);
    expect(read.model.read(2).at(-1)).toMatch(/Reply with one JSON object: \{"gaps": \[/);
    expect(await read.planning()).toMatchObject({ criteria_met: false, gaps: ["x"] });

    const unread = await runPlan({
      plan,
      script: plannerReplies({ "Judge the result": verdict, [again]: verdict }),
    });
    expect([unread.model.requests.length, unread.result.output]).toEqual([
      3,
      { message: "Joined." },
    ]);
    expect(await unread.planning()).toMatchObject({ depth: 0, criteria_met: null, gaps: [] });
    const record = ((await unread.inside())["steps"] as StepRecord[]).at(-1);
    expect(record).toMatchObject({ thought: "Not judged.", usage: { llm_calls: 2 } });
    expect(record?.problem).toMatch(/^It could not be judged: /);
  });

  it("that cannot be read leaves what failed as gaps", async () => {
    const { planning } = await runPlan({
      plan: planOf({ a: "", b: "" }),
      on_failure: "partial",
      does: ({ id }) => {
        if (id === "a") throw new Error("it is gone");
        return id;
      },
      script: plannerReplies({ "Judge the result": "No.", "That answer was not": "No." }),
    });
    expect(await planning()).toMatchObject({
      criteria_met: false,
      gaps: ['Do a. (subtask "a" failed: it is gone)'],
    });
  });

  it("that cannot be read leaves the newer result, which has no gaps that are known", async () => {
    const { planning, result, events } = await runPlan({
      plan,
      script: plannerReplies({
        "Give the result": ["First.", "Second."],
        "Judge the result": [asGaps("x"), "No."],
        "That answer was not": "No.",
        "The results so far": asPlan(planOf({ b: "" })),
      }),
    });
    expect(result.output).toEqual({ message: "Second." });
    expect(await planning()).toMatchObject({ depth: 1, criteria_met: null, gaps: [] });
    expect(gapsIn(events)).toEqual([[["x"], true]]);
  });

  it("on a result that is too long to be judged is none", async () => {
    const { planning, result, model, inside } = await runPlan({
      plan,
      context_config: { budget: 3000 },
      script: plannerReplies({ "Give the result": "x".repeat(40_000) }),
    });
    expect([result.status, model.requests.length]).toEqual(["COMPLETED", 1]);
    expect(await planning()).toMatchObject({ criteria_met: null, gaps: [] });
    const record = ((await inside())["steps"] as StepRecord[]).at(-1);
    expect(record?.problem).toMatch(/^It could not be judged: /);
  });

  it("of very many long gaps is cut", async () => {
    const gaps = Array.from({ length: 500 }, (_, at) => `${at} ${"x".repeat(5000)}`);
    const { planning } = await runPlan({
      plan,
      max_depth: 0,
      script: plannerReplies({ "Judge the result": asGaps(...gaps) }),
    });
    const kept = (await planning()).gaps;
    expect(kept).toHaveLength(20);
    expect(Math.max(...kept.map(({ length }) => length))).toBeLessThan(1100);
  });
});

describe("a result that is joined to nothing", () => {
  it("fails the attempt, and is joined again in the next", async () => {
    let runs = 0;
    const { result } = await runPlan({
      plan,
      execution_config: { max_attempts: 2 },
      does: () => (runs += 1),
      script: plannerReplies({ "Give the result": ["  ", "Joined."] }),
    });
    expect([result.output, runs]).toEqual([{ message: "Joined." }, 1]);
  });
});

describe("plans for gaps of planners within each other", () => {
  /** Every judge finds a gap: how often plans are made says how deep it may go. */
  const rounds = async (outermost: number, inner: number) => {
    let made = 0;
    const next = () => asPlan(planOf({ [`n${(made += 1)}`]: "" }, { worker: undefined }));
    const planner = definePlanner({
      name: "inner",
      description: "Plans.",
      max_depth: inner,
      workers: [codeWorker(() => "ok")],
    });
    const { result, events } = await runPlan({
      workers: [planner],
      max_depth: outermost,
      plan: planOf({ top: "" }, { worker: "inner" }),
      script: plannerReplies(
        {
          "Judge the result": asGaps("more"),
          "Break the task": Array.from({ length: 50 }, next),
          "The results so far": Array.from({ length: 50 }, next),
        },
        200,
      ),
    });
    expect(result.status).toBe("COMPLETED");
    const plans = events.filter(({ type }) => type === "plan");
    const within = (levels: number) => plans.filter(({ within: path }) => path.length === levels);
    return { outer: within(1).length, inner: within(4).length };
  };

  it.each([
    // The outermost plans once and max_depth times more; what is within it has one less for each.
    [0, 5, { outer: 1, inner: 1 }],
    [1, 5, { outer: 2, inner: 2 }],
    [2, 5, { outer: 3, inner: 4 }],
    [2, 0, { outer: 3, inner: 3 }],
  ])("stay within %i of the outermost, though the inner one has %i", async (outer, inner, made) => {
    expect(await rounds(outer, inner)).toEqual(made);
  });
});
