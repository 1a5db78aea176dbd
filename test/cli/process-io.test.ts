import { afterEach, expect, it, vi } from "vitest";
import { processIo } from "../../src/cli/process-io.ts";

afterEach(() => void vi.restoreAllMocks());

it("asks once to stop, ends at once when asked again, and leaves no listener behind", () => {
  const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  const before = process.listenerCount("SIGINT");
  const reasons: string[] = [];
  const release = processIo().onStop((reason) => reasons.push(reason));
  process.emit("SIGINT", "SIGINT");
  expect(reasons).toEqual(["SIGINT"]);
  expect(exit).not.toHaveBeenCalled();
  process.emit("SIGINT", "SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
  process.emit("SIGTERM", "SIGTERM");
  expect(exit).toHaveBeenCalledWith(143);
  expect(reasons).toEqual(["SIGINT"]);
  release();
  expect(process.listenerCount("SIGINT")).toBe(before);
});

it("asks to stop when the output breaks, and writes no more", () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const io = processIo();
  const reasons: string[] = [];
  const release = io.onStop((reason) => reasons.push(reason));
  io.stdout.write("one");
  process.stdout.emit("error", new Error("write EPIPE"));
  io.stdout.write("two");
  release();
  expect(reasons).toEqual(["output_closed"]);
  expect(write.mock.calls).toEqual([["one"]]);
});
