import { afterEach, describe, expect, it, vi } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { useFolders } from "../folder.ts";
import { type MemoryIo, memoryIo } from "../memory-io.ts";

const folder = useFolders();

const running: MemoryIo[] = [];

afterEach(() => {
  for (const io of running.splice(0)) io.stop("SIGTERM");
});

function newIo(cwd: string) {
  const io = memoryIo({ cwd });
  running.push(io);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    io[name].write = (text) => {
      texts[name] += text;
    };
  }
  return { io, texts };
}

/** Starts the command, and gives the address that it prints. */
async function serve(cwd: string, ...flags: string[]) {
  const { io, texts } = newIo(cwd);
  const exit = runCli(["serve", "--port", "0", ...flags], io);
  const url = await vi.waitFor(() => {
    const [, found] = /Listening on (\S+)[\s\S]*Reference:/.exec(texts.stdout) ?? [];
    if (found === undefined) throw new Error(texts.stderr || "not listening yet");
    return found;
  }, 60_000);
  return { io, texts, exit, url };
}

describe("stratagraph serve", () => {
  it("serves the definitions of a folder and ends with 0 after a signal", async () => {
    const cwd = await folder({ "helper.yaml": "name: helper\n" });
    const flags = ["--dev", "--agents", ".", "--experiments", "."];
    const { io, texts, exit, url } = await serve(cwd, ...flags);
    expect(texts.stdout).toContain("Mode: development. NO KEYS ARE NEEDED");
    expect(texts.stdout).toContain("Agents: helper 1.0.0");
    const versionOf = async () => {
      const answer = (await (await fetch(`${url}/v1/agents`)).json()) as {
        agents: { version: string }[];
      };
      return answer.agents.map(({ version }) => version);
    };
    expect(await versionOf()).toEqual(["1.0.0"]);
    const { is_served: isServed } = (await (await fetch(`${url}/v1/experiments`)).json()) as {
      is_served: boolean;
    };
    expect(isServed).toBe(true);
    io.stop("SIGTERM");
    expect(await exit).toBe(0);
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(io.listening).toBe(0);
  });

  it("requires keys unless it is development", async () => {
    const { io, texts, exit, url } = await serve(await folder({}));
    expect(texts.stdout).toContain("Mode: keys are required.");
    expect((await fetch(`${url}/v1/agents`)).status).toBe(401);
    io.stop("SIGINT");
    expect(await exit).toBe(0);
  });

  it("refuses development on another address than loopback, and wrong definitions, with 2", async () => {
    const cwd = await folder({ "a.yaml": "name: A B\n" });
    const open = newIo(cwd);
    const flags = ["serve", "--dev", "--port", "0"];
    expect(await runCli([...flags, "--host", "0.0.0.0"], open.io)).toBe(2);
    expect(open.texts.stderr).toContain("[unprotected_server]");
    const wrong = newIo(cwd);
    expect(await runCli([...flags, "--agents", "."], wrong.io)).toBe(2);
    expect(wrong.texts.stderr).toContain("a.yaml:1");
    const gone = newIo(cwd);
    expect(await runCli([...flags, "--experiments", "gone"], gone.io)).toBe(2);
    expect(gone.texts.stderr).toContain("[folder_not_found]");
  });
});
