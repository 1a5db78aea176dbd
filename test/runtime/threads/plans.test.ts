import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  defineAgent,
  definePlanner,
  defineWorker,
  executeAgent,
  type Runtime,
  type ThreadPlan,
} from "../../../src/index.ts";
import type { WorkerTask } from "../../../src/definition/worker.ts";
import { reopenedSaver } from "../../helpers/reopened-saver.ts";
import { asPlan, plannerReplies } from "../../helpers/run-plan.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { planOf } from "../../helpers/subtasks.ts";

const threadId = "t";

function worker(run: (task: WorkerTask) => unknown) {
  return defineWorker({ name: "w", description: "Does what it is told.", run });
}

/** Id and status of each subtask. */
function statuses({ subtasks }: ThreadPlan): Record<string, string> {
  return Object.fromEntries(Object.entries(subtasks).map(([id, { status }]) => [id, status]));
}

const chain = planOf({ a: "", b: "a", c: "" });
const noGaps = JSON.stringify({ gaps: [] });

describe("the plans of a thread", () => {
  it("are those of planners that have ended", async () => {
    const { runtime, clock } = await testRuntime(["All.", noGaps]);
    const planner = definePlanner({
      workers: [
        worker(({ id }) => {
          clock.advance(1000);
          if (id === "c") throw new TypeError("down");
          return id.toUpperCase();
        }),
      ],
      on_failure: "partial",
      max_depth: 0,
    });
    await executeAgent(planner, { message: "go", plan: chain }, { runtime, threadId });
    const [plan, ...others] = await runtime.threads.plans(threadId);
    expect(others).toEqual([]);
    expect(plan).toMatchObject({
      node: "planner",
      within: [],
      plan: { subtasks: chain.subtasks },
      waiting: [],
      depth: 0,
      criteria_met: false,
      levels: [["a", "c"], ["b"]],
      criticalPath: { ids: ["a", "b"] },
      subtasks: {
        a: { status: "done", result: "A", worker: "w" },
        b: { status: "done", result: "B" },
        c: { status: "failed", error: { code: "worker_error", message: "down" } },
      },
    });
    expect(plan?.gaps).toHaveLength(1);
  });

  it("tell of one that is under way what has settled", async () => {
    const { runtime } = await testRuntime(["All.", noGaps]);
    let finish = () => {};
    const isHeld = new Promise<void>((resolve) => (finish = resolve));
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const planner = definePlanner({
      workers: [
        worker(async ({ id }) => {
          if (id === "b") {
            begun();
            await isHeld;
          }
          return id;
        }),
      ],
      max_parallel: 1,
    });
    const running = executeAgent(planner, { message: "go", plan: chain }, { runtime, threadId });
    await hasBegun;
    const [plan] = await runtime.threads.plans(threadId);
    finish();
    await running;
    expect(statuses(plan as ThreadPlan)).toEqual({ a: "done", b: "pending", c: "pending" });
    expect(plan).toMatchObject({ node: "planner", within: [], criteria_met: null, gaps: [] });
  });

  it("tell who waits for people, and what has begun", async () => {
    const { runtime } = await testRuntime(["Draft."]);
    const asker = defineAgent({
      name: "asker",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt: "Which?" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    const planner = definePlanner({ workers: [asker, worker(({ id }) => id)] });
    const [a, b, c] = chain.subtasks;
    const plan = { subtasks: [a, { ...b, worker: "asker" }, c], success_criteria: "" };
    const waits = await executeAgent(planner, { message: "go", plan }, { runtime, threadId });
    expect(waits.status).toBe("AWAITING_HUMAN");
    const [found] = await runtime.threads.plans(threadId);
    expect(statuses(found as ThreadPlan)).toEqual({ a: "done", b: "running", c: "done" });
    expect(found?.waiting).toEqual(["b"]);
  });

  it("come with those of planners within workers, ended or not", async () => {
    const inner = { subtasks: [{ id: "x", description: "Do x.", dependencies: [], worker: "w" }] };
    const script = [JSON.stringify(inner), "Inner.", noGaps, "All.", noGaps];
    const { runtime } = await testRuntime(script);
    let seen: readonly ThreadPlan[] = [];
    const surveyor = definePlanner({
      name: "surveyor",
      description: "Surveys.",
      workers: [
        worker(async () => {
          seen = await runtime.threads.plans(threadId);
          return "X";
        }),
      ],
    });
    const planner = definePlanner({ workers: [surveyor] });
    const plan = planOf({ a: "" }, { worker: "surveyor" });
    const { status } = await executeAgent(planner, { message: "go", plan }, { runtime, threadId });
    expect(status).toBe("COMPLETED");
    const ended = await runtime.threads.plans(threadId);
    for (const plans of [seen, ended]) {
      expect(plans.map(({ node, within }) => [...within, node])).toEqual([
        ["planner"],
        ["planner", "execute", "a", "planner"],
      ]);
    }
    expect(seen.map(statuses)).toEqual([{ a: "running" }, { x: "pending" }]);
    expect(ended.map(statuses)).toEqual([{ a: "done" }, { x: "done" }]);
  });

  it("are those of the attempt that was begun again where its process had gone", async () => {
    const saver = new LosingSaver();
    const inner = planOf({ x: "" });
    const read: (readonly ThreadPlan[])[] = [];
    const begin = async (
      checkpointer: MemorySaver,
      work: (runtime: Runtime) => Promise<unknown>,
    ) => {
      const script = plannerReplies({ "Break the task": asPlan(inner) });
      const test = await testRuntime(script, { checkpointer });
      const execution_config = { max_attempts: 1 };
      const surveyor = definePlanner({
        name: "surveyor",
        description: "Surveys.",
        workers: [worker(() => work(test.runtime))],
        execution_config,
      });
      const planner = definePlanner({ workers: [surveyor], timeout_seconds: 5, execution_config });
      return { ...test, planner };
    };
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const first = await begin(saver, () => {
      begun();
      return new Promise(() => {});
    });
    const input = { message: "go", plan: planOf({ a: "" }, { worker: "surveyor" }) };
    void executeAgent(first.planner, input, { runtime: first.runtime, threadId });
    await hasBegun;
    const isLost = new Promise<void>((resolve) => (saver.onLost = resolve));
    first.clock.advance(5000);
    // The worker's turn is CANCELLED, and nobody knows that its attempt has failed.
    await isLost;
    saver.onLost = null;
    const second = await begin(reopenedSaver(saver), async (runtime) => {
      read.push(await runtime.threads.plans(threadId));
      return "X";
    });
    const of = { runtime: second.runtime, threadId };
    const { status } = await executeAgent(second.planner, null, of);
    expect(status).toBe("COMPLETED");
    read.push(await of.runtime.threads.plans(threadId));
    expect(read.map((plans) => plans.map(statuses))).toEqual([
      [{ a: "running" }, { x: "pending" }],
      [{ a: "done" }, { x: "done" }],
    ]);
  });

  it("are those of the last turn, and none where nothing was planned", async () => {
    const { runtime } = await testRuntime(["All.", noGaps, "Hi."]);
    const planner = definePlanner({ workers: [worker(({ id }) => id)] });
    await executeAgent(planner, { message: "go", plan: chain }, { runtime, threadId });
    expect(await runtime.threads.plans(threadId)).toHaveLength(1);
    await executeAgent(
      defineAgent({ name: "plain" }),
      { message: "hi" },
      { runtime, threadId: "plain" },
    );
    expect(await runtime.threads.plans("plain")).toEqual([]);
  });

  it("are read from the planner's node where the rest is gone", async () => {
    const saver = new MemorySaver();
    const { runtime } = await testRuntime(["All.", noGaps], { checkpointer: saver });
    const planner = definePlanner({ workers: [worker(({ id }) => id)] });
    await executeAgent(planner, { message: "go", plan: chain }, { runtime, threadId });
    const before = await runtime.threads.plans(threadId);
    for (const namespace of Object.keys(saver.storage[threadId] ?? {})) {
      if (namespace !== "") delete saver.storage[threadId]?.[namespace];
    }
    expect(await runtime.threads.plans(threadId)).toEqual(before);
  });

  it("are none of a thread that is not there, or has an impossible id", async () => {
    const { runtime } = await testRuntime([]);
    await expect(runtime.threads.plans("none")).rejects.toMatchObject({ code: "no_checkpoint" });
    await expect(runtime.threads.plans("")).rejects.toMatchObject({ code: "invalid_thread_id" });
  });
});

/** Once asked to, makes no write of the outermost planner, as when its process is gone. */
class LosingSaver extends MemorySaver {
  onLost: (() => void) | null = null;

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    const isOutermost = !String(args[0].configurable?.["checkpoint_ns"]).includes("execute:");
    if (this.onLost === null || !isOutermost) return super.putWrites(...args);
    this.onLost();
    return new Promise(() => {});
  }
}
