import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../../checkpointers/postgres.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { firstCheckpointIdAt } from "../../../src/engine/retention/archive-threads.ts";
import { openDatabase } from "../../../src/storage/database.ts";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { copyDatabase } from "../../helpers/pglite-template.ts";
import { idAt } from "../../helpers/retention.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const databases = openDatabases();
const cwd = tempFolder();
const old = new Date(Date.now() - 400 * 86_400_000);
const day = old.toISOString().slice(0, 10);
let platform: Platform;
let tenantId = "";

beforeAll(async () => {
  mkdirSync(join(cwd, ".stratagraph"));
  copyDatabase(join(cwd, ".stratagraph", "database"));
  await databases.hold(cwd);
  const database = await openDatabase({ folder: join(cwd, ".stratagraph") });
  platform = await openPlatform(database, { ids: () => idAt(old) });
  ({ id: tenantId } = await platform.tenants.create({ name: "acme" }));
  await platform.audit.append(tenantId, { actor: "operator", action: "a", subject: "s" });
  const saver = new PostgresCheckpointer(database.pool, { schema: "stratagraph", tenantId });
  const id = `${firstCheckpointIdAt(old)}-8000-000000000001`;
  await saver.put(
    { configurable: { thread_id: "talk", checkpoint_ns: "" } },
    { ...emptyCheckpoint(), id, channel_values: { text: "kept" }, channel_versions: { text: 1 } },
    { source: "loop", step: 0, parents: {} },
    { text: 1 },
  );
});
afterAll(async () => {
  await databases.release();
  await platform.tables.tenants.pool.end();
});

const cli = async (
  argv: readonly string[],
  env: Record<string, string> = { STRATAGRAPH_ARCHIVE: "kept" },
) => {
  const io = memoryIo({ cwd, env });
  const code = await runCli(argv, io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
};
const json = async (...argv: readonly string[]) =>
  JSON.parse((await cli([...argv, "--json"])).out) as Record<string, unknown>;

describe("stratagraph tenants set", () => {
  it("replaces the settings that are given, and removes those that are null", async () => {
    const quota = { requests: 10 };
    await cli(["tenants", "set", "acme", JSON.stringify({ quota, rate: { burst: 5 } })]);
    const off = { checkpoints: { delete_after_days: "off" } };
    const { out, code } = await cli([
      "tenants",
      "set",
      "acme",
      JSON.stringify({ rate: null, retention: off }),
    ]);
    expect([code, out]).toEqual([
      0,
      `Settings of tenant acme: ${JSON.stringify({ quota, retention: off })}\n`,
    ]);
    expect((await platform.tenants.get(tenantId)).settings).toEqual({ quota, retention: off });
    for (const bad of ["[]", "{", '{"retention":{"turns":{"archive_after_days":-1}}}']) {
      const refused = await cli(["tenants", "set", "acme", bad]);
      expect([bad, refused.code]).toEqual([bad, 2]);
    }
    expect((await platform.tenants.get(tenantId)).settings).toEqual({ quota, retention: off });
  });
});

describe("stratagraph archive", () => {
  it("counts, runs a round, lists and restores", async () => {
    expect(await json("archive", "run", "--dry-run")).toEqual({
      tenants: [
        expect.objectContaining({ tenant_id: tenantId, threads_to_archive: 1, days_to_archive: 1 }),
      ],
    });
    expect((await cli(["archive", "run", "--dry-run"])).out).toContain(
      "1 thread to thin, 1 to archive; 1 day of rows",
    );
    expect((await cli(["archive", "list", "--tenant", "acme"])).out).toBe("No archives.\n");
    const { code, out } = await cli(["archive", "run"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /archived 1 thread and 2 rows \(.*\), deleted 0 archives and 0 rows\.\nDropped \d+ partitions? without rows\.\n$/,
    );
    const { archives, next } = await json("archive", "list", "--tenant", "acme");
    expect([next, archives]).toEqual([
      null,
      [
        expect.objectContaining({ subject: "audit_log", day, rows: 1, state: "archived" }),
        expect.objectContaining({
          subject: "thread",
          thread_id: "talk",
          rows: 1,
          state: "archived",
        }),
      ],
    ]);
    const listed = await cli(["archive", "list", "--tenant", "acme", "--thread", "talk"]);
    expect(listed.out).toMatch(/thread talk +archived +1 /);
    const thread = await cli([
      "archive",
      "restore",
      "--tenant",
      "acme",
      "--thread",
      "talk",
      "--hold",
      "3",
    ]);
    expect([thread.code, thread.errors]).toEqual([0, ""]);
    expect(thread.out).toMatch(
      /^Restored thread talk: 1 row\. It is not archived again before \d{4}-/,
    );
    const rows = await json(
      "archive",
      "restore",
      "--tenant",
      "acme",
      "--table",
      "audit_log",
      "--day",
      day,
    );
    expect(rows).toEqual({ archives: 1, rows: 1, hold_until: expect.any(String) });
    const { items } = await platform.audit.list(tenantId);
    expect(items.map(({ action }) => action)).toEqual(
      expect.arrayContaining(["a", "archive.restore"]),
    );
    expect(await json("archive", "run")).toMatchObject({
      tenants: [{ archived: { threads: 0, rows: 0 } }],
    });
  });

  it.each([
    ["nothing to restore", ["restore", "--tenant", "acme"], "--thread, or --table and --day"],
    [
      "a thread and a day",
      ["restore", "--tenant", "acme", "--thread", "t", "--day", "2026-01-01"],
      "--thread, or",
    ],
    [
      "another table",
      ["restore", "--tenant", "acme", "--table", "tenant", "--day", "2026-01-01"],
      "audit_log for --table",
    ],
    ["no day", ["restore", "--tenant", "acme", "--table", "turn", "--day", "soon"], "YYYY-MM-DD"],
    ["an unknown tenant", ["list", "--tenant", "none"], "[not_found]"],
    [
      "a thread without an archive",
      ["restore", "--tenant", "acme", "--thread", "none"],
      "[not_found]",
    ],
  ])("refuses %s", async (_, argv, message) => {
    const { code, errors } = await cli(["archive", ...argv]);
    expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining(message) });
  });

  it("refuses a place that it cannot use", async () => {
    const refused = await cli(["archive", "run"], { STRATAGRAPH_ARCHIVE: "s3://bucket" });
    expect(refused).toMatchObject({
      code: 2,
      errors: expect.stringContaining("AWS_ACCESS_KEY_ID"),
    });
  });
});
