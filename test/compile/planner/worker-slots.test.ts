import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Semaphore, WorkerSlot } from "../../../src/compile/planner/worker-slots.ts";
import { plannerReplies, asPlan, codeWorker, plannerThread } from "../../helpers/run-plan.ts";
import { manualWork } from "../../helpers/manual-work.ts";
import { defineAgent } from "../../../src/index.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { withTime } from "../../helpers/with-time.ts";

const soon = () => new Promise(setImmediate);

/** How many can still be taken. */
async function freeIn(slots: Semaphore): Promise<number> {
  let free = 0;
  for (;;) {
    const taken = { is: false };
    void slots.acquire().then(() => (taken.is = true));
    await soon();
    if (!taken.is) return free;
    free += 1;
  }
}

describe("the slot of a worker", () => {
  it("is lent by the first planner within it, and taken back by the last", async () => {
    const slots = new Semaphore(1);
    await slots.acquire();
    const own = new WorkerSlot(slots);
    await own.yield();
    await own.yield();
    await slots.acquire();
    await own.reacquire();
    const back = { is: false };
    void own.reacquire().then(() => (back.is = true));
    await soon();
    expect(back.is).toBe(false);
    slots.release();
    await soon();
    expect(back.is).toBe(true);
  });

  it("is taken back before others that wait", async () => {
    const slots = new Semaphore(1);
    await slots.acquire();
    const own = new WorkerSlot(slots);
    await own.yield();
    await slots.acquire();
    const order: string[] = [];
    void slots.acquire().then(() => order.push("other"));
    void own.reacquire().then(() => order.push("own"));
    await soon();
    slots.release();
    await soon();
    expect(order).toEqual(["own"]);
  });

  it("is held once again after any lending and taking back", async () => {
    const moves = fc.array(fc.boolean(), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(moves, fc.integer({ min: 1, max: 3 }), async (lends, size) => {
        const slots = new Semaphore(size);
        await slots.acquire();
        const own = new WorkerSlot(slots);
        const all: Promise<void>[] = [];
        let lenders = 0;
        for (const lend of lends) {
          if (!lend && lenders === 0) continue;
          lenders += lend ? 1 : -1;
          all.push(lend ? own.yield() : own.reacquire());
        }
        for (; lenders > 0; lenders -= 1) all.push(own.reacquire());
        await Promise.all(all);
        expect(await freeIn(slots)).toBe(size - 1);
      }),
      { numRuns: 50 },
    );
  });
});

describe("max_parallel", () => {
  it("holds where a worker runs several planners side by side", async () => {
    const work = manualWork({ most: 2 });
    const inside = planOf({ a: "", b: "" });
    const three = defineAgent({
      name: "three",
      description: "Plans thrice.",
      workers: [codeWorker(work.run)],
      execution_config: { max_attempts: 1 },
      workflow_graph: {
        entry_point: "go",
        nodes: [
          { name: "go", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
          ...["p", "q", "r"].map((name) => ({
            name,
            type: "planner" as const,
            config: { plan: inside },
          })),
        ],
        edges: [
          { from: "go", to: ["p", "q", "r"] },
          ...["p", "q", "r"].map((from) => ({ from, to: "END" })),
        ],
        output: { message: "done" },
      },
    });
    const thread = await plannerThread({
      workers: [three],
      max_parallel: 1,
      plan: planOf({ x: "" }, { worker: "three" }),
      script: plannerReplies({ "Break the task": asPlan(inside) }),
    });
    expect((await thread.start()).status).toBe("COMPLETED");
    expect([work.most, work.ran]).toEqual([1, 6]);
  });

  it("lets others run while a subtask waits for its next attempt", async () => {
    const ran: string[] = [];
    const thread = await plannerThread({
      max_parallel: 1,
      plan: planOf({ a: "", b: "" }),
      does: ({ id, attempt }) => {
        ran.push(`${id}${attempt}`);
        if (id === "a" && attempt < 3) throw Object.assign(new Error("busy"), { status: 503 });
        return id;
      },
    });
    expect((await withTime(thread.clock, thread.start(), 500)).status).toBe("COMPLETED");
    expect(ran).toEqual(["a1", "b1", "a2", "a3"]);
  });

  it("waits as long as a server asks for", async () => {
    const at: number[] = [];
    const thread = await plannerThread({
      plan: planOf({ a: "" }),
      does: ({ attempt }) => {
        at.push(thread.clock.monotonic());
        const headers = { "retry-after": "20" };
        if (attempt === 1) throw Object.assign(new Error("busy"), { status: 429, headers });
        return "ok";
      },
    });
    expect((await withTime(thread.clock, thread.start(), 1000)).status).toBe("COMPLETED");
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBe(20_000);
  });
});
