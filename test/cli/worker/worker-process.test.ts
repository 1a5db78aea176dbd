import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { openAIServer, Silence } from "../../helpers/openai-server.ts";
import { bundledProgram, shortLived } from "../../helpers/programs.ts";
import { useFolders } from "../folder.ts";

const folder = useFolders();
const database = useDatabase("postgres");

/** Starts `stratagraph worker` in a process of its own. */
async function startWorker() {
  const child = spawn(
    process.execPath,
    [shortLived, bundledProgram("src/cli/main.ts"), "worker", "--concurrency", "1"],
    {
      cwd: await folder({}),
      env: {
        PATH: process.env["PATH"],
        DATABASE_URL: database.options.url,
        STRATAGRAPH_DEV: "true",
        STRATAGRAPH_EMBEDDINGS: "none",
        OPENAI_API_KEY: "sk-test",
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (printed.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (printed.stderr += String(chunk)));
  return { child, exited, printed };
}

describe.skipIf(!database.available)("the process of stratagraph worker", () => {
  it("waits for the step under way after SIGTERM, and ends at once after a second one", async () => {
    await using model = await openAIServer();
    const silence = new Silence();
    model.answer({ silent: silence, first: "one " });
    const { tenants, agents, instances, runs } = await openPlatform(database.shared);
    const { id: tenantId } = await tenants.create({ name: "acme" });
    const definition = {
      name: "plain",
      llm_config: { default_model: "openai:gpt-4o-mini", base_url: model.url },
    };
    const { id: definitionId } = await agents.create(tenantId, { name: "plain", definition });
    const thread = { threadId: "thread", agent: "plain", definitionId };
    const { id: instanceId } = await instances.create(tenantId, thread);
    const turn = { turn_id: "0198c8a0-0000-7000-8000-000000000001", input: { message: "Hi" } };
    const request = { definition_id: definitionId, ...turn };
    const run = await runs.create(tenantId, { instanceId, definitionId, request });

    const { child, exited, printed } = await startWorker();
    await silence.asked;
    child.kill("SIGTERM");
    await expect.poll(() => printed.stderr, { timeout: 60_000 }).toContain('"reason":"SIGTERM"');
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
    expect(await runs.get(tenantId, run.id)).toMatchObject({ state: "running", epoch: 1 });
  });
});
