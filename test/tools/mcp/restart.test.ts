import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../../src/definition/schema/servers.ts";
import type { StatelessTool, ToolContext } from "../../../src/definition/tool/tool.ts";
import { useChildren } from "../../helpers/child-process.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { misbehaving } from "./misbehaving.ts";
import { isAlive, toolNamed, useToolServers } from "./use-servers.ts";

const setUp = useToolServers();
const startProgram = useChildren();
const folder = tempFolder();
let files = 0;

/** A server that can be made to die, and whose starts are counted. */
function mortal(): {
  spec: ServerSpec;
  starts: () => readonly number[];
  break: () => void;
  mend: () => void;
} {
  const file = join(folder, `starts-${(files += 1)}`);
  return {
    spec: misbehaving("dies in a call", { argument: file, env: { TOKEN: "{{secret:TOKEN}}" } }),
    starts: () => readFileSync(file, "utf8").trim().split("\n").map(Number),
    break: () => writeFileSync(`${file}.broken`, ""),
    mend: () => rmSync(`${file}.broken`),
  };
}

const secrets = { TOKEN: "hush hush" };

/** Runs a tool without the timeout that belongs to its caller. */
function runs(tool: StatelessTool, args: unknown, signal = new AbortController().signal) {
  return Promise.resolve(tool.run(args, { signal } as ToolContext));
}

