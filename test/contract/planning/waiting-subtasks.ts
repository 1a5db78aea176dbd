import { describe, expect, it } from "vitest";
import {
  defineAgent,
  definePlanner,
  executeAgent,
  type AgentDefinition,
} from "../../../src/index.ts";
import { ModelCallError } from "../../../src/models/errors.ts";
import type { PendingRequest } from "../../../src/state/human-request.ts";
import { asPlan, plannerReplies, statusesOf } from "../../helpers/run-plan.ts";
import { asker } from "../../helpers/nested-agents.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { withTime } from "../../helpers/with-time.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { loggedWork, type PlanningThreads } from "./planning-threads.ts";

/** `x` and `y` ask people, and `a`, `b` and `c` do not. */
const plan = {
  subtasks: [
    ...planOf({ x: "", y: "" }, { worker: "asker" }).subtasks,
    ...planOf({ a: "", b: "a", c: "x", d: "c y" }).subtasks,
  ],
};
/** The asker drafts, asks, and writes with what was answered. */
const drafts = { "Draft Do x.": "Which x", "Draft Do y.": "Which y" };
const writes = { "Write ": "written" };

/** Asks for a number. */
const strict = defineAgent({
  name: "strict",
  description: "Asks.",
  workflow_graph: {
    entry_point: "ask",
    nodes: [{ name: "ask", type: "human", config: { kind: "input", schema: { type: "integer" } } }],
    edges: [{ from: "ask", to: "END" }],
    output: { message: "${string(nodes.ask.value)}" },
  },
});

const waiting = (requests: readonly PendingRequest[]) =>
  requests
    .map(({ prompt, within }) => [within.join("/"), prompt] as const)
    .toSorted(([a], [b]) => a.localeCompare(b));

function idOf(requests: readonly PendingRequest[], prompt: string): string {
  const found = requests.find((request) => request.prompt === prompt);
  if (found === undefined) throw new Error(`nothing asks ${prompt}`);
  return found.id;
}

