import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asGaps, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

const options = {
  execution_config: { max_attempts: 2 },
  output_schema: z.object({ total: z.number() }),
};

describe("a planner with an output schema", () => {
  it("gives an output that fits it", async () => {
    const { result, model } = await runPlan({
      ...options,
      plan: planOf({ a: "" }),
      script: plannerReplies({ "Give the result": '{ "total": 3 }' }),
    });
    expect(result.output).toEqual({ total: 3 });
    expect(model.read(0).at(-1)).toContain('"total"');
  });

  it("joins again in a second attempt, with the plan and the results that there are", async () => {
    let runs = 0;
    const { result, planning, model } = await runPlan({
      ...options,
      plan: planOf({ a: "", b: "a" }),
      does: ({ id }) => `${id}${(runs += 1)}`,
      script: plannerReplies({
        "Give the result": ['{ "total": "three" }', '{ "total": 3 }'],
      }),
    });
    expect([result.status, result.output, runs]).toEqual(["COMPLETED", { total: 3 }, 2]);
    expect(model.requests).toHaveLength(4);
    expect(model.read(2).join("\n")).toContain("b2");
    expect(model.read(2).join("\n")).toContain("expected number, received string");
    expect((await planning()).subtasks).toMatchObject({
      a: { status: "done", result: "a1" },
      b: { status: "done", result: "b2" },
    });
  });

  it("fails once its attempts are used up, and never makes its outer turn plan again", async () => {
    let runs = 0;
    const { result } = await runPlan({
      ...options,
      plan: planOf({ a: "" }),
      does: () => (runs += 1),
      script: plannerReplies({ "Give the result": "nothing" }),
    });
    expect([result.status, result.failure?.cause, runs]).toEqual([
      "FAILED",
      "attempts_exhausted",
      1,
    ]);
  });

  it("judges each attempt by itself", async () => {
    const { result, planning } = await runPlan({
      ...options,
      max_depth: 0,
      plan: planOf({ a: "" }),
      script: plannerReplies({
        "Give the result": ['{ "total": "three" }', '{ "total": 3 }'],
        "Judge the result": [asGaps(), asGaps("more")],
      }),
    });
    expect(result.output).toEqual({ total: 3 });
    expect(await planning()).toMatchObject({ criteria_met: false, gaps: ["more"] });
  });
});
