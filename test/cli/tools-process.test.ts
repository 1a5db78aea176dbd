import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, it } from "vitest";
import { bundledProgram } from "../helpers/programs.ts";
import { namesIn, useFolders } from "./folder.ts";
import { misbehaving } from "./servers.ts";

const folderWith = useFolders();
const main = bundledProgram("src/cli/main.ts");

let started: ChildProcess | undefined;
afterEach(() => void started?.kill("SIGKILL"));

it("cancels the call of a server's tool on Ctrl-C, and ends", async () => {
  const folder = await folderWith({});
  const log = join(folder, "log");
  const cwd = await folderWith({
    "agent.json": JSON.stringify({
      name: "a",
      tools: [misbehaving("slow", ["waits for ever", log])],
    }),
  });
  const argv = [main, "tools", "call", "do", "agent.json"];
  const child = spawn(process.execPath, argv, { cwd, env: { PATH: process.env["PATH"] } });
  started = child;
  const told = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  const logged = () => (existsSync(log) ? readFileSync(log, "utf8") : "");
  await expect.poll(logged).toContain("tools/call");
  child.kill("SIGINT");
  const [stdout, stderr, [code]] = await told;
  expect({ stdout, stderr, code }).toEqual({
    stdout: "",
    stderr: "error: Stopped before completion. [stopped]\n",
    code: 1,
  });
  expect(await namesIn(cwd)).toEqual(["agent.json"]);
}, 60_000);
