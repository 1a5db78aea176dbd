import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { startDevServer } from "../helpers/dev-server.ts";
import { copyDatabase } from "../helpers/pglite-template.ts";
import { bundledProgram, shortLived } from "../helpers/programs.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const definition = readFileSync("examples/api/agent.json", "utf8");
const waiting = { timeout: 60_000, interval: 150 };

/** A folder with an embedded database: making one takes seconds, and is not what is tested. */
function dataFolder(): string {
  const folder = tempFolder();
  copyDatabase(join(folder, "database"));
  return folder;
}

/** Stores the agent of the example, and executes a run of it. */
async function calculates(url: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const ask = async (path: string, body?: string) => {
    const response = await fetch(`${url}${path}`, body ? { method: "POST", body, headers } : {});
    return (await response.json()) as Record<string, unknown>;
  };
  const { id } = await ask("/v1/agents", definition);
  const input = { message: "What is 6 * 7?" };
  const runs = `/v1/agents/${String(id)}/runs`;
  const { run_id: runId } = await ask(runs, JSON.stringify({ input }));
  const ended = await vi.waitFor(async () => {
    const run = await ask(`${runs}/${String(runId)}`);
    expect(run["status"]).toBe("complete");
    return run;
  }, waiting);
  expect(JSON.stringify(ended["result"])).toContain("42");
}

describe("the example of an app with the API in it", () => {
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const child of started.splice(0)) child.kill("SIGKILL");
  });

  it("listens by itself", async () => {
    const env = { PATH: process.env["PATH"], PORT: "0", DATA: dataFolder() };
    const program = bundledProgram("examples/api/server.ts");
    const child = spawn(process.execPath, [shortLived, program], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    started.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const url = line.toString().replace("Listening on ", "").trim();
    expect(await (await fetch(`${url}/hello`)).text()).toBe("Hello");
    await calculates(url);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("is mounted by langgraph dev, beside its own routes", { timeout: 180_000 }, async () => {
    const config = "test/e2e/fixtures/api/langgraph.json";
    const dev = await startDevServer({ DATA: dataFolder() }, config);
    try {
      expect(await (await fetch(`${dev.url}/hello`)).text()).toBe("Hello");
      await calculates(dev.url);
      const client = new Client({ apiUrl: dev.url, apiKey: null });
      const assistants = await client.assistants.search();
      expect(assistants.map(({ graph_id: graph }) => graph)).toEqual(["letters"]);
      const own = await fetch(`${dev.url}/ok`);
      expect([own.status, own.headers.get("content-security-policy")]).toEqual([200, null]);
      const page = await (await fetch(`${dev.url}/stratagraph/threads`)).text();
      expect(page).toContain('<base href="/stratagraph/">');
      const foreign = { headers: { origin: "https://evil.example" } };
      expect((await fetch(`${dev.url}/v1/agents`, foreign)).status).toBe(403);
    } finally {
      await dev.stop();
    }
  });
});
