import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { opensBrowser } from "../../../src/cli/dev/dev-command.ts";
import { madeLog } from "../../helpers/experiment-logs.ts";
import { copyDatabase } from "../../helpers/pglite-template.ts";
import { bundledProgram, shortLived } from "../../helpers/programs.ts";
import { packageEntry, useFolders } from "../folder.ts";
import { memorySink } from "../memory-io.ts";

const folder = useFolders();
const started: ChildProcess[] = [];
const tsx = import.meta.resolve("tsx");

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
});

/** Starts `stratagraph dev` in a process of its own. */
function start(cwd: string, ...argv: readonly string[]) {
  const child = spawn(
    process.execPath,
    [shortLived, "--import", tsx, bundledProgram("src/cli/main.ts"), "dev", ...argv],
    { cwd, env: { PATH: process.env["PATH"] }, stdio: ["ignore", "pipe", "pipe"] },
  );
  started.push(child);
  const exited = once(child, "exit");
  const texts = { stdout: "", stderr: "" };
  let read = 0;
  let look = () => {};
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      texts[name] += String(chunk);
      look();
    });
  }
  return {
    child,
    exited,
    texts,
    /** Waits for a text after those that were waited for before. */
    printed: (pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        look = () => {
          const found = pattern.exec(texts.stdout.slice(read));
          if (found === null) return;
          read += found.index + found[0].length;
          look = () => {};
          resolve(found);
        };
        child.once("exit", () => reject(new Error(`${pattern}: ${texts.stdout}${texts.stderr}`)));
        look();
      }),
  };
}

async function newFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const cwd = await folder({});
  copyDatabase(join(cwd, ".stratagraph", "database"));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(cwd, file, ".."), { recursive: true });
    await writeFile(join(cwd, file), text);
  }
  return cwd;
}

async function readJson(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

async function versionsAt(url: string): Promise<string[]> {
  const { agents } = (await readJson(`${url}/v1/agents`)) as {
    agents: { name: string; version: string }[];
  };
  return agents.map(({ name, version }) => `${name} ${version}`).toSorted();
}

/** An agent that answers with the text of a file. */
function reading(name: string, path: string): string {
  return `name: ${name}
tools: [read_file]
permissions: ["file:read"]
workflow_graph:
  entry_point: read
  nodes:
    - { name: read, type: tool, config: { tool: read_file, args: { path: "${path}" } } }
  edges:
    - { from: read, to: END }
  output: { message: "\${nodes.read.result.content}" }
`;
}

/** What each agent answers, or why it fails, by name. */
async function answersAt(url: string): Promise<Record<string, string>> {
  const { agents } = (await readJson(`${url}/v1/agents`)) as {
    agents: { id: string; name: string }[];
  };
  const answers = agents.map(async ({ id, name }) => {
    const runs = `${url}/v1/agents/${id}/runs`;
    const queued = await fetch(runs, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ input: { message: "Read." } }),
    });
    const { run_id: run } = (await queued.json()) as { run_id: string };
    await (await fetch(`${runs}/${run}/events`)).text();
    const { result } = (await readJson(`${runs}/${run}`)) as {
      result: { output: { message: string | null; cause: { message: string } | null } };
    };
    return [name, result.output.message ?? result.output.cause?.message ?? ""] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
}

const ready = /Inspector +(\S+)\/inspector\/[^]*Ctrl-C stops the server/;

