import { describe, expect, it } from "vitest";
import { executeAgent } from "../../../src/index.ts";
import { asker } from "../../helpers/nested-agents.ts";
import { plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
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
  });
}
