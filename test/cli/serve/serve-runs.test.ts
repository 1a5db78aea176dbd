import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { type OpenAIServer, openAIServer, Silence } from "../../helpers/openai-server.ts";
import { copyDatabase } from "../../helpers/pglite-template.ts";
import { bundledProgram, shortLived } from "../../helpers/programs.ts";
import { useFolders } from "../folder.ts";

const folderWith = useFolders();
const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
});

/** Starts `stratagraph serve` in a process of its own. */
function serve(cwd: string, ...flags: string[]) {
  const main = bundledProgram("src/cli/main.ts");
  const argv = ["serve", "--dev", "--port", "0", "--agents", "agents", ...flags];
  const child = spawn(process.execPath, [shortLived, main, ...argv], {
    cwd,
    env: { PATH: process.env["PATH"], OPENAI_API_KEY: "sk-test", STRATAGRAPH_EMBEDDINGS: "none" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.push(child);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => {
      texts[name] += chunk.toString();
    });
  const exit = once(child, "close").then(([code]) => code as number | null);
  const ask = async (path: string, body?: object) => {
    const init = { method: "POST", body: JSON.stringify(body) };
    const [, url = ""] = await vi.waitFor(() => {
      const found = /Listening on (\S+)[\s\S]*Reference:/.exec(texts.stdout);
      if (found === null) throw new Error(texts.stderr || "not listening yet");
      return found;
    }, waiting);
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, body && { ...init, headers });
    return (await response.json()) as Record<string, unknown>;
  };
  const agentId = async () => {
    const { agents } = (await ask("/v1/agents")) as { agents: { id: string; version: string }[] };
    return { path: `/v1/agents/${agents[0]?.id ?? ""}/runs`, version: agents[0]?.version };
  };
  return {
    child,
    texts,
    exit,
    agent: agentId,
    /** Queues a run, and returns its path. */
    async run(message: string) {
      const { path } = await agentId();
      const { run_id: id } = await ask(path, { input: { message } });
      return `${path}/${String(id)}`;
    },
    until: (path: string, status: string) =>
      vi.waitFor(async () => {
        const run = await ask(path);
        expect(run).toMatchObject({ status });
        return run;
      }, waiting),
    logs: () =>
      texts.stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
const waiting = { timeout: 60_000, interval: 150 };

async function project(definition: string): Promise<string> {
  const cwd = await folderWith({});
  await mkdir(join(cwd, "agents"));
  await writeFile(join(cwd, "agents", "helper.yaml"), definition);
  // Making a new database takes seconds, and is not what is tested.
  copyDatabase(join(cwd, ".stratagraph", "database"));
  return cwd;
}

const remote = ({ url }: OpenAIServer) =>
  `name: helper\nllm_config:\n  default_model: openai:gpt-4o-mini\n  base_url: ${url}\n`;

it("executes runs, reads changed definitions at a start, and hands over what a signal interrupts", async () => {
  await using model = await openAIServer();
  const cwd = await project("name: helper\ntools: [calculator]\n");
  const first = serve(cwd, "--shutdown-seconds", "0", "--model", "offline:rules");
  const offline = await first.until(await first.run("What is 6 * 7?"), "complete");
  expect(JSON.stringify(offline["result"])).toContain("42");

  const second = serve(cwd);
  expect(await second.exit).not.toBe(0);
  expect(second.texts.stderr).toContain(`is in use by process ${first.child.pid}`);
  expect(second.texts.stderr).toContain("[folder_locked]");

  await writeFile(join(cwd, "agents", "helper.yaml"), remote(model));
  first.child.kill("SIGTERM");
  expect(await first.exit).toBe(0);
  const third = serve(cwd, "--shutdown-seconds", "0");
  const silent = new Silence();
  model.answer({ silent }, { text: "It is forty-two." });
  const path = await third.run("And in words?");
  expect((await third.agent()).version).toBe("1.0.1");
  await silent.asked;
  third.child.kill("SIGTERM");
  expect(await third.exit).toBe(0);
  expect(existsSync(join(cwd, ".stratagraph", "lock"))).toBe(false);
  const facts = { run_id: expect.any(String), tenant: expect.any(String), ms: expect.any(Number) };
  const logged = [first, third].map((of) => of.logs().filter(({ msg }) => msg === "run"));
  expect(logged).toMatchObject([
    [{ ...facts, state: "complete" }],
    [{ ...facts, state: "handed_over" }],
  ]);
  for (const { texts } of [first, third]) expect(texts.stderr).not.toMatch(/6 \* 7|in words|forty/);

  const next = serve(cwd);
  const resumed = await next.until(path, "complete");
  expect(JSON.stringify(resumed["result"])).toContain("It is forty-two.");
  next.child.kill("SIGINT");
  expect(await next.exit).toBe(0);
});

it("ends at once at a second signal", async () => {
  await using model = await openAIServer();
  const cwd = await project(remote(model));
  const server = serve(cwd, "--shutdown-seconds", "600");
  const silent = new Silence();
  model.answer({ silent });
  await server.run("Wait");
  await silent.asked;
  server.child.kill("SIGTERM");
  await vi.waitFor(() => expect(server.texts.stderr).toContain("shutting down"), waiting);
  server.child.kill("SIGTERM");
  expect(await server.exit).toBe(143);
  expect(existsSync(join(cwd, ".stratagraph", "lock"))).toBe(false);
});
