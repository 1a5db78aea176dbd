import { expect, it } from "vitest";
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
