import { expect, test } from "vitest";
import { RunQueue } from "../../../src/experiment/memory/database-memory.ts";

test("does the work of a run in order, and lets no run wait for another", async () => {
  const queue = new RunQueue();
  const begun: string[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const slow = queue.add("a", async () => {
    begun.push("slow");
    await gate;
    return 1;
  });
  const next = queue.add("a", async () => begun.push("next"));
  await queue.add("b", async () => begun.push("other run"));
  expect(begun).toEqual(["slow", "other run"]);
  open();
  expect([await slow, await next]).toEqual([1, 3]);
});

test("goes on after work that failed", async () => {
  const queue = new RunQueue();
  const failed = queue.add("a", () => Promise.reject(new Error("broken")));
  const next = queue.add("a", async () => "done");
  await expect(failed).rejects.toThrow("broken");
  expect(await next).toBe("done");
});
