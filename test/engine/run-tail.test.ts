import { describe, expect, it } from "vitest";
import { RunSignals } from "../../src/engine/run-signals.ts";
import { RunTail } from "../../src/engine/run-tail.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const upTo = (last: number, from = 1) =>
  Array.from({ length: Math.max(0, last - from + 1) }, (_, at) => at + from);
const events = (numbers: readonly number[], characters = 2) =>
  numbers.map((seq) => ({
    seq,
    at: "",
    event: "thought",
    data: {},
    json: "x".repeat(characters),
  }));
const numbers = (of: readonly { readonly seq: number }[] | null) =>
  of === null ? null : of.map(({ seq }) => seq);

function tailAfter(lastEvent: number) {
  return new RunTail({ tenantId: "t", lastEvent });
}

describe("the tail of a run", () => {
  it("has the events after a number, as many as are asked for", () => {
    const tail = tailAfter(0);
    expect(tail.after(0, 10)).toEqual([]);
    tail.append(events(upTo(3)));
    tail.append(events([4, 5]));
    expect(tail.lastEvent).toBe(5);
    expect(numbers(tail.after(0, 10))).toEqual([1, 2, 3, 4, 5]);
    expect(numbers(tail.after(2, 2))).toEqual([3, 4]);
    expect(numbers(tail.after(4, 10))).toEqual([5]);
    for (const seq of [5, 6]) expect(tail.after(seq, 10)).toEqual([]);
  });

  it("leaves to the log what was written before it began", () => {
    const tail = tailAfter(7);
    expect(tail.after(7, 10)).toEqual([]);
    expect(tail.after(6, 10)).toBeNull();
    tail.append(events([8, 9]));
    expect(tail.after(6, 10)).toBeNull();
    expect(numbers(tail.after(7, 10))).toEqual([8, 9]);
  });

  it("keeps 500 events", () => {
    const tail = tailAfter(0);
    tail.append(events(upTo(400)));
    expect(numbers(tail.after(0, 1))).toEqual([1]);
    tail.append(events(upTo(600, 401)));
    expect(tail.after(99, 1_000)).toBeNull();
    expect(numbers(tail.after(100, 1_000))).toEqual(upTo(600, 101));
    expect(tail.findLast(({ seq }) => seq <= 100)).toBeUndefined();
    expect(tail.findLast(({ seq }) => seq < 300)?.seq).toBe(299);
  });

  it("keeps 262,144 characters of JSON, and the newest event however large it is", () => {
    const tail = tailAfter(0);
    tail.append(events(upTo(4), 65_536));
    expect(numbers(tail.after(0, 10))).toEqual([1, 2, 3, 4]);
    tail.append(events([5], 1));
    expect(tail.after(0, 10)).toBeNull();
    expect(numbers(tail.after(1, 10))).toEqual([2, 3, 4, 5]);
    tail.append(events([6], 300_000));
    expect(tail.after(4, 10)).toBeNull();
    expect(numbers(tail.after(5, 10))).toEqual([6]);
    // What was removed does not count any more.
    tail.append(events([7, 8], 100_000));
    expect(numbers(tail.after(6, 10))).toEqual([7, 8]);
  });

  it("has the state of the run until the run executes elsewhere, and keeps it after the end", () => {
    const [left, ended] = [tailAfter(0), tailAfter(0)];
    expect(left.state).toBe("running");
    left.append(events([1]));
    left.leave();
    expect(left.state).toBeNull();
    ended.end("complete", events([1, 2]));
    ended.leave();
    expect([ended.state, ended.lastEvent]).toEqual(["complete", 2]);
    expect(numbers(ended.after(0, 10))).toEqual([1, 2]);
  });

  it("is of its tenant alone, and of the newest execution in this process", async () => {
    const signals = new RunSignals(new ManualClock());
    const run = { id: "r", tenantId: "a", lastEvent: 3 };
    const follower = signals.follow("r");
    const tail = signals.openTail(run);
    expect(await follower.changed()).toBe(true);
    follower.release();
    expect(signals.tailOf("a", "r")).toBe(tail);
    expect(signals.tailOf("b", "r")).toBeUndefined();
    expect(signals.tailOf("a", "other")).toBeUndefined();
    const next = signals.openTail({ ...run, lastEvent: 4 });
    signals.closeTail("r", tail);
    expect([tail.state, signals.tailOf("a", "r")]).toEqual([null, next]);
    signals.closeTail("r", next);
    expect(signals.tailOf("a", "r")).toBeUndefined();
  });
});
