import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { hasOwnGroup, signalChild, trackChild } from "../../../src/tools/mcp/child-processes.ts";
import { useChildren } from "../../helpers/child-process.ts";
import { isAlive } from "./use-servers.ts";

const startProgram = useChildren();
const program = "test/tools/mcp/programs/track-a-child.ts";

describe("a tracked child", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"])("ends with a process that %s ends", async (signal) => {
    const parent = startProgram(program);
    const child = Number(await parent.nextLine());
    expect(isAlive(child)).toBe(true);
    process.kill(parent.pid, signal);
    await expect(parent.nextLine()).rejects.toThrow("ended without printing");
    await expect.poll(() => [child, parent.pid].map(isAlive)).toEqual([false, false]);
  });

  it("goes on where the process listens to the signal and goes on, until it exits", async () => {
    const parent = startProgram(program, "SIGINT");
    const child = Number(await parent.nextLine());
    for (let time = 1; time <= 2; time += 1) {
      process.kill(parent.pid, "SIGINT");
      expect(await parent.nextLine()).toBe("heard SIGINT");
      expect(isAlive(child)).toBe(true);
    }
    parent.send("exit");
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  it("leaves no listeners behind when none is alive", async () => {
    const counts = () =>
      ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((event) => process.listenerCount(event));
    const before = counts();
    const children = [1, 2].map(() =>
      spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
        stdio: "ignore",
        detached: hasOwnGroup,
      }),
    );
    for (const child of children) trackChild(child);
    expect(counts()).toEqual(before.map((count) => count + 1));
    for (const child of children) {
      const ended = once(child, "exit");
      signalChild(child, "SIGKILL");
      await ended;
    }
    expect(counts()).toEqual(before);
  });
});
