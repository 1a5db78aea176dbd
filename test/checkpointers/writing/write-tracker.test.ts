import { expect, it, vi } from "vitest";
import { WriteTracker } from "../../../checkpointers/writing/write-tracker.ts";

function deferred() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

const full = new Error("disk full");
const failing = () => Promise.reject(full);
const fine = () => Promise.resolve();

it("calls a thread durable when writes have ended that begin one after the other", async () => {
  const settling = new WriteTracker();
  const [plan, reason] = [deferred(), deferred()];
  const written: string[] = [];
  const chained = settling
    .write("thread", () => plan.promise)
    .then(() => written.push("plan"))
    .then(() => settling.write("thread", () => reason.promise))
    .then(() => written.push("reason"));

  const durable = settling.flush("thread");
  plan.resolve();
  await new Promise(setImmediate);
  reason.resolve();
  await durable;
  await chained;

  expect(written).toEqual(["plan", "reason"]);
});

it("calls no thread durable whose write failed, until a run begins with what is stored", async () => {
  const settling = new WriteTracker();
  await expect(settling.write("thread", failing)).rejects.toThrow(full);

  await expect(settling.flush("thread")).rejects.toThrow(full);
  await expect(settling.flush("other")).resolves.toBeUndefined();
  await expect(settling.drain("thread")).resolves.toBeUndefined();
  settling.resetFailures("thread");
  await expect(settling.flush("thread")).resolves.toBeUndefined();
});

it("tells who watches a run of its first failure, and writes nothing more for it", async () => {
  const settling = new WriteTracker();
  const onFailure = vi.fn<(error: unknown) => void>();
  const later = vi.fn<() => Promise<void>>(fine);
  const release = settling.watch("thread", onFailure);

  await settling.write("thread", failing);
  await settling.write("thread", later);
  settling.refuse("thread", new Error("another"));

  expect(onFailure.mock.calls).toEqual([[full]]);
  expect(later).not.toHaveBeenCalled();
  settling.resetFailures("thread");
  await expect(settling.flush("thread")).rejects.toThrow(full);
  release();
  await settling.write("thread", later);
  expect(later).toHaveBeenCalledOnce();
});

it("reports a write that fails after its run was watched to that run, not to the next of the thread", async () => {
  const settling = new WriteTracker();
  const [one, next] = [vi.fn<(error: unknown) => void>(), vi.fn<(error: unknown) => void>()];
  const held = deferred();
  const endWatch = settling.watch("thread", one);
  const late = settling.write("thread", () => held.promise.then(failing));
  endWatch();
  settling.watch("thread", next);
  held.resolve();
  await late;

  expect(one.mock.calls).toEqual([[full]]);
  expect(next).not.toHaveBeenCalled();
});

it("has a run write nothing more when it is refused", async () => {
  const settling = new WriteTracker();
  const onFailure = vi.fn<(error: unknown) => void>();
  const later = vi.fn<() => Promise<void>>(fine);
  settling.watch("thread", onFailure);

  settling.refuse("thread", full);
  await settling.write("thread", later);

  expect(onFailure.mock.calls).toEqual([[full]]);
  expect(later).not.toHaveBeenCalled();
});
