import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { defineAgent, definePlanner, executeAgent } from "../../../src/index.ts";
import { reopenedSaver } from "../../helpers/reopened-saver.ts";
import { asPlan, codeWorker, plannerReplies } from "../../helpers/run-plan.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { planOf } from "../../helpers/subtasks.ts";

/** A worker that never ends some subtasks, until it is told otherwise. */
function hangingWorker(...ids: readonly string[]) {
  const hangs = new Set(ids);
  const log: string[] = [];
  let began = () => {};
  const begun = new Promise<void>((resolve) => (began = resolve));
  const worker = codeWorker(({ id }) => {
    log.push(id);
    if (!hangs.has(id)) return id;
    began();
    return new Promise(() => {});
  });
  return { worker, log, hangs, begun };
}

const once = { max_attempts: 1 };

describe("a cancelled turn that is resumed", () => {
  it("takes up a planner that had ended beside the one that was cancelled", async () => {
    const { worker, log, hangs, begun } = hangingWorker("s2");
    const agent = defineAgent({
      name: "two",
      workers: [worker],
      execution_config: once,
      workflow_graph: {
        entry_point: "go",
        nodes: [
          { name: "go", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
          { name: "p1", type: "planner", config: { plan: planOf({ a1: "", b1: "a1" }) } },
          { name: "p2", type: "planner", config: { plan: planOf({ a2: "", s2: "a2" }) } },
        ],
        edges: [
          { from: "go", to: ["p1", "p2"] },
          { from: "p1", to: "END" },
          { from: "p2", to: "END" },
        ],
        output: { message: "done" },
      },
    });
    const { runtime } = await testRuntime(plannerReplies());
    const cancel = new AbortController();
    let isEnded = () => {};
    const ended = new Promise<void>((resolve) => (isEnded = resolve));
    const running = executeAgent(
      agent,
      { message: "go" },
      {
        runtime,
        threadId: "t",
        signal: cancel.signal,
        onEvent: ({ type, within }) => {
          if (type === "done" && within[0] === "p1") isEnded();
        },
      },
    );
    await Promise.all([begun, ended]);
    cancel.abort();
    expect((await running).status).toBe("CANCELLED");
    hangs.clear();
    const { status, usage } = await executeAgent(agent, null, { runtime, threadId: "t" });
    expect([status, log.toSorted().join(" ")]).toEqual(["COMPLETED", "a1 a2 b1 s2 s2"]);
    // Two calls of each planner: those of the one that had ended are not made again.
    expect(usage.llm_calls).toBe(4);
  });

  it("keeps the records and the usage of the plan that a model made", async () => {
    const { worker, hangs, begun } = hangingWorker("b");
    const planner = definePlanner({ workers: [worker], execution_config: once });
    const plan = asPlan(planOf({ a: "", b: "a" }));
    const { runtime } = await testRuntime(plannerReplies({ "Break the task": plan }));
    const cancel = new AbortController();
    const of = { runtime, threadId: "t" };
    const running = executeAgent(planner, { message: "go" }, { ...of, signal: cancel.signal });
    await begun;
    cancel.abort();
    await running;
    hangs.clear();
    const { status, usage } = await executeAgent(planner, null, of);
    expect([status, usage.llm_calls]).toEqual(["COMPLETED", 3]);
  });

  it("plans anew where the node comes round again", async () => {
    const { worker, log, hangs, begun } = hangingWorker("b");
    let rounds = 0;
    const agent = defineAgent({
      name: "rounds",
      workers: [worker],
      execution_config: { ...once, max_iterations: 5 },
      tools: {
        round: {
          description: "Counts.",
          input_schema: { type: "object", properties: {} },
          handler: () => (rounds += 1),
        },
      },
      workflow_graph: {
        entry_point: "p",
        nodes: [
          { name: "p", type: "planner", config: { plan: planOf({ a: "", b: "a" }) } },
          { name: "c", type: "tool", config: { tool: "round" } },
        ],
        edges: [
          { from: "p", to: "c" },
          { from: "c", to: "p", condition: "nodes.c.result < 2" },
          { from: "c", to: "END" },
        ],
        output: { message: "done" },
      },
    });
    const { runtime } = await testRuntime(plannerReplies());
    const cancel = new AbortController();
    const of = { runtime, threadId: "t" };
    const running = executeAgent(agent, { message: "go" }, { ...of, signal: cancel.signal });
    await begun;
    cancel.abort();
    await running;
    hangs.clear();
    const { status } = await executeAgent(agent, null, of);
    expect([status, log.join(" ")]).toEqual(["COMPLETED", "a b b a b"]);
  });

  it("asks for the plan for gaps that was being made", async () => {
    const log: string[] = [];
    const worker = codeWorker(({ id }) => {
      log.push(id);
      if (id === "a") throw new Error("broken");
      return id;
    });
    const planner = definePlanner({ workers: [worker], execution_config: once });
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const hanging: ScriptedReply = () => {
      asked();
      return new Promise<never>(() => {});
    };
    const saver = new MemorySaver();
    const first = await testRuntime([hanging], { checkpointer: saver });
    const cancel = new AbortController();
    const running = executeAgent(
      planner,
      { message: "go", plan: planOf({ a: "", b: "" }) },
      { runtime: first.runtime, threadId: "t", signal: cancel.signal },
    );
    await isAsked;
    cancel.abort();
    await running;
    const mended = plannerReplies({ "The results so far": asPlan(planOf({ c: "b" })) });
    const { runtime } = await testRuntime(mended, { checkpointer: saver });
    const { status } = await executeAgent(planner, null, { runtime, threadId: "t" });
    expect([status, log]).toEqual(["COMPLETED", ["a", "b", "c"]]);
  });
});

/** Writes nothing but what workers keep, as when a process is gone soon after. */
class DyingSaver extends MemorySaver {
  isDead = false;

  #refuses(namespace: unknown): boolean {
    return this.isDead && !String(namespace).includes("execute:");
  }

  override async put(...args: Parameters<MemorySaver["put"]>) {
    if (this.#refuses(args[0].configurable?.["checkpoint_ns"])) return new Promise<never>(() => {});
    return super.put(...args);
  }

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>) {
    if (this.#refuses(args[0].configurable?.["checkpoint_ns"])) return new Promise<never>(() => {});
    return super.putWrites(...args);
  }
}

describe("a process that is gone while a turn is cancelled", () => {
  it("has agents that had ended by then begin their attempt again", async () => {
    let isFirst = true;
    let calls = 0;
    let began = () => {};
    const begun = new Promise<void>((resolve) => (began = resolve));
    const agent = defineAgent({
      name: "slow",
      description: "Is slow.",
      tools: {
        slow: {
          description: "Takes its time.",
          input_schema: { type: "object", properties: {} },
          handler: () => {
            calls += 1;
            if (!isFirst) return "fast";
            if (calls === 2) began();
            return new Promise(() => {});
          },
          execution: { idempotent: true },
        },
      },
      workflow_graph: {
        entry_point: "call",
        nodes: [{ name: "call", type: "tool", config: { tool: "slow" } }],
        edges: [{ from: "call", to: "END" }],
        output: { message: "fine" },
      },
    });
    const planner = definePlanner({ workers: [agent], execution_config: once });
    const checkpointer = new DyingSaver();
    const first = await testRuntime(plannerReplies(), { checkpointer });
    const cancel = new AbortController();
    const plan = planOf({ a: "", b: "" }, { worker: "slow" });
    let ends = 0;
    let bothEnded = () => {};
    const ended = new Promise<void>((resolve) => (bothEnded = resolve));
    void executeAgent(
      planner,
      { message: "go", plan },
      {
        runtime: first.runtime,
        threadId: "t",
        signal: cancel.signal,
        onEvent: ({ type, within }) => {
          if (type === "done" && within.length === 3 && ++ends === 2) bothEnded();
        },
      },
    );
    await begun;
    checkpointer.isDead = true;
    cancel.abort();
    await ended;
    // Their last checkpoints are on their way.
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    checkpointer.isDead = false;
    isFirst = false;
    const reopened = { checkpointer: reopenedSaver(checkpointer) };
    const { runtime } = await testRuntime(plannerReplies(), reopened);
    const { status } = await executeAgent(planner, null, { runtime, threadId: "t" });
    expect(status).toBe("COMPLETED");
    const [stored] = await runtime.threads.plans("t");
    const states = Object.values(stored?.subtasks ?? {});
    expect(states.map((one) => [one.status, one.attempts, one.error])).toEqual([
      ["done", 1, null],
      ["done", 1, null],
    ]);
  });
});
