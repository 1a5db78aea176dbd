import { describe, expect, it } from "vitest";
import { planningIn, activePlanning } from "../../../src/runtime/threads/stored.ts";
import { planOf, subtaskState } from "../../helpers/subtasks.ts";

const plan = planOf({ a: "", b: "", c: "" });
const open = { ended_at: null, result: null } as const;
const pending = {
  ...subtaskState(0, 0, { status: "pending", ...open, attempts: 0 }),
  started_at: null,
};
const tried = subtaskState(0, 0, { status: "running", ...open, attempts: 1 });
const waits = subtaskState(0, 0, { status: "running", ...open, attempts: 0 });

function read(writes: readonly (readonly [string, unknown])[], values: object = {}) {
  const channel_values = { plan, subtasks: { a: pending, b: pending, c: pending }, ...values };
  return activePlanning({
    checkpoint: { channel_values } as never,
    pendingWrites: writes.map(([channel, value], index) => [`task-${index}`, channel, value]),
  });
}

describe("what is stored of a planner", () => {
  it("is what its channels say, with the subtasks that are kept beside them", () => {
    const done = subtaskState(0, 1);
    expect(read([["subtasks", { a: done, c: done }]], { depth: 1, gaps: ["more"] })).toEqual({
      plan,
      subtasks: { a: done, b: pending, c: done },
      depth: 1,
      gaps: ["more"],
      criteria_met: null,
      waiting: [],
    });
  });

  it("is the newest of a subtask that was kept several times, in any order", () => {
    const done = subtaskState(0, 1, { attempts: 2 });
    const writes = [{ a: tried }, { b: waits }, { a: done }, { b: tried }].map(
      (value) => ["subtasks", value] as const,
    );
    for (const order of [writes, writes.toReversed()]) {
      expect(read(order)?.subtasks).toEqual({ a: done, b: tried, c: pending });
    }
  });

  it("tells who has asked people and is not settled", () => {
    const wait = (id: string) => ["subtask_waits", { id, times: 0, interrupts: [] }] as const;
    const states = [
      ["subtasks", { a: waits }],
      ["subtasks", { b: subtaskState(0, 1) }],
    ] as const;
    expect(read([...states, wait("a"), wait("b")])?.waiting).toEqual(["a"]);
  });

  it.each([
    ["no plan yet", { plan: null, subtasks: {} }],
    ["another node's output", { plan: "first this, then that", subtasks: {} }],
    ["subtasks of another kind", { plan: { subtasks: ["a"] }, subtasks: {} }],
    ["no states", { plan }],
    ["no object", "plan"],
  ])("is nothing for %s", (_, value) => {
    expect(planningIn(value)).toBeNull();
  });
});
