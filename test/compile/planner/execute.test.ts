import { describe, expect, it } from "vitest";
import { definePlanner } from "../../../src/index.ts";
import { codeWorker, plannerReplies, plannerThread, runPlan } from "../../helpers/run-plan.ts";
import { manualWork } from "../../helpers/manual-work.ts";
import { planOf } from "../../helpers/subtasks.ts";

describe("the subtasks of a plan", () => {
  it("begin when their own dependencies are done, whatever else of the level still runs", async () => {
    const work = manualWork();
    const { start } = await plannerThread({
      plan: planOf({ quick: "", slow: "", after: "quick", last: "after slow" }),
      does: work.run,
    });
    const running = start();
    await work.begun("quick", "slow");
    work.end("quick");
    await work.begun("after");
    expect(work.running).toEqual(["slow", "after"]);
    work.end("after");
    work.end("slow");
    await work.begun("last");
    work.end("last");
    expect((await running).status).toBe("COMPLETED");
  });

  it("begin by the longest way that remains, then in the order of the plan", async () => {
    const order: string[] = [];
    await runPlan({
      plan: planOf({ x: "", y: "", a: "", b: "a", c: "b", z: "", d: "", e: "d" }),
      max_parallel: 1,
      does: ({ id }) => void order.push(id),
    });
    expect(order).toEqual(["a", "b", "d", "x", "y", "c", "z", "e"]);
  });

  it("are never more at once than max_parallel, and as many where they can be", async () => {
    const work = manualWork({ most: 3 });
    const ids = Array.from({ length: 12 }, (_, at) => `s${at}`);
    const { result } = await runPlan({
      plan: planOf(Object.fromEntries(ids.map((id) => [id, ""]))),
      max_parallel: 3,
      does: work.run,
    });
    expect([result.status, work.most]).toEqual(["COMPLETED", 3]);
  });

  it("share max_parallel with the subtasks of planners among the workers", async () => {
    const work = manualWork({ most: 3 });
    const wide = planOf(Object.fromEntries(["p", "q", "r", "s", "t", "u"].map((id) => [id, ""])));
    const inner = definePlanner({
      name: "inner",
      description: "Plans.",
      max_parallel: 5,
      workers: [codeWorker(work.run)],
    });
    const { result } = await runPlan({
      workers: [inner, codeWorker(work.run)],
      max_parallel: 3,
      plan: {
        subtasks: [
          ...planOf({ a: "", b: "" }, { worker: "inner" }).subtasks,
          ...planOf({ c: "", d: "", e: "" }).subtasks,
        ],
      },
      script: plannerReplies({
        "Break the task": { calls: [{ name: "plan", args: wide }] },
      }),
    });
    expect([result.status, work.most, work.ran]).toEqual(["COMPLETED", 3, 15]);
  });

  it("are done by planners three levels deep with one place for all", async () => {
    const work = manualWork({ most: 1 });
    const nested = (level: number): ReturnType<typeof definePlanner> =>
      definePlanner({
        name: `level${level}`,
        description: "Plans.",
        workers: level === 0 ? [codeWorker(work.run)] : [nested(level - 1)],
      });
    const chain = {
      calls: [{ name: "plan", args: planOf({ a: "", b: "" }, { worker: undefined }) }],
    };
    const { result } = await runPlan({
      workers: [nested(1)],
      max_parallel: 1,
      plan: planOf({ a: "", b: "" }, { worker: "level1" }),
      script: plannerReplies({ "Break the task": chain }),
    });
    expect([result.status, work.most, work.ran]).toEqual(["COMPLETED", 1, 8]);
  });
});
