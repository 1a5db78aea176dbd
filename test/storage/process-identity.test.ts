import { expect, test } from "vitest";
import { isRunning, processStart } from "../../src/storage/folder-lock.ts";
import { useChildren } from "../helpers/child-process.ts";

const start = useChildren();

test("knows a process by its id and start", async () => {
  const child = start("test/storage/programs/hold-folder.ts", "unused");
  const started = processStart(child.pid);
  expect(isRunning(child.pid, started)).toBe(true);
  expect(isRunning(process.pid, processStart(process.pid))).toBe(true);

  await child.kill();
  expect(isRunning(child.pid, started)).toBe(false);
  expect(processStart(child.pid)).toBeUndefined();
});

test.skipIf(processStart(process.pid) === undefined)(
  "tells processes with one id apart by their start",
  () => {
    expect(processStart(process.pid)).toBe(processStart(process.pid));
    expect(isRunning(process.pid, processStart(process.ppid))).toBe(false);
  },
);

test("takes a process of unknown start for the one that runs", () => {
  expect(isRunning(process.pid, undefined)).toBe(true);
});
