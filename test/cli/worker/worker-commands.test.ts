import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { openDatabase } from "../../../src/storage/database.ts";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { copyDatabase } from "../../helpers/pglite-template.ts";
import { useFolders } from "../folder.ts";
import { type MemoryIo, memoryIo } from "../memory-io.ts";

const folder = useFolders();
const database = useDatabase("postgres");
const running: MemoryIo[] = [];

afterEach(() => {
  for (const io of running.splice(0)) io.stop("SIGTERM");
});

function newIo(cwd: string, env: Record<string, string> = {}) {
  const io = memoryIo({ cwd, env });
  running.push(io);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    io[name].write = (text) => {
      texts[name] += text;
    };
  }
  return { io, texts };
}

/** Runs a command to its end. */
async function run(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const { io, texts } = newIo(cwd, env);
  return { code: await runCli([...args], io), ...texts };
}

describe.skipIf(!database.available)("stratagraph worker", () => {
  const url = () => ({ DATABASE_URL: String(database.options.url) });

  it("takes runs until a signal comes, and is shown by status meanwhile", async () => {
    const cwd = await folder({});
    const { io, texts } = newIo(cwd, { ...url(), STRATAGRAPH_KINDS: "turn, resume" });
    const flags = ["--label", "gpu", "--label", "big", "--concurrency", "2"];
    const exit = runCli(["worker", ...flags], io);
    await expect.poll(() => texts.stdout, { timeout: 60_000 }).toContain("Labels:");
    expect(texts.stdout).toMatch(/^Worker \S+ takes 2 runs at a time\.\n/);
    expect(texts.stdout).toContain("Kinds: turn, resume\nLabels: gpu, big\n");
    const status = async () => run(["worker", "status", "--json"], cwd, url());
    const facts = async () => {
      const { code, stdout } = await status();
      expect(code).toBe(0);
      return JSON.parse(stdout) as { workers: { name: string; watched: boolean }[]; queue: object };
    };
    await expect.poll(async () => (await facts()).workers[0]?.watched).toBe(true);
    const { workers, queue } = await facts();
    expect(workers).toMatchObject([
      { labels: ["gpu", "big"], kinds: ["turn", "resume"], concurrency: 2, running: 0 },
    ]);
    expect(texts.stdout).toContain(workers[0]!.name);
    expect(queue).toMatchObject({ queued: 0, running: 0, takeovers: 0, ended_leases: 0 });
    const { stdout } = await run(["worker", "status"], cwd, url());
    expect(stdout).toContain("gpu big");
    expect(stdout).toContain("Queued: 0; delayed: 0; running: 0; dead: 0\n");
    io.stop("SIGTERM");
    expect(await exit).toBe(0);
    expect(texts.stderr).toContain('"reason":"SIGTERM"');
    expect((await facts()).workers).toEqual([]);
    expect((await run(["worker", "status"], cwd, url())).stdout).toContain("No workers.\n");
    expect(io.listening).toBe(0);
  });

  it.each([
    [["worker"], {}, "Expected a Postgres database"],
    [["worker", "--database-url", "postgres://127.0.0.1:1/x", "--kinds", "turns"], {}, "--kinds"],
    [["worker", "--label", "GPU"], { DATABASE_URL: "postgres://127.0.0.1:1/x" }, "--labels"],
    [
      ["worker"],
      { DATABASE_URL: "postgres://127.0.0.1:1/x", STRATAGRAPH_CONCURRENCY: "0" },
      "at least 1",
    ],
    [["worker", "--concurrency", "0"], {}, "1 to 1000"],
  ])("refuses %j with %j", async (args, env, said) => {
    const { code, stderr } = await run(args, await folder({}), env);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});

describe("stratagraph worker dead", () => {
  it("lists the dead runs of all tenants, and retry puts one back", async () => {
    const cwd = await folder({});
    const place = join(cwd, ".stratagraph");
    copyDatabase(join(place, "database"));
    expect((await run(["worker", "dead"], cwd)).stdout).toBe("No dead runs.\n");
    const opened = await openDatabase({ folder: place });
    const { tenants, agents, instances, runs, claims } = await openPlatform(opened);
    const { id: tenantId } = await tenants.create({ name: "acme" });
    const { id: definitionId } = await agents.create(tenantId, { name: "a", definition: {} });
    const thread = { threadId: "thread-1", agent: "a", definitionId };
    const { id: instanceId } = await instances.create(tenantId, thread);
    const claim = { worker: "w", leaseMs: 60_000 };
    const dead = await runs.create(tenantId, { instanceId, request: {} }, claim);
    await claims.finish(dead, { state: "dead", result: null });
    await opened.close();

    const listed = await run(["worker", "dead"], cwd);
    expect(listed.stdout).toContain(dead.id);
    expect(listed.stdout).toContain("thread-1");
    const { runs: found } = JSON.parse((await run(["worker", "dead", "--json"], cwd)).stdout) as {
      runs: object[];
    };
    expect(found).toMatchObject([{ id: dead.id, tenant_id: tenantId, state: "dead" }]);
    expect((await run(["worker", "retry", dead.id], cwd)).stdout).toBe(
      `Queued run ${dead.id} again.\n`,
    );
    const again = await run(["worker", "retry", dead.id, "--json"], cwd);
    expect(JSON.parse(again.stdout)).toEqual({ run_id: dead.id, status: "queued", retried: false });
    const unknown = await run(["worker", "retry", "nothing"], cwd);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("nothing")]);
    const audited = await openDatabase({ folder: place });
    const { audit } = await openPlatform(audited);
    const { items } = await audit.list(tenantId);
    expect(items.filter(({ action }) => action === "run.retry")).toMatchObject([
      { actor: "operator", subject: dead.id },
    ]);
    await audited.close();
  });
});