describe("the process of stratagraph dev", () => {
  it("reloads definitions and tools, reports problems, keeps the last good version, and ends with 0", async () => {
    const cwd = await newFolder({
      "agents/helper.yaml": "name: helper\n",
      "agents/lead/agent.yaml": "name: lead\ndescription: First.\n",
      "agents/lead/agent.ts": "",
      "agents/lead/logs/drift.jsonl": madeLog({ run_id: "drift", cycles: [{}] }),
    });
    const file = join(cwd, "agents", "helper.yaml");
    const dev = start(cwd, "agents", "--port", "0");
    const [block, url = ""] = await dev.printed(ready);
    expect(block).toContain("Agents     helper 1.0.0   helper.yaml");
    expect(block).toContain("lead 1.0.0     lead/agent.yaml");
    expect(block).toMatch(/Left out {3}lead\/agent.ts {2}an agent in code/);
    expect(block).toContain("offline:rules");
    expect(block).toContain("Data       .stratagraph/");
    const { tools } = (await readJson(`${url}/v1/tools?filter=name:list_files`)) as {
      tools: readonly { id: string }[];
    };
    const listed = await fetch(`${url}/v1/tools/${tools[0]?.id ?? ""}/execute`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ permissions: ["file:read"] }),
    });
    expect(await listed.text()).toContain("helper.yaml");
    expect(await readJson(`${url}/v1/experiments`)).toMatchObject({
      experiments: [{ title: "drift", folder: "lead/logs", logs: 1 }],
    });

    await writeFile(file, "name: helper\ndescription: New.\n");
    await dev.printed(/Reloaded helper 1\.0\.1 {2}helper\.yaml\n/);
    expect(await versionsAt(url)).toEqual(["helper 1.0.1", "lead 1.0.0"]);

    await writeFile(file, "name: helper\ndescripton: New.\n");
    await writeFile(
      join(cwd, "agents", "lead", "agent.yaml"),
      "name: lead\ndescription: Second.\n",
    );
    await dev.printed(
      /Reloaded lead 1\.0\.1[^]*1 problem\n {4}helper\.yaml:2:1 descripton: unknown key .*did you mean "description"/,
    );
    expect(await versionsAt(url)).toEqual(["helper 1.0.1", "lead 1.0.1"]);
    const answer = await fetch(`${url}/v1/dev/problems`);
    expect(await answer.json()).toMatchObject({
      agents: [
        { name: "helper", version: "1.0.1", file: "helper.yaml" },
        { name: "lead", version: "1.0.1", file: "lead/agent.yaml" },
      ],
      problems: [
        { file: "helper.yaml", line: 2, column: 1, path: "descripton", suggestion: "description" },
      ],
      left_out: [{ file: "lead/agent.ts" }],
    });
    const headers = { "If-None-Match": answer.headers.get("etag") ?? "" };
    expect((await fetch(`${url}/v1/dev/problems`, { headers })).status).toBe(304);

    // As editors do that write a file of another name first.
    await writeFile(`${file}.swp`, "name: helper\ntools: [shout]\n");
    await rename(`${file}.swp`, file);
    await dev.printed(
      /helper\.yaml:2:9 tools\[0\]: expected the name or the id of a tool \(found "shout"\)\n/,
    );
    expect((await fetch(`${url}/v1/dev/problems`, { headers })).status).toBe(200);
    const module = `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineTool } from ${JSON.stringify(packageEntry)};
export const tools = [defineTool({ name: "shout", description: "First words.", input_schema: z.object({}), handler: () => "hey" })];\n`;
    await writeFile(join(cwd, "agents", "tools.ts"), module);
    await dev.printed(/Reloaded helper 1\.0\.2[^]*No problems\.\n/);
    await writeFile(join(cwd, "agents", "tools.ts"), module.replace("First", "Other"));
    await writeFile(join(cwd, "agents", "third.yml"), "name: third\ntools: [shout]\n");
    await dev.printed(/Added third 1\.0\.0 {2}third\.yml\n/);
    expect(JSON.stringify(await readJson(`${url}/v1/tools`))).toContain("Other words.");

    await rm(join(cwd, "agents", "third.yml"));
    await dev.printed(/Removed third\.yml: third 1\.0\.0 stays in the database\n/);
    dev.child.kill("SIGINT");
    expect(await dev.exited).toEqual([0, null]);
    expect(dev.texts.stderr).toBe("");
  });

  it("gives file tools the folder of the agent's file, and names the process that has the data", async () => {
    const cwd = await newFolder({
      "agent.yaml": reading("all", "other/note.txt"),
      "desk/agent.yaml": reading("desk", "note.txt"),
      "desk/note.txt": "of the desk",
      "other/note.txt": "of another",
      "peek/agent.yaml": reading("peek", "../other/note.txt"),
    });
    const first = start(cwd, "--port", "0");
    const [, url = ""] = await first.printed(ready);
    expect(await answersAt(url)).toEqual({
      all: "of another",
      desk: "of the desk",
      peek: expect.stringContaining('The path "../other/note.txt" is refused'),
    });
    const second = start(cwd, "--port", "0");
    expect(await second.exited).toEqual([1, null]);
    expect(second.texts.stderr).toContain(`is in use by process ${first.child.pid}`);
    expect(second.texts.stderr).toContain("End it, choose another folder, or set DATABASE_URL");
  });

  it("takes the next free port and says so, unless a port was asked for", async () => {
    const holder = createServer();
    onTestFinished(() => void holder.close());
    // Another process may have the port already, which is as good.
    await new Promise<void>((resolve) => {
      holder.once("error", () => resolve());
      holder.listen(2024, "127.0.0.1", () => resolve());
    });
    const cwd = await newFolder({});
    const dev = start(cwd);
    const [block, url = ""] = await dev.printed(ready);
    expect(Number(new URL(url).port)).toBeGreaterThan(2024);
    expect(block).toContain("2024 is taken, so this is the next free one");
    expect(block).toContain("Agents     none yet");
    dev.child.kill("SIGTERM");
    expect(await dev.exited).toEqual([0, null]);
    const asked = start(cwd, "--port", "2024");
    expect(await asked.exited).toEqual([2, null]);
    expect(asked.texts.stderr).toContain("cannot listen on 127.0.0.1:2024 (EADDRINUSE)");
  });

  it("refuses addresses other than loopback", async () => {
    const dev = start(await newFolder({}), "--host", "0.0.0.0", "--port", "0");
    expect(await dev.exited).toEqual([2, null]);
    expect(dev.texts.stderr).toContain("[unprotected_server]");
  });
});

it.each([
  { isWanted: true, isTerminal: true, env: {}, opens: true },
  { isWanted: false, isTerminal: true, env: {}, opens: false },
  { isWanted: true, isTerminal: false, env: {}, opens: false },
  { isWanted: true, isTerminal: true, env: { CI: "true" }, opens: false },
])("opens a browser: $opens, for %j", ({ isWanted, isTerminal, env, opens }) => {
  expect(opensBrowser(isWanted, { stdout: memorySink({ isTerminal }), env })).toBe(opens);
});
