import { describe, expect, it } from "vitest";
import { executeAgent } from "../../../src/index.ts";
import { asker } from "../../helpers/nested-agents.ts";
import { plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

const plan = planOf({ a: "", b: "a" });

/** Forks and replays of threads with plans, on any database that keeps them. */
export function travelledPlans(threads: PlanningThreads): void {
  /** The checkpoint of the outermost graph from which the planner's node ran. */
  const beforePlanner = async (thread: Awaited<ReturnType<PlanningThreads["begin"]>>) => {
    const { threadId, runtime } = thread;
    const { items } = await runtime.threads.history(threadId);
    const found = items.find(({ nodes }) => nodes.join() === "plan");
    if (found === undefined) throw new Error("the planner never ran");
    return { threadId, checkpointId: found.id };
  };

  describe("an earlier checkpoint of a thread with a plan", () => {
    it("is replayed with every subtask run again", async () => {
      const { log, planner } = loggedWork();
      const thread = await threads.begin();
      await executeAgent(planner, { message: "go", plan }, thread.run);
      const other = await threads.at(thread.threadId);
      const at = await beforePlanner(thread);
      const { status } = await other.runtime.threads.replay(planner, at);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "a", "b"]]);
      expect(statusesOf(await other.subtasks())).toEqual({ a: "done", b: "done" });
    });

    it("is replayed as a new thread, where every subtask runs", async () => {
      const { log, planner } = loggedWork();
      const thread = await threads.begin();
      await executeAgent(planner, { message: "go", plan }, thread.run);
      const done = await thread.subtasks();
      const other = await threads.at(`${thread.threadId} replayed`);
      const { status, threadId } = await other.runtime.threads.replay(planner, {
        ...(await beforePlanner(thread)),
        newThreadId: other.threadId,
      });
      expect([status, threadId, log.begun]).toEqual([
        "COMPLETED",
        other.threadId,
        ["a", "b", "a", "b"],
      ]);
      expect(statusesOf(await other.subtasks())).toEqual({ a: "done", b: "done" });
      expect(await thread.subtasks()).toEqual(done);
    });

    it("is replayed again after that", async () => {
      const { log, planner } = loggedWork();
      const thread = await threads.begin();
      await executeAgent(planner, { message: "go", plan }, thread.run);
      const at = await beforePlanner(thread);
      await thread.runtime.threads.replay(planner, at).catch(() => {});
      log.begun.length = 0;
      const other = await threads.at(thread.threadId);
      const { status } = await other.runtime.threads.replay(planner, at);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b"]]);
    });

    it("is forked, and the fork runs every subtask again", async () => {
      const { log, planner } = loggedWork();
      const thread = await threads.begin();
      await executeAgent(planner, { message: "go", plan }, thread.run);
      const other = await threads.at(`${thread.threadId} forked`);
      await other.runtime.threads.fork({
        ...(await beforePlanner(thread)),
        newThreadId: other.threadId,
      });
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "a", "b"]]);
    });

    it("is replayed while the plan that came of it has not ended, from its beginning", async () => {
      const { log, hang, planner } = loggedWork();
      const thread = await threads.begin();
      hang.add("b");
      void executeAgent(planner, { message: "go", plan }, thread.run);
      await log.began("b");
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status } = await other.runtime.threads.replay(planner, await beforePlanner(thread));
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "a", "b"]]);
    });
  });

  describe("a replay that is cut off", () => {
    it("goes on with what it had done itself", async () => {
      const { log, hang, planner } = loggedWork();
      const thread = await threads.begin();
      await executeAgent(planner, { message: "go", plan }, thread.run);
      const at = await beforePlanner(thread);
      log.begun.length = 0;
      hang.add("b");
      const second = await threads.at(thread.threadId);
      void second.runtime.threads.replay(planner, at);
      await log.began("b");
      hang.clear();
      const third = await threads.at(thread.threadId);
      const { status } = await executeAgent(planner, null, third.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "b"]]);
    });
  });

  describe("a thread whose plan waits for a person", () => {
    it("is forked as it stands; each of both is answered for itself", async () => {
      const { log, planner } = loggedWork({ workers: [asker] });
      const waits = {
        subtasks: [
          ...planOf({ x: "" }, { worker: "asker" }).subtasks,
          ...planOf({ a: "", b: "x" }).subtasks,
        ],
      };
      const thread = await threads.begin(plannerReplies({ "Draft ": "Which" }));
      const first = await executeAgent(planner, { message: "go", plan: waits }, thread.run);
      expect(first.interrupts).toHaveLength(1);
      const other = await threads.at(
        `${thread.threadId} forked`,
        plannerReplies({ "Write ": "forked" }),
      );
      await other.runtime.threads.fork({
        threadId: thread.threadId,
        newThreadId: other.threadId,
      });
      const forked = await executeAgent(planner, null, { ...other.run, answer: "1" });
      expect([forked.status, log.begun]).toEqual(["COMPLETED", ["a", "b"]]);

      const back = await threads.at(thread.threadId, plannerReplies({ "Write ": "own" }));
      const own = await executeAgent(planner, null, { ...back.run, answer: "2" });
      expect([own.status, log.begun]).toEqual(["COMPLETED", ["a", "b", "b"]]);
      expect((await back.subtasks())["x"]).toMatchObject({ result: "own" });
      expect((await other.subtasks())["x"]).toMatchObject({ result: "forked" });
    });
  });
}