describe("a process that dies", () => {
  it("ends the call under way with an error, and the next one starts it again", async () => {
    const clock = new ManualClock();
    const { servers, call } = setUp({ clock, secrets });
    const server = mortal();
    const found = await servers.connect(server.spec);
    const tool = toolNamed(found, "do") as StatelessTool;
    await expect(runs(tool, { die: true })).rejects.toMatchObject({
      code: "server_died",
      kind: "run",
      server: "bad",
      exitCode: 9,
      transient: true,
      retryable: false,
      message:
        'The tool server "bad" is gone. Its process ended with exit code 9. The end of its standard error:\ndying with {{secret:TOKEN}} Whether the call was carried out is not known.',
    });
    expect(servers.status()).toMatchObject([
      { state: "restarting", restarts: 0, problem: expect.stringContaining("exit code 9") },
    ]);
    clock.advance(1_000);
    expect(await call(found, "do")).toMatchObject({ outcome: "success", result: "alive" });
    expect(servers.status()).toMatchObject([{ state: "connected", restarts: 1, problem: null }]);
    expect(server.starts()).toHaveLength(2);
  });

  it("is started no sooner than its backoff, for as many calls as wait", async () => {
    const clock = new ManualClock();
    const { servers } = setUp({ clock, secrets });
    const server = mortal();
    const tool = toolNamed(await servers.connect(server.spec), "do") as StatelessTool;
    await expect(runs(tool, { die: true })).rejects.toThrow("is gone");
    const waiting = [runs(tool, {}), runs(tool, {})];
    await expect.poll(() => clock.isDueWithin(1_000)).toBe(true);
    expect(clock.isDueWithin(499)).toBe(false);
    clock.advance(1_000);
    expect(await Promise.all(waiting)).toEqual(["alive", "alive"]);
    expect(server.starts()).toHaveLength(2);
  });

  it("is waited for no longer than the call's signal allows", async () => {
    const clock = new ManualClock();
    const { servers } = setUp({ clock, secrets });
    const tool = toolNamed(await servers.connect(mortal().spec), "do") as StatelessTool;
    await expect(runs(tool, { die: true })).rejects.toThrow("is gone");
    const controller = new AbortController();
    const waiting = runs(tool, {}, controller.signal);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  it("is down after five failed starts, and tried again when the backoff is over", async () => {
    const clock = new ManualClock();
    const { servers, call } = setUp({ clock, secrets });
    const server = mortal();
    const found = await servers.connect(server.spec);
    const tool = toolNamed(found, "do") as StatelessTool;
    await expect(runs(tool, { die: true })).rejects.toThrow("is gone");
    server.break();
    for (let start = 1; start <= 5; start += 1) {
      clock.advance(60_000);
      await expect(runs(tool, {})).rejects.toMatchObject({
        code: "server_start",
        transient: true,
        retryable: true,
        message: expect.stringContaining("exit code 7"),
      });
    }
    expect(servers.status()).toMatchObject([{ state: "down" }]);
    await expect(runs(tool, {})).rejects.toMatchObject({
      code: "server_died",
      retryable: true,
      message: expect.stringMatching(
        /^The tool server "bad" is gone\. 5 starts in a row have failed; the next is tried in \d\d s\. The last: .*still broken/s,
      ),
    });
    expect(server.starts()).toHaveLength(6);
    server.mend();
    clock.advance(60_000);
    expect(await call(found, "do")).toMatchObject({ result: "alive" });
    expect(servers.status()).toMatchObject([{ state: "connected", restarts: 1 }]);
  });
});

describe("the life of a server", () => {
  it("is shared by equal specs, also by those that connect at once", async () => {
    const { servers } = setUp({ secrets });
    const { spec, starts } = mortal();
    const [one, two] = await Promise.all([servers.connect(spec), servers.connect({ ...spec })]);
    expect(two).toBe(one);
    expect(await servers.connect(structuredClone(spec))).toBe(one);
    expect(starts()).toHaveLength(1);
  });

  it("ends with all that it started", async () => {
    const { servers, call } = setUp({ secrets });
    const mother = await servers.connect(misbehaving("has a child that holds its pipes"));
    const child = Number((await call(mother, "do")).result);
    const { spec, starts } = mortal();
    await servers.connect(spec);
    expect([...starts(), child].map(isAlive)).toEqual([true, true]);
    await servers.close();
    await expect.poll(() => [...starts(), child].map(isAlive)).toEqual([false, false]);
    expect(servers.status()).toMatchObject([{ state: "closed" }, { state: "closed" }]);
    await expect(servers.connect(spec)).rejects.toThrow("are closed");
  });

  it("ends with a program that closes nothing", async () => {
    const file = join(folder, "exit");
    const child = startProgram("test/tools/mcp/programs/exit-without-closing.ts", file);
    expect(await child.nextLine()).toBe("connected");
    const pid = Number(readFileSync(file, "utf8"));
    expect(isAlive(pid)).toBe(true);
    child.send("exit");
    await expect(child.nextLine()).rejects.toThrow("ended without printing");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("ends the calls under way when it is closed, and refuses later ones", async () => {
    const { servers } = setUp({ secrets });
    const file = join(folder, "closed");
    const found = await servers.connect(misbehaving("waits for ever", { argument: file }));
    const tool = toolNamed(found, "do") as StatelessTool;
    const waiting = runs(tool, {});
    await expect.poll(() => readFileSync(file, "utf8")).toContain("tools/call");
    waiting.catch(() => {});
    await servers.close();
    await expect(waiting).rejects.toMatchObject({ code: "server_died" });
    await expect(runs(tool, {})).rejects.toThrow('The tool server "bad" is gone. It was closed.');
  });

  it("cancels a call at the server when its signal aborts", async () => {
    const { servers } = setUp({ secrets });
    const file = join(folder, "cancelled");
    const found = await servers.connect(misbehaving("waits for ever", { argument: file }));
    const controller = new AbortController();
    const waiting = runs(toolNamed(found, "do") as StatelessTool, {}, controller.signal);
    await expect.poll(() => readFileSync(file, "utf8")).toContain("tools/call");
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect.poll(() => readFileSync(file, "utf8")).toMatch(/notifications\/cancelled \d+/);
  });

  it("times out as its tool says", async () => {
    const { servers, call } = setUp({ secrets });
    const file = join(folder, "timeout");
    const found = await servers.connect(
      misbehaving("waits for ever", { argument: file, execution: { timeout_ms: 50 } }),
    );
    expect((await call(found, "do")).outcome).toBe("timeout");
  });

  it("ends when it is not used, and begins again when it is", async () => {
    const clock = new ManualClock();
    const { servers, call } = setUp({ clock, secrets, idleMs: 60_000 });
    const { spec, starts } = mortal();
    const found = await servers.connect(spec);
    clock.advance(59_999);
    await call(found, "do");
    clock.advance(59_999);
    expect(servers.status()).toMatchObject([{ state: "connected" }]);
    clock.advance(1);
    expect(servers.status()).toMatchObject([
      { state: "closed", problem: "it was not used for 60,000 ms; the next call starts it again" },
    ]);
    await expect.poll(() => starts().map(isAlive)).toEqual([false]);
    expect((await call(found, "do")).result).toBe("alive");
    expect(servers.status()).toMatchObject([{ state: "connected", restarts: 1 }]);
  });
});
