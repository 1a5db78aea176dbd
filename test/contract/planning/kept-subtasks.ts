import { describe, expect, it } from "vitest";
import { definePlanner, executeAgent } from "../../../src/index.ts";
import { asPlan, codeWorker, plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

/** What is kept of a plan while it runs, and taken up when its process is gone. */
export function keptSubtasks(threads: PlanningThreads): void {
  describe("the subtasks of a plan whose process is gone", () => {
    it("are stored with their results before what depends on them begins", async () => {
      const seen: unknown[] = [];
      const thread = await threads.begin();
      const planner = definePlanner({
        workers: [
          codeWorker(async ({ id }) => {
            const stored = await (await threads.at(thread.threadId)).subtasks();
            const results = Object.entries(stored).map(([one, { result }]) => [one, result]);
            seen.push([id, Object.fromEntries(results)]);
            return `${id} done`;
          }),
        ],
      });
      const plan = planOf({ a: "", b: "a", c: "b" });
      const { status } = await executeAgent(planner, { message: "go", plan }, thread.run);
      expect(status).toBe("COMPLETED");
      expect(seen).toEqual([
        ["a", { a: null, b: null, c: null }],
        ["b", { a: "a done", b: null, c: null }],
        ["c", { a: "a done", b: "b done", c: null }],
      ]);
    });

    it("are not run again by whoever goes on, and are counted", async () => {
      const thread = await threads.begin();
      const { log, hang, planner } = loggedWork();
      hang.add("stuck");
      const plan = planOf({ a: "", b: "a", stuck: "b", c: "b stuck" });
      void executeAgent(planner, { message: "go", plan }, thread.run);
      await log.began("stuck");

      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 2]);
      expect(log.begun).toEqual(["a", "b", "stuck", "stuck", "c"]);
      expect(await other.subtasks()).toMatchObject({
        a: { status: "done", attempts: 1, result: { of: "a", from: [] } },
        b: { status: "done", attempts: 1, result: { of: "b", from: ["a"] } },
        stuck: { status: "done", attempts: 1 },
        c: { status: "done", result: { of: "c", from: ["b", "stuck"] } },
      });
    });

    it("are run by the third process when the second is gone too", async () => {
      const thread = await threads.begin();
      const { log, hang, planner } = loggedWork();
      hang.add("b");
      const plan = planOf({ a: "", b: "a", c: "b", d: "c" });
      void executeAgent(planner, { message: "go", plan }, thread.run);
      await log.began("b");
      hang.clear();
      hang.add("d");
      void executeAgent(planner, null, (await threads.at(thread.threadId)).run);
      await log.began("d");
      hang.clear();
      const third = await threads.at(thread.threadId);
      const { status } = await executeAgent(planner, null, third.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "b", "c", "d", "d"]]);
    });

    it("are told at once by whoever goes on", async () => {
      const thread = await threads.begin();
      const { log, hang, planner } = loggedWork();
      hang.add("stuck");
      const input = { message: "go", plan: planOf({ a: "", stuck: "a" }) };
      void executeAgent(planner, input, thread.run);
      await log.began("stuck");
      hang.clear();
      const other = await threads.at(thread.threadId);
      await executeAgent(planner, null, other.run);
      const [first] = other.events.flatMap((event) => (event.type === "plan" ? [event] : []));
      expect(statusesOf(first?.subtasks ?? {})).toEqual({ a: "done", stuck: "pending" });
    });

    it("are not planned again by the model", async () => {
      const script = plannerReplies({ "Break the task": asPlan(planOf({ a: "", stuck: "a" })) });
      const thread = await threads.begin(script);
      const { log, hang, planner } = loggedWork();
      hang.add("stuck");
      void executeAgent(planner, { message: "go" }, thread.run);
      await log.began("stuck");
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 3]);
      expect(log.begun).toEqual(["a", "stuck", "stuck"]);
    });

    it("stay failed and skipped", async () => {
      const thread = await threads.begin();
      const { log, hang, fail, planner } = loggedWork({ on_failure: "partial" });
      hang.add("stuck");
      fail.add("a");
      const input = { message: "go", plan: planOf({ a: "", b: "a", ok: "", stuck: "ok" }) };
      void executeAgent(planner, input, thread.run);
      await log.began("stuck");
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "ok", "stuck", "stuck"]]);
      expect(statusesOf(await other.subtasks())).toEqual({
        a: "failed",
        b: "skipped",
        ok: "done",
        stuck: "done",
      });
    });

    it("are kept within a planner that is a worker", async () => {
      const inside = planOf({ deep: "", stuck: "deep" });
      const thread = await threads.begin(plannerReplies({ "Break the task": asPlan(inside) }));
      const { log, hang, planner: inner } = loggedWork({ name: "inner", description: "Plans." });
      const planner = definePlanner({ workers: [inner], execution_config: { max_attempts: 1 } });
      hang.add("stuck");
      const plan = planOf({ top: "" }, { worker: "inner" });
      void executeAgent(planner, { message: "go", plan }, thread.run);
      await log.began("stuck");
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 5]);
      expect(log.begun).toEqual(["deep", "stuck", "stuck"]);
    });

    it("are kept of a plan for gaps beside those of the plan before", async () => {
      const thread = await threads.begin(
        plannerReplies({ "The results so far": asPlan(planOf({ more: "a", stuck: "more" })) }),
      );
      const { log, hang, fail, planner } = loggedWork();
      fail.add("b");
      hang.add("stuck");
      const input = { message: "go", plan: planOf({ a: "", b: "a" }) };
      void executeAgent(planner, input, thread.run);
      await log.began("stuck");
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 3]);
      expect(log.begun).toEqual(["a", "b", "more", "stuck", "stuck"]);
    });
  });
}
