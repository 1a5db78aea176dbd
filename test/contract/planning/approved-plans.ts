import { describe, expect, it } from "vitest";
import { executeAgent } from "../../../src/index.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { asGaps, asPlan, plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
import { illegalMoves } from "../../helpers/status-moves.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

const first = planOf({ a: "", b: "a" });
const second = planOf({ c: "" });

/** Plans that a person approves before they run, on any database that keeps them. */
export function approvedPlans(threads: PlanningThreads): void {
  const begin = async (
    options: Parameters<typeof loggedWork>[0] = {},
    script: readonly ScriptedReply[] = plannerReplies({ "Break the task": asPlan(first) }),
    input: object = {},
  ) => {
    const work = loggedWork({ approve: true, ...options });
    const thread = await threads.begin(script);
    const asked = await executeAgent(work.planner, { message: "go", ...input }, thread.run);
    return { ...work, thread, asked };
  };

  describe("a plan that needs approval", () => {
    it("waits with the plan, runs nothing before, and runs once it is approved", async () => {
      const { planner, log, thread, asked } = await begin();
      expect(asked.status).toBe("AWAITING_HUMAN");
      expect(asked.interrupts).toMatchObject([
        {
          kind: "edit",
          node: "approve",
          within: ["planner"],
          prompt: "May planner run this plan?",
          proposed: first,
          plan_limits: { max_subtasks: 100, workers: ["w"], earlier: {} },
        },
      ]);
      expect(log.begun).toEqual([]);
      expect(await thread.runtime.threads.plans(thread.threadId)).toEqual([]);

      // Another process, whose model has nothing to say about a plan.
      const other = await threads.at(thread.threadId, plannerReplies());
      const runs = [thread.events];
      const again = await executeAgent(planner, null, other.run);
      expect(again.interrupts).toEqual(asked.interrupts);
      runs.push(other.events.splice(0));
      const { hash } = asked.interrupts[0]!;
      const answer = { decision: "approve", hash };
      const done = await executeAgent(planner, null, { ...other.run, answer });
      expect([done.status, log.begun]).toEqual(["COMPLETED", ["a", "b"]]);
      expect(statusesOf(await other.subtasks())).toEqual({ a: "done", b: "done" });
      expect([...runs, other.events].map(illegalMoves)).toEqual([[], [], []]);
      const inside = thread.events.flatMap((event) =>
        event.type === "status" && event.within.length > 0 ? [event.status] : [],
      );
      expect(inside.slice(-2)).toEqual(["PLANNING", "AWAITING_HUMAN"]);
    });

    it("runs as it was edited, and refuses an edit that cannot be run without writing anything", async () => {
      const { planner, log, thread } = await begin({ max_subtasks: 3 });
      const { runtime, threadId } = thread;
      const before = await runtime.threads.stateAt({ threadId });
      const refused = [
        [planOf({ x: "y", y: "x" }), /cycle/],
        [{ plan: planOf({ x: "none" }) }, /"none", which does not exist/],
        [planOf({ x: "" }, { worker: "other" }), /worker "other", which does not exist/],
        [planOf({ p: "", q: "", r: "", s: "" }), /at most 3/],
        [{ subtasks: [] }, /at least one subtask/],
        [{ plan: first, extra: 1 }, /expected an array/],
        [["a"], /got \["a"\]/],
      ] as const;
      for (const [value, problem] of refused) {
        for (const answer of [value, { decision: "edit", value }]) {
          const given = executeAgent(planner, null, { ...thread.run, answer });
          await expect(given).rejects.toMatchObject({ code: "invalid_answer" });
          await expect(given).rejects.toThrow(problem);
        }
      }
      expect((await runtime.threads.stateAt({ threadId })).id).toBe(before.id);
      const answer = { plan: planOf({ x: "", y: "x" }) };
      const done = await executeAgent(planner, null, { ...thread.run, answer });
      expect([done.status, log.begun]).toEqual(["COMPLETED", ["x", "y"]]);
    });

    it("is planned again with the reason of a rejection, until max_attempts plans were rejected", async () => {
      const { planner, log, thread } = await begin(
        { execution_config: { max_attempts: 2 } },
        plannerReplies({ "Break the task": [asPlan(first), asPlan(second)] }),
      );
      const answer = { decision: "reject", reason: "b is not needed" };
      const again = await executeAgent(planner, null, { ...thread.run, answer });
      expect(again.interrupts).toMatchObject([{ proposed: second }]);
      const [, request] = thread.model.requests;
      const read = request!.messages.at(-1)!.text;
      expect(read).toContain(
        "A person rejected this plan. Plan it differently:\na: Do a.\nb: Do b. (after a)",
      );
      expect(read).toContain("- b is not needed");
      const last = await executeAgent(planner, null, { ...thread.run, answer: false });
      expect(last).toMatchObject({
        status: "FAILED",
        failure: {
          cause: "plan_rejected",
          message: 'Planner "planner" failed: All 2 plans were rejected.',
        },
      });
      expect(log.begun).toEqual([]);
    });

    it("fails the turn if it was supplied and is rejected", async () => {
      const { planner, thread, asked } = await begin({}, plannerReplies(), { plan: first });
      expect(asked.interrupts).toMatchObject([{ proposed: first }]);
      const answer = { decision: "reject", reason: "too long" };
      const { failure } = await executeAgent(planner, null, { ...thread.run, answer });
      expect(failure).toMatchObject({ cause: "plan_rejected" });
      expect(failure?.message).toContain("The plan was rejected: too long");
    });

    it("is asked for again for gaps, without which the results so far are the answer", async () => {
      const { planner, log, thread } = await begin(
        {},
        plannerReplies({
          "Break the task": asPlan(first),
          "Judge the result": asGaps("c is missing"),
          "The results so far": asPlan(second),
        }),
      );
      const runs = [thread.events.splice(0)];
      const { interrupts } = await executeAgent(planner, null, { ...thread.run, answer: true });
      runs.push(thread.events.splice(0));
      expect(interrupts).toMatchObject([
        {
          prompt: "May planner run this plan for what is missing?",
          proposed: second,
          plan_limits: { earlier: { a: { status: "done" }, b: { status: "done" } } },
        },
      ]);
      const done = await executeAgent(planner, null, { ...thread.run, answer: false });
      expect([done.status, done.output]).toEqual(["COMPLETED", { message: "Joined." }]);
      expect(log.begun).toEqual(["a", "b"]);
      expect([...runs, thread.events].map(illegalMoves)).toEqual([[], [], []]);
    });

    it("waits for an answer of its own in a fork, and after a replay and a cancellation", async () => {
      const { planner, log, thread } = await begin();
      const { runtime, threadId } = thread;
      const { threadId: fork } = await runtime.threads.fork({ threadId });
      const inFork = await executeAgent(planner, null, { ...thread.run, threadId: fork });
      expect(inFork.interrupts).toMatchObject([{ proposed: first }]);
      await executeAgent(planner, null, { ...thread.run, threadId: fork, answer: true });
      expect(log.begun).toEqual(["a", "b"]);
      await runtime.threads.cancel(threadId);
      const resumed = await executeAgent(planner, null, thread.run);
      expect(resumed.interrupts).toMatchObject([{ proposed: first }]);
      const { items } = await runtime.threads.history(threadId);
      const start = items.findLast(({ nodeOutcomes }) => nodeOutcomes["planner"] === "interrupted");
      const replayed = await runtime.threads.replay(planner, { threadId, checkpointId: start!.id });
      expect(replayed.interrupts).toMatchObject([{ proposed: first }]);
      expect(log.begun).toEqual(["a", "b"]);
    });
  });
}
