import { describe, expect, it } from "vitest";
import { defineAgent, definePlanner, executeAgent } from "../../../src/index.ts";
import { asPlan, plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

const plan = planOf({ a: "", b: "a", stuck: "b", c: "stuck" });

/** Turns that end in the middle of a plan, on any database that keeps them. */
export function cutOffPlans(threads: PlanningThreads): void {
  describe("a turn that ends in the middle of its plan", () => {
    it("is FAILED when its time is over, with what is done kept", async () => {
      const { log, hang, planner } = loggedWork({
        execution_config: { max_attempts: 1, timeout_seconds: 60 },
        timeout_seconds: 3600,
      });
      hang.add("stuck");
      const thread = await threads.begin();
      const running = executeAgent(planner, { message: "go", plan }, thread.run);
      await log.began("stuck");
      thread.clock.advance(60_000);
      const { status, failure } = await running;
      expect([status, failure?.cause]).toEqual(["FAILED", "turn_timeout"]);
      expect(statusesOf(await thread.subtasks())).toMatchObject({
        a: "done",
        b: "done",
        c: "pending",
      });
    });

    it("is CANCELLED when it is cancelled, with what is done kept", async () => {
      const { log, hang, planner } = loggedWork();
      hang.add("stuck");
      const thread = await threads.begin();
      const cancel = new AbortController();
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go", plan }, run);
      await log.began("stuck");
      cancel.abort();
      const { status, failure } = await running;
      expect([status, failure]).toEqual(["CANCELLED", null]);
      expect(statusesOf(await thread.subtasks())).toMatchObject({ a: "done", b: "done" });
      expect(log.begun).toEqual(["a", "b", "stuck"]);
    });

    it("has the signals of its code aborted, and the turns of its agents CANCELLED", async () => {
      const aborted: string[] = [];
      let ask = () => {};
      const asked = new Promise<void>((resolve) => (ask = resolve));
      const hanging: ScriptedReply = (_request, config) =>
        new Promise((_resolve, reject) => {
          config.signal?.addEventListener("abort", () => {
            aborted.push("agent");
            reject(config.signal?.reason as Error);
          });
          ask();
        });
      const agent = defineAgent({ name: "agent", description: "Helps." });
      const code = {
        name: "w",
        description: "Waits.",
        run: ({ signal }: { signal: AbortSignal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              aborted.push("code");
              resolve("late");
            });
          }),
      };
      const planner = definePlanner({ workers: [agent, code] });
      const both = {
        subtasks: [
          ...planOf({ a: "" }, { worker: "agent" }).subtasks,
          ...planOf({ b: "" }).subtasks,
        ],
      };
      const thread = await threads.begin([hanging]);
      const cancel = new AbortController();
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go", plan: both }, run);
      await asked;
      cancel.abort();
      expect((await running).status).toBe("CANCELLED");
      expect(aborted.toSorted()).toEqual(["agent", "code"]);
      const done = thread.events.filter(({ type }) => type === "done");
      expect(
        done.map((event) => [event.within.join("/"), "status" in event && event.status]),
      ).toEqual([
        ["planner/execute/a", "CANCELLED"],
        ["planner", "CANCELLED"],
        ["", "CANCELLED"],
      ]);
    });

    it("waits for no pause before another attempt", async () => {
      let failed = () => {};
      const once = new Promise<void>((resolve) => (failed = resolve));
      const busy = {
        name: "w",
        description: "Is busy.",
        run: () => {
          failed();
          throw Object.assign(new Error("busy"), { status: 503 });
        },
      };
      const planner = definePlanner({ workers: [busy] });
      const thread = await threads.begin();
      const cancel = new AbortController();
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go", plan: planOf({ a: "" }) }, run);
      await once;
      while (!thread.events.some(({ type }) => type === "subtask_wait")) {
        await new Promise(setImmediate);
      }
      cancel.abort();
      expect((await running).status).toBe("CANCELLED");
    });
  });

  describe("a cancelled turn that is resumed", () => {
    it("runs no finished subtask again", async () => {
      const { log, hang, planner } = loggedWork();
      hang.add("stuck");
      const thread = await threads.begin();
      const cancel = new AbortController();
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go", plan }, run);
      await log.began("stuck");
      cancel.abort();
      await running;
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 2]);
      expect(log.begun).toEqual(["a", "b", "stuck", "stuck", "c"]);
      expect(statusesOf(await other.subtasks())).toEqual({
        a: "done",
        b: "done",
        stuck: "done",
        c: "done",
      });
    });

    it("runs none again when it was cancelled twice", async () => {
      const { log, hang, planner } = loggedWork();
      const thread = await threads.begin();
      const cancelAt = async (id: string, input: object | null) => {
        hang.clear();
        hang.add(id);
        const cancel = new AbortController();
        const at = await threads.at(thread.threadId);
        const options = { ...at.run, signal: cancel.signal };
        const running = executeAgent(planner, input as null, options);
        await log.began(id);
        cancel.abort();
        expect((await running).status).toBe("CANCELLED");
      };
      await cancelAt("b", { message: "go", plan });
      await cancelAt("c", null);
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "b", "stuck", "c", "c"]]);
    });

    it("keeps the model's plan", async () => {
      const script = plannerReplies({ "Break the task": asPlan(planOf({ a: "", stuck: "a" })) });
      const { log, hang, planner } = loggedWork();
      hang.add("stuck");
      const thread = await threads.begin(script);
      const cancel = new AbortController();
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go" }, run);
      await log.began("stuck");
      cancel.abort();
      await running;
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "stuck", "stuck"]]);
    });

    it("joins again what was being joined, and runs nothing", async () => {
      const { log, planner } = loggedWork();
      const cancel = new AbortController();
      const hanging: ScriptedReply = (_request, config) =>
        new Promise((_resolve, reject) => {
          config.signal?.addEventListener("abort", () => reject(config.signal?.reason as Error));
          cancel.abort();
        });
      const thread = await threads.begin([hanging]);
      const run = { ...thread.run, signal: cancel.signal };
      const input = { message: "go", plan: planOf({ a: "", b: "a" }) };
      expect((await executeAgent(planner, input, run)).status).toBe("CANCELLED");
      const other = await threads.at(thread.threadId);
      const { status, output } = await executeAgent(planner, null, other.run);
      expect([status, output]).toEqual(["COMPLETED", { message: "Joined." }]);
      expect(log.begun).toEqual(["a", "b"]);
      expect(other.model.read(0).join("\n")).toContain('"of":"b"');
    });

    it("has a planner that is a worker begin again, as every agent under way", async () => {
      const inside = planOf({ deep: "", stuck: "deep" });
      const replies = plannerReplies({ "Break the task": asPlan(inside) });
      const thread = await threads.begin(replies);
      const { log, hang, planner: inner } = loggedWork({ name: "inner", description: "Plans." });
      const planner = definePlanner({ workers: [inner] });
      hang.add("stuck");
      const cancel = new AbortController();
      const top = planOf({ top: "" }, { worker: "inner" });
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go", plan: top }, run);
      await log.began("stuck");
      cancel.abort();
      await running;
      hang.clear();
      const other = await threads.at(thread.threadId, replies);
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["deep", "stuck", "deep", "stuck"]]);
    });

    it("is gone on with when its process is gone after that", async () => {
      const { log, hang, planner } = loggedWork();
      const thread = await threads.begin();
      hang.add("b");
      const cancel = new AbortController();
      const run = { ...thread.run, signal: cancel.signal };
      const running = executeAgent(planner, { message: "go", plan }, run);
      await log.began("b");
      cancel.abort();
      await running;
      hang.clear();
      hang.add("c");
      void executeAgent(planner, null, (await threads.at(thread.threadId)).run);
      await log.began("c");
      hang.clear();
      const other = await threads.at(thread.threadId);
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b", "b", "stuck", "c", "c"]]);
    });
  });
}
