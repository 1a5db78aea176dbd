import { describe, expect, it } from "vitest";
import { defineAgent, definePlanner, executeAgent } from "../../../src/index.ts";
import type { CodeWorker } from "../../../src/definition/worker.ts";
import { asker } from "../../helpers/nested-agents.ts";
import { asPlan, codeWorker, plannerReplies, plannerThread } from "../../helpers/run-plan.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { withTime } from "../../helpers/with-time.ts";

const innerPlanner = (does: CodeWorker["run"], options: object = {}) =>
  definePlanner({
    name: "inner",
    description: "Plans.",
    execution_config: { max_attempts: 1 },
    workers: [codeWorker(does), asker],
    ...options,
  });
const tops = (ids: string) =>
  planOf(Object.fromEntries(ids.split(" ").map((id) => [id, ""])), { worker: "inner" });

describe("planners that share one place", () => {
  it("each come to their end when some of their subtasks fail", async () => {
    let runs = 0;
    const inner = innerPlanner(
      ({ id }) => {
        runs += 1;
        if (id === "b") throw new Error("broken");
        return id;
      },
      { on_failure: "fail" },
    );
    const thread = await plannerThread({
      workers: [inner, codeWorker(() => "ok")],
      max_parallel: 1,
      max_depth: 0,
      on_failure: "partial",
      plan: { subtasks: [...tops("x y").subtasks, ...planOf({ z: "" }).subtasks] },
      script: plannerReplies({ "Break the task": asPlan(planOf({ a: "", b: "a", c: "" })) }),
    });
    expect((await thread.start()).status).toBe("COMPLETED");
    expect(runs).toBe(6);
    const { x, y, z } = (await thread.planning()).subtasks;
    expect([x?.status, y?.status, z?.status]).toEqual(["failed", "failed", "done"]);
    expect(x?.error).toEqual({
      code: "subtask_failed",
      message: 'Planner "planner" failed: Subtask "b" of worker "w" failed (worker_error): broken',
    });
  });

  it("give it to others while their subtasks wait for people", async () => {
    const ran: string[] = [];
    const inner = innerPlanner(({ id }) => void ran.push(id));
    const inside = {
      subtasks: [...planOf({ q: "" }, { worker: "asker" }).subtasks, ...planOf({ r: "" }).subtasks],
    };
    const thread = await plannerThread({
      workers: [inner, codeWorker(({ id }) => void ran.push(id))],
      max_parallel: 1,
      plan: { subtasks: [...tops("x y").subtasks, ...planOf({ z: "" }).subtasks] },
      script: plannerReplies({
        "Break the task": asPlan(inside),
        "Draft ": "Which",
        "Write ": "written",
      }),
    });
    const first = await thread.start();
    expect([first.status, first.interrupts.length]).toEqual(["AWAITING_HUMAN", 2]);
    expect(ran.toSorted((a, b) => a.localeCompare(b))).toEqual(["r", "r", "z"]);
    const answers = Object.fromEntries(first.interrupts.map(({ id }) => [id, "yes"]));
    const { runtime, planner } = thread;
    const second = await executeAgent(planner, null, { runtime, threadId: "t", answers });
    expect([second.status, ran.length]).toEqual(["COMPLETED", 3]);
  });

  it("come to their end when one takes too long while the other has the place", async () => {
    const inner = innerPlanner(() => new Promise(() => {}), {
      timeout_seconds: 3600,
      execution_config: { max_attempts: 1, timeout_seconds: 7200 },
    });
    const thread = await plannerThread({
      workers: [inner],
      max_parallel: 1,
      retries: 0,
      max_depth: 0,
      timeout_seconds: 60,
      execution_config: { max_attempts: 1, timeout_seconds: 86_400 },
      plan: tops("x y"),
      script: plannerReplies({ "Break the task": asPlan(planOf({ a: "" })) }),
    });
    const { status, failure } = await withTime(thread.clock, thread.start(), 1000);
    expect([status, failure?.cause]).toEqual(["FAILED", "subtask_failed"]);
    const { x, y } = (await thread.planning()).subtasks;
    expect([x?.error?.code, y?.error?.code]).toEqual(["subtask_timeout", "subtask_timeout"]);
  });

  it("end with their turn when it is cancelled while their subtasks queue", async () => {
    const cancel = new AbortController();
    const inner = innerPlanner(() => {
      cancel.abort();
      return new Promise(() => {});
    });
    const thread = await plannerThread({
      workers: [inner],
      max_parallel: 1,
      plan: tops("x y z"),
      script: plannerReplies({ "Break the task": asPlan(planOf({ a: "", b: "", c: "" })) }),
      run: { signal: cancel.signal },
    });
    expect((await thread.start()).status).toBe("CANCELLED");
  });
});

describe("two planner nodes side by side", () => {
  const both = defineAgent({
    name: "both",
    agents: [asker],
    workers: [codeWorker(({ id }) => `${id} done`)],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "start",
      nodes: [
        { name: "start", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
        {
          name: "left",
          type: "planner",
          config: {
            plan: {
              subtasks: [
                ...planOf({ a: "" }).subtasks,
                ...planOf({ q: "" }, { worker: "asker" }).subtasks,
              ],
            },
            writes: "execution.left",
          },
        },
        {
          name: "right",
          type: "planner",
          config: { plan: planOf({ a: "", b: "a" }), writes: "execution.right" },
        },
        { name: "end", type: "llm", config: { prompt: "Close" } },
      ],
      edges: [
        { from: "start", to: ["left", "right"] },
        { from: "left", to: "end" },
        { from: "right", to: "end" },
        { from: "end", to: "END" },
      ],
    },
  });

  it("keep their subtasks apart, and one waits while the other ends", async () => {
    const script = plannerReplies({ "Draft ": "Which", "Write ": "written", Close: "Closed." });
    const { runtime, events, onEvent } = await testRuntime(script);
    const options = { runtime, threadId: "t", onEvent };
    const first = await executeAgent(both, { message: "go" }, options);
    expect(first.interrupts.map(({ within }) => within.join("/"))).toEqual(["left/execute/q"]);
    const second = await executeAgent(both, null, { ...options, answer: "yes" });
    expect(second.output).toEqual({ message: "Closed." });
    expect(second.state.execution).toEqual({
      left: { message: "Joined." },
      right: { message: "Joined." },
    });
    const started = events.flatMap((event) =>
      event.type === "subtask_start" ? [`${event.within.join("/")} ${event.id}`] : [],
    );
    expect(started.toSorted((a, b) => a.localeCompare(b))).toEqual([
      "left a",
      "left q",
      "left q",
      "right a",
      "right b",
    ]);
    expect(second.usage.llm_calls).toBe(7);
    const plans = await runtime.threads.plans("t");
    expect(plans.map(({ node }) => node)).toEqual(["left", "right"]);
  });
});
