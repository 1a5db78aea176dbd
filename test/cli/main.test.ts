import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { copyDatabase } from "../helpers/pglite-template.ts";
import { bundledProgram, shortLived } from "../helpers/programs.ts";
import { useFolders } from "./folder.ts";

const folderWith = useFolders();
/** Loads the tools that a command names. */
const tsx = import.meta.resolve("tsx");
const main = bundledProgram("src/cli/main.ts");
const gateTools = fileURLToPath(new URL("gate-tools.ts", import.meta.url));

const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
});

function stratagraph(cwd: string, ...argv: string[]) {
  const child = spawn(process.execPath, [shortLived, "--import", tsx, main, ...argv], {
    cwd,
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  started.push(child);
  const exited = once(child, "exit");
  return {
    child,
    exited,
    async output() {
      const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
      const [code] = (await exited) as [number | null];
      return { stdout, stderr, code };
    },
  };
}

it("cancels the turn on Ctrl-C, says how to go on, and does so", async () => {
  const cwd = await folderWith({ "gate.yaml": "name: gate\ntools: [wait_gate]\n" });
  // Making a new database takes seconds, and is not what is tested.
  copyDatabase(join(cwd, ".stratagraph", "database"));
  const first = stratagraph(cwd, "run", "gate.yaml", "Wait for the gate", "--tools", gateTools);
  const told = first.output();
  expect(await once(first.child, "message")).toEqual(["waiting", undefined]);
  first.child.kill("SIGINT");
  const cancelled = await told;
  expect(cancelled).toMatchObject({ code: 1, stderr: "" });
  expect(cancelled.stdout).toContain("■ wait_gate  interrupted\n\n■ Cancelled. To continue:\n");
  const [command = ""] = /stratagraph run .*/.exec(cancelled.stdout) ?? [];
  expect(command).toMatch(/^stratagraph run gate\.yaml --thread [\da-f-]{36} --tools \S+$/);
  expect(existsSync(join(cwd, ".stratagraph", "lock"))).toBe(false);

  const second = stratagraph(cwd, ...command.split(" ").slice(1), "--json");
  const resumed = second.output();
  await once(second.child, "message");
  second.child.send("open");
  const { stdout, stderr, code } = await resumed;
  expect(JSON.parse(stdout)).toMatchObject({
    thread_id: command.split(" ")[4],
    status: "COMPLETED",
    output: { message: "[offline:rules] The gate is open." },
    steps: [{ turn_number: 0, next_action: "use_tools" }, { next_action: "finish" }],
  });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
}, 90_000);

it("exits by the kind of error, with nothing on standard output", async () => {
  const refused = await stratagraph(await folderWith({}), "run", "none.yaml", "hi").output();
  expect(refused).toEqual({
    stdout: "",
    stderr: "error: There is no file none.yaml. [file_not_found]\n",
    code: 2,
  });
});

it("bears that nobody reads what it prints", async () => {
  const { child, exited } = stratagraph(await folderWith({}), "--help");
  child.stdout?.destroy();
  const stderr = await text(child.stderr!);
  expect([stderr, (await exited)[0]]).toEqual(["", 0]);
});
