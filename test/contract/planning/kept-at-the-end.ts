import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { executeAgent } from "../../../src/index.ts";
import { asker } from "../../helpers/nested-agents.ts";
import { asPlan, plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

const sparse = { max_attempts: 1, checkpoint_frequency: "every_turn" } as const;

/** Plans of threads that keep one checkpoint a turn, on any database. */
export function keptAtTheEnd(threads: PlanningThreads): void {
  describe("a plan whose thread keeps one checkpoint a turn", () => {
    it("is kept when its turn has ended, and the next turn begins anew", async () => {
      const { log, planner } = loggedWork({ execution_config: sparse });
      const input = { message: "go", plan: planOf({ a: "", b: "a" }) };
      const thread = await threads.begin();
      expect((await executeAgent(planner, input, thread.run)).status).toBe("COMPLETED");
      expect(statusesOf(await thread.subtasks())).toEqual({ a: "done", b: "done" });
      expect((await executeAgent(planner, input, thread.run)).status).toBe("COMPLETED");
      expect(log.begun).toEqual(["a", "b", "a", "b"]);
    });

    it("waits for people with what the others gave", async () => {
      const { log, planner } = loggedWork({ execution_config: sparse, workers: [asker] });
      const plan = {
        subtasks: [
          ...planOf({ x: "", y: "" }, { worker: "asker" }).subtasks,
          ...planOf({ a: "", b: "x y" }).subtasks,
        ],
      };
      const thread = await threads.begin(plannerReplies({ "Draft ": "Which" }));
      const first = await executeAgent(planner, { message: "go", plan }, thread.run);
      expect([first.status, first.interrupts.length]).toEqual(["AWAITING_HUMAN", 2]);
      const script = plannerReplies({ "Write ": "written" });
      const [one, two] = first.interrupts;
      const second = await executeAgent(planner, null, {
        ...(await threads.at(thread.threadId, script)).run,
        answers: { [one?.id ?? ""]: "1" },
      });
      expect(second.interrupts.map(({ id }) => id)).toEqual([two?.id]);
      const other = await threads.at(thread.threadId, script);
      const { status, usage } = await executeAgent(planner, null, { ...other.run, answer: "2" });
      expect([status, log.begun]).toEqual(["COMPLETED", ["a", "b"]]);
      expect(usage.llm_calls).toBe(6);
    });

    it.each<[string, () => Promise<BaseCheckpointSaver | undefined>]>([
      ["ours", async () => undefined],
      ["LangGraph's", () => threads.stock()],
      ["one in memory", async () => new MemorySaver()],
    ])("is read while it waits once more, where the saver is %s", async (name, saverOf) => {
      const { planner } = loggedWork({ execution_config: sparse, workers: [asker] });
      const plan = planOf({ x: "", y: "" }, { worker: "asker" });
      const drafts = { "Draft Do x.": "Which x", "Draft Do y.": "Which y" };
      const script = plannerReplies({ ...drafts, "Write ": "written" });
      const thread = await threads.at(`read with ${name}`, script, await saverOf());
      const { interrupts } = await executeAgent(planner, { message: "go", plan }, thread.run);
      const first = interrupts.find(({ prompt }) => prompt === "Which x?");
      const answers = { [first?.id ?? ""]: "1" };
      const halfway = await executeAgent(planner, null, { ...thread.run, answers });
      expect(halfway.status).toBe("AWAITING_HUMAN");
      const [read] = await thread.runtime.threads.plans(thread.threadId);
      expect(read?.waiting).toEqual(["y"]);
      expect(statusesOf(read?.subtasks ?? {})).toEqual({ x: "done", y: "running" });
      await executeAgent(planner, null, { ...thread.run, answer: "2" });
      const [ended] = await thread.runtime.threads.plans(thread.threadId);
      expect([ended?.waiting, ended?.criteria_met]).toEqual([[], true]);
      expect(statusesOf(ended?.subtasks ?? {})).toEqual({ x: "done", y: "done" });
    });

    it("shows no plan within a worker that has ended as it last waited", async () => {
      const ask = planOf({ x: "" }, { worker: "asker" });
      const script = { "Draft ": "Which", "Write ": "written", "Break the task": asPlan(ask) };
      const { planner: inner } = loggedWork({
        execution_config: sparse,
        name: "inner",
        description: "Plans.",
        workers: [asker],
      });
      const { planner } = loggedWork({ execution_config: sparse, workers: [inner] });
      const plan = planOf({ one: "", two: "" }, { worker: "inner" });
      const thread = await threads.begin(plannerReplies(script));
      const read = async () => {
        const plans = await thread.runtime.threads.plans(thread.threadId);
        return plans.map(({ within, subtasks }) => [within.join("/"), statusesOf(subtasks)]);
      };
      const { interrupts } = await executeAgent(planner, { message: "go", plan }, thread.run);
      expect(await read()).toEqual([
        ["", { one: "running", two: "running" }],
        ["planner/execute/one", { x: "running" }],
        ["planner/execute/two", { x: "running" }],
      ]);
      const first = interrupts.find(({ within }) => within.includes("one"));
      const answers = { [first?.id ?? ""]: "1" };
      await executeAgent(planner, null, { ...thread.run, answers });
      expect(await read()).toEqual([
        ["", { one: "done", two: "running" }],
        ["planner/execute/two", { x: "running" }],
      ]);
      await executeAgent(planner, null, { ...thread.run, answer: "2" });
      expect(await read()).toEqual([["", { one: "done", two: "done" }]]);
    });
  });
}
