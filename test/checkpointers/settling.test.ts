import { expect, it } from "vitest";
import { Settling } from "../../checkpointers/settling.ts";

function deferred() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

it("waits for writes that begin when the one before has ended", async () => {
  const settling = new Settling();
  const [plan, reason] = [deferred(), deferred()];
  const durable: string[] = [];
  const chained = settling
    .track("thread", plan.promise)
    .then(() => durable.push("plan"))
    .then(() => settling.track("thread", reason.promise))
    .then(() => durable.push("reason"));

  const settled = settling.settled("thread");
  plan.resolve();
  await new Promise(setImmediate);
  reason.resolve();
  await settled;
  await chained;

  expect(durable).toEqual(["plan", "reason"]);
});

it("throws what went wrong, until a run begins with what is stored", async () => {
  const settling = new Settling();
  const work = settling.track("thread", Promise.reject(new Error("disk full")));
  await expect(work).rejects.toThrow("disk full");

  await expect(settling.settled("thread")).rejects.toThrow("disk full");
  await expect(settling.settled("other")).resolves.toBeUndefined();
  await expect(settling.ended("thread")).resolves.toBeUndefined();
  settling.begin("thread");
  await expect(settling.settled("thread")).resolves.toBeUndefined();
});
