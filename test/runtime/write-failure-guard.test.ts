import { expect, it } from "vitest";
import { WriteTracker } from "../../checkpointers/writing/write-tracker.ts";
import { withWriteFailureGuard } from "../../src/runtime/write-failure-guard.ts";

const of = { threadId: "t", signal: undefined, lockLost: undefined };

it("waits under async until all that the run put is stored, and fails with what could not be stored", async () => {
  const log: string[] = [];
  const full = new Error("disk full");
  const watch = {
    watchRun: (_thread: string, onFailure: (error: unknown) => void, options?: object) => {
      log.push(`watch ${JSON.stringify(options)}`);
      fail = onFailure;
      return () => void log.push("end");
    },
    drain: async () => {
      log.push("drain");
      fail(full);
    },
  };
  let fail: (error: unknown) => void = () => {};
  const run = async () => log.push("run");
  await expect(withWriteFailureGuard(watch, { ...of, durability: "async" }, run)).rejects.toBe(
    full,
  );
  expect(log).toEqual(['watch {"isAhead":true}', "run", "drain", "end"]);
  log.splice(0);
  await withWriteFailureGuard(watch, { ...of, durability: "sync" }, run);
  expect(log).toEqual(['watch {"isAhead":false}', "run", "end"]);
});

it("watches a run that failed until the puts behind the failed one were dropped", async () => {
  const writes = new WriteTracker();
  const watch = {
    watchRun: writes.watch.bind(writes),
    flush: writes.flush.bind(writes),
    drain: writes.drain.bind(writes),
  };
  const stored: string[] = [];
  const full = new Error("disk full");
  const run = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      // As LangGraph: each put begins when the one before has ended, and the caller does not wait for it.
      void writes
        .write("t", () => new Promise((_done, failed) => setImmediate(failed, full)))
        .then(() => Promise.all([]))
        .then(() => Promise.all([]))
        .then(() => writes.write("t", async () => void stored.push("behind")));
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  await expect(withWriteFailureGuard(watch, { ...of, durability: "async" }, run)).rejects.toBe(
    full,
  );
  await new Promise(setImmediate);
  expect(stored).toEqual([]);
});
