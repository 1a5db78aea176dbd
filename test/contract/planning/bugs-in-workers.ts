import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, definePlanner, defineTool, executeAgent } from "../../../src/index.ts";
import { ModelCallError } from "../../../src/models/errors.ts";
import { plannerReplies } from "../../helpers/run-plan.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { withTime } from "../../helpers/with-time.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

const bug: ScriptedReply = () => {
  throw new Error("a bug");
};
const agent = defineAgent({ name: "agent", description: "Helps." });
const once = { max_attempts: 1 };

/** Bugs that are thrown out of agents, and how runs go on after them. */
export function bugsInWorkers(threads: PlanningThreads): void {
  describe("a bug that is thrown out of an agent", () => {
    it("ends the run; what is done is kept, and the run can be gone on with", async () => {
      const thread = await threads.begin([bug]);
      const { log, planner } = loggedWork({ workers: [agent] });
      const { subtasks } = planOf({ b: "a" }, { worker: "agent" });
      const plan = { subtasks: [...planOf({ a: "" }).subtasks, ...subtasks] };
      await expect(executeAgent(planner, { message: "go", plan }, thread.run)).rejects.toThrow(
        "a bug",
      );
      const other = await threads.at(thread.threadId, plannerReplies({ "Do b.": "mended" }));
      const { status } = await executeAgent(planner, null, other.run);
      expect([status, log.begun]).toEqual(["COMPLETED", ["a"]]);
      expect((await other.subtasks())["b"]).toMatchObject({ status: "done", result: "mended" });
    });

    it("lets the agents beside it end what they do, and begins nothing more", async () => {
      let ask = () => {};
      const asked = new Promise<void>((resolve) => (ask = resolve));
      const byTask: ScriptedReply = async (request) => {
        if (request.messages.at(-1)?.text === "Do a.") {
          await asked;
          throw new Error("a bug");
        }
        ask();
        // The bug is long told by then.
        for (let turns = 0; turns < 50; turns += 1) await new Promise(setImmediate);
        return new AIMessage("B");
      };
      const planner = definePlanner({ workers: [agent], execution_config: once });
      const plan = planOf({ a: "", b: "", c: "b" }, { worker: "agent" });
      const thread = await threads.begin([byTask, byTask]);
      await expect(executeAgent(planner, { message: "go", plan }, thread.run)).rejects.toThrow(
        "a bug",
      );
      expect(thread.model.requests).toHaveLength(2);
      const script = plannerReplies({ "Do a.": "A", "Do c.": "C" });
      const other = await threads.at(thread.threadId, script);
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 5]);
      expect(await other.subtasks()).toMatchObject({
        a: { status: "done", result: "A", error: null },
        b: { status: "done", result: "B", error: null },
        c: { status: "done", result: "C" },
      });
    });

    it("leaves what earlier attempts have spent and how many there were", async () => {
      const echo = defineTool({
        name: "echo",
        description: "Says it.",
        input_schema: z.object({}),
        handler: () => "said",
      });
      const busy: ScriptedReply = () => {
        throw new ModelCallError({ ref: "test:scripted", reason: "rate_limit", message: "busy" });
      };
      const caller = defineAgent({ name: "caller", description: "Helps.", tools: [echo] });
      const planner = definePlanner({ workers: [caller], execution_config: once });
      const plan = planOf({ a: "" }, { worker: "caller" });
      const thread = await threads.begin([{ calls: [{ name: "echo", args: {} }] }, busy, bug]);
      const running = executeAgent(planner, { message: "go", plan }, thread.run);
      const thrown = running.then(null, (error: unknown) => error);
      expect(await withTime(thread.clock, thrown, 1000, { dueOnly: true })).toMatchObject({
        message: "a bug",
      });

      const other = await threads.at(thread.threadId, plannerReplies({ "Do a.": "done" }));
      const { status, usage } = await executeAgent(planner, null, other.run);
      expect([status, usage.llm_calls, usage.tool_calls]).toEqual(["COMPLETED", 4, 1]);
      expect((await other.subtasks())["a"]).toMatchObject({
        status: "done",
        attempts: 2,
        error: null,
        usage: { llm_calls: 2, tool_calls: 1 },
      });
    });
  });
}