/** Subtasks that wait for people, on any database that keeps them. */
export function waitingSubtasks(threads: PlanningThreads): void {
  const begin = async (planner: AgentDefinition, script: readonly ScriptedReply[]) => {
    const thread = await threads.begin(script);
    const result = await executeAgent(planner, { message: "go", plan }, thread.run);
    return { thread, result };
  };

  describe("two subtasks that wait for people", () => {
    it("let the others go on, and are asked for together", async () => {
      const { log, planner } = loggedWork({ workers: [asker] });
      const { thread, result } = await begin(planner, plannerReplies(drafts));
      expect(result.status).toBe("AWAITING_HUMAN");
      expect(log.begun).toEqual(["a", "b"]);
      expect(waiting(result.interrupts)).toEqual([
        ["planner/execute/x", "Which x?"],
        ["planner/execute/y", "Which y?"],
      ]);
      expect(statusesOf(await thread.subtasks())).toMatchObject({
        x: "running",
        y: "running",
        a: "done",
        b: "done",
        c: "pending",
        d: "pending",
      });
      const waits = thread.events.filter((event) => event.type === "subtask_wait");
      expect(waits).toMatchObject([{ waits_for: "person" }, { waits_for: "person" }]);
      const [stored] = await thread.runtime.threads.plans(thread.threadId);
      expect(stored?.waiting).toEqual(["x", "y"]);
    });

    it.each([
      ["x", "y"],
      ["y", "x"],
    ])(
      "are answered %s first, each by another runtime, and nothing runs twice",
      async (one, two) => {
        const { log, planner } = loggedWork({ workers: [asker] });
        const { thread, result } = await begin(planner, plannerReplies(drafts));
        const second = await threads.at(thread.threadId, plannerReplies(writes));
        const halfway = await executeAgent(planner, null, {
          ...second.run,
          answers: { [idOf(result.interrupts, `Which ${one}?`)]: one },
        });
        expect(halfway.status).toBe("AWAITING_HUMAN");
        expect(waiting(halfway.interrupts)).toEqual([[`planner/execute/${two}`, `Which ${two}?`]]);
        expect(halfway.interrupts[0]?.id).toBe(idOf(result.interrupts, `Which ${two}?`));
        expect(log.begun).toEqual(one === "x" ? ["a", "b", "c"] : ["a", "b"]);

        const third = await threads.at(thread.threadId, plannerReplies(writes));
        const { status, usage } = await executeAgent(planner, null, { ...third.run, answer: two });
        expect([status, usage.llm_calls]).toEqual(["COMPLETED", 6]);
        expect(log.begun).toEqual(["a", "b", "c", "d"]);
        expect(second.model.read(0).at(-1)).toBe(`human: Write ${one}`);
        expect(third.model.read(0).at(-1)).toBe(`human: Write ${two}`);
        expect(await third.subtasks()).toMatchObject({
          x: { status: "done", attempts: 1, result: "written", usage: { llm_calls: 2 } },
          y: { status: "done", attempts: 1, result: "written", usage: { llm_calls: 2 } },
        });
      },
    );

    it("are answered both together", async () => {
      const { log, planner } = loggedWork({ workers: [asker] });
      const { thread, result } = await begin(planner, plannerReplies(drafts));
      const other = await threads.at(thread.threadId, plannerReplies(writes));
      const { status, usage } = await executeAgent(planner, null, {
        ...other.run,
        answers: {
          [idOf(result.interrupts, "Which x?")]: "1",
          [idOf(result.interrupts, "Which y?")]: "2",
        },
      });
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 6]);
      expect(log.begun).toEqual(["a", "b", "c", "d"]);
    });

    it("wait on through a run without an answer", async () => {
      const { log, planner } = loggedWork({ workers: [asker] });
      const { thread, result } = await begin(planner, plannerReplies(drafts));
      const other = await threads.at(thread.threadId, []);
      const again = await executeAgent(planner, null, other.run);
      expect(waiting(again.interrupts)).toEqual(waiting(result.interrupts));
      expect(new Set(again.interrupts.map(({ id }) => id))).toEqual(
        new Set(result.interrupts.map(({ id }) => id)),
      );
      expect(log.begun).toEqual(["a", "b"]);
    });
  });

  describe("a subtask that waits for a person", () => {
    it("is seen before the others have ended, and is answered once they have", async () => {
      const { log, hang, planner } = loggedWork({ workers: [asker] });
      hang.add("b");
      const thread = await threads.begin(plannerReplies(drafts));
      void executeAgent(planner, { message: "go", plan }, thread.run);
      await log.began("b");
      while (thread.events.filter(({ type }) => type === "subtask_wait").length < 2) {
        await new Promise(setImmediate);
      }
      hang.clear();
      // The process is gone while two wait and one runs.
      const other = await threads.at(thread.threadId, plannerReplies());
      const result = await executeAgent(planner, null, other.run);
      expect(waiting(result.interrupts)).toHaveLength(2);
      expect(log.begun).toEqual(["a", "b", "b"]);
      const third = await threads.at(thread.threadId, plannerReplies(writes));
      const answers = Object.fromEntries(result.interrupts.map(({ id }) => [id, "ok"]));
      const { status, usage } = await executeAgent(planner, null, { ...third.run, answers });
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 6]);
    });

    it("remembers the attempts that failed before", async () => {
      const busy: ScriptedReply = () => {
        throw new ModelCallError({ ref: "test:scripted", reason: "rate_limit", message: "busy" });
      };
      const planner = definePlanner({
        workers: [asker],
        execution_config: { max_attempts: 1, timeout_seconds: 3600 },
        retries: 1,
        on_failure: "fail",
      });
      const one = planOf({ x: "" }, { worker: "asker" });
      const thread = await threads.begin([busy, "Which x"]);
      const running = executeAgent(planner, { message: "go", plan: one }, thread.run);
      const { status } = await withTime(thread.clock, running, 1000, { dueOnly: true });
      expect(status).toBe("AWAITING_HUMAN");
      expect((await thread.subtasks())["x"]).toMatchObject({ status: "running", attempts: 1 });

      const other = await threads.at(thread.threadId, [busy]);
      const second = await executeAgent(planner, null, { ...other.run, answer: "this" });
      expect([second.status, second.failure?.cause]).toEqual(["FAILED", "subtask_failed"]);
      const attempts = other.events.flatMap((event) =>
        event.type === "subtask_start" ? [event.attempt] : [],
      );
      expect(attempts).toEqual([2]);
      expect((await other.subtasks())["x"]).toMatchObject({ status: "failed", attempts: 2 });
    });

    it("is asked again until the answer can be read", async () => {
      const { planner } = loggedWork({ workers: [strict] });
      const one = planOf({ x: "" }, { worker: "strict" });
      const thread = await threads.begin(plannerReplies());
      await executeAgent(planner, { message: "go", plan: one }, thread.run);
      const other = await threads.at(thread.threadId);
      await expect(executeAgent(planner, null, { ...other.run, answer: "many" })).rejects.toThrow(
        "many",
      );
      const { status } = await executeAgent(planner, null, { ...other.run, answer: 3 });
      expect(status).toBe("COMPLETED");
      expect((await other.subtasks())["x"]).toMatchObject({ attempts: 1, result: "3" });
    });

    it("waits within a planner that is a worker", async () => {
      const { log, planner: inner } = loggedWork({
        name: "inner",
        description: "Plans.",
        workers: [asker],
      });
      const planner = definePlanner({ workers: [inner], execution_config: { max_attempts: 1 } });
      const inside = {
        subtasks: [
          ...planOf({ x: "" }, { worker: "asker" }).subtasks,
          ...planOf({ a: "", b: "x a" }).subtasks,
        ],
      };
      const top = planOf({ top: "" }, { worker: "inner" });
      const thread = await threads.begin(
        plannerReplies({ ...drafts, "Break the task": asPlan(inside) }),
      );
      const { interrupts } = await executeAgent(planner, { message: "go", plan: top }, thread.run);
      expect(waiting(interrupts)).toEqual([["planner/execute/top/planner/execute/x", "Which x?"]]);
      const other = await threads.at(thread.threadId, plannerReplies(writes));
      const { status, usage } = await executeAgent(planner, null, { ...other.run, answer: "1" });
      expect([status, usage.llm_calls]).toEqual(["COMPLETED", 7]);
      expect(log.begun).toEqual(["a", "b"]);
    });
  });
}
