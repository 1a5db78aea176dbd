import { mkdirSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { openDatabase } from "../../../src/storage/database.ts";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import { DatabaseToolJournal } from "../../../src/storage/tool-journal.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { copyDatabase } from "../../helpers/pglite-template.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const databases = openDatabases();
const cwd = tempFolder();
let platform: Platform;

beforeAll(async () => {
  mkdirSync(join(cwd, ".stratagraph"));
  copyDatabase(join(cwd, ".stratagraph", "database"));
  await databases.hold(cwd);
  platform = await openPlatform(await openDatabase({ folder: join(cwd, ".stratagraph") }));
});
afterAll(async () => {
  await databases.release();
  await platform.tables.tenants.pool.end();
});

const cli = async (...argv: readonly string[]) => {
  const io = memoryIo({ cwd });
  const code = await runCli(argv, io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
};
const json = async (...argv: readonly string[]) =>
  JSON.parse((await cli(...argv, "--json")).out) as Record<string, unknown>;

describe("stratagraph migrate", () => {
  it("brings the tables of all parts up to date, and says what it did", async () => {
    const { code, out } = await cli("migrate");
    expect(code).toBe(0);
    expect(out).toMatch(/schema +part +version +applied\n/);
    expect(out).toMatch(/stratagraph +platform +14 *\n/);
    const { parts } = (await json("migrate")) as {
      parts: { schema: string; name: string; applied: number }[];
    };
    expect(new Set(parts.map(({ schema }) => schema))).toEqual(new Set(["stratagraph"]));
    expect(parts.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["checkpoints", "tool_journal", "memory", "platform"]),
    );
    // Where a runtime uses them.
    const { rows } = await platform.tables.tenants.pool.query(
      "select tablename from pg_tables where schemaname = 'public' and tablename <> 'stratagraph_migrations'",
    );
    expect(rows).toEqual([]);
    expect(parts.every(({ applied }) => applied === 0)).toBe(true);
    expect((await cli("migrate")).out).toContain("The tables are up to date.");
  });
});

describe("stratagraph migrate --from", () => {
  const journalIn = async (schema: string) => {
    const { rows } = await platform.tables.tenants.pool.query(
      "select from pg_tables where schemaname = $1 and tablename = 'tool_journal'",
      [schema],
    );
    return rows.length === 1;
  };

  it("moves the tables of another schema and brings them up to date", async () => {
    const { pool } = platform.tables.tenants;
    await cli("migrate");
    await pool.query("drop table stratagraph.tool_journal");
    await pool.query("delete from stratagraph.stratagraph_migrations where name = 'tool_journal'");
    await new DatabaseToolJournal(pool, { schema: "former" }).setup();
    const planned = await cli("migrate", "--from", "former", "--dry-run");
    expect(planned).toMatchObject({
      code: 0,
      out: "Would move 1 table from schema former to stratagraph:\n  tool_journal\n\n",
    });
    expect(await json("migrate", "--from", "former", "--dry-run")).toEqual({
      from: "former",
      moved: ["tool_journal"],
      dry_run: true,
    });
    expect([await journalIn("former"), await journalIn("stratagraph")]).toEqual([true, false]);
    const { out } = await cli("migrate", "--from", "former");
    expect(out).toMatch(/^Moved 1 table from schema former to stratagraph:\n {2}tool_journal\n\n/);
    expect(out).toContain("The tables are up to date.");
    expect([await journalIn("former"), await journalIn("stratagraph")]).toEqual([false, true]);
    const again = await cli("migrate", "--from", "former");
    expect(again.out).toContain("There are no tables to move in schema former.");
  });

  it("moves nothing onto tables that are there", async () => {
    await new DatabaseToolJournal(platform.tables.tenants.pool, { schema: "earlier" }).setup();
    for (const more of [[], ["--dry-run"]]) {
      const { code, errors } = await cli("migrate", "--from", "earlier", ...more);
      expect({ code, errors }).toEqual({
        code: 2,
        errors: expect.stringContaining("[tables_exist]"),
      });
    }
    expect([await journalIn("earlier"), await journalIn("stratagraph")]).toEqual([true, true]);
  });

  it.each([
    ["--dry-run without a schema", ["--dry-run"], "--from SCHEMA"],
    ["--stock without a schema", ["--stock"], "--from SCHEMA"],
    ["its own schema", ["--from", "stratagraph"], "another schema"],
    ["a name that no schema has", ["--from", "x".repeat(64)], "identifier"],
  ])("refuses %s", async (_, argv, message) => {
    const { code, errors } = await cli("migrate", ...argv);
    expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining(message) });
  });
});

describe("stratagraph tenants", () => {
  it("creates, lists, shows and suspends tenants", async () => {
    const { code, out } = await cli("tenants", "create", "acme", "--plan", "gold");
    expect(code).toBe(0);
    const { id } = await platform.tenants.find("acme");
    expect(out).toBe(`Created tenant acme: ${id}.\n`);
    const twice = await cli("tenants", "create", "acme");
    expect(twice).toMatchObject({ code: 2, errors: expect.stringContaining("[conflict]") });
    expect((await cli("tenants")).out).toMatch(new RegExp(`acme +${id} +gold +.* active\n`));
    expect(await json("tenants", "list", "--limit", "1")).toMatchObject({
      tenants: [{ id, name: "acme", plan_tier: "gold", suspended_at: null }],
      next: null,
    });
    expect((await cli("tenants", "show", "acme")).out).toMatch(/rows +2 rows\n/);
    expect((await cli("tenants", "suspend", id)).out).toBe(
      "Suspended tenant acme: its keys are refused.\n",
    );
    expect(await json("tenants", "show", id)).toMatchObject({
      suspended_at: expect.any(String),
      rows: { tenant: 1, audit_log: 2, run: 0 },
    });
    await cli("tenants", "suspend", "acme", "--end");
    expect((await platform.tenants.get(id)).suspendedAt).toBeNull();
    const { items } = await platform.audit.list(id);
    expect(items.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      "operator tenant.resume",
      "operator tenant.suspend",
      "operator tenant.create",
    ]);
  });

  it("exports all rows of a tenant, and deletes them in every table", async () => {
    const { id } = await platform.tenants.create({ name: "gone" });
    await platform.usage.add(id, { requests: 1 });
    const { out } = await cli("tenants", "export", "gone");
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { table: string });
    expect(lines.map(({ table }) => table)).toEqual(["tenant", "usage_day"]);
    expect(await cli("tenants", "export", "gone", "--json")).toMatchObject({ code: 2 });
    await cli("tenants", "export", "gone", "--out", "gone.jsonl");
    expect(await readFile(join(cwd, "gone.jsonl"), "utf8")).toBe(out);
    expect((await stat(join(cwd, "gone.jsonl"))).mode & 0o777).toBe(0o600);
    const refused = await cli("tenants", "delete", "gone");
    expect(refused).toMatchObject({ code: 2, errors: expect.stringContaining("[not_confirmed]") });
    expect((await platform.tenants.get(id)).name).toBe("gone");
    const deleted = await cli("tenants", "delete", "gone", "--yes");
    expect(deleted.out).toMatch(
      /^Deleted tenant gone: 2 rows\. No row of it is left in \d+ tables\.\n$/,
    );
    expect(await cli("tenants", "show", "gone")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("[not_found]"),
    });
  });
});

describe("stratagraph keys", () => {
  it("prints a new key once, and lists and revokes it", async () => {
    const { id: tenantId } = await platform.tenants.create({ name: "keyed" });
    const of = ["--tenant", "keyed", "--scope", "runs:write", "--scope", "runs:read"];
    const { code, out } = await cli("keys", "create", ...of, "--expires", "90d");
    expect(code).toBe(0);
    const [secret = ""] = /^sg_\w+$/m.exec(out) ?? [];
    expect(out).toContain("shown once");
    const check = await platform.apiKeys.verify(secret);
    expect(check.principal).toMatchObject({ tenantId, scopes: ["runs:write", "runs:read"] });
    const listed = await cli("keys", "list", "--tenant", "keyed");
    expect(listed.out).toContain("runs:write runs:read");
    expect(listed.out).not.toContain(secret);
    const keyId = check.principal!.keyId;
    expect((await cli("keys", "revoke", keyId)).out).toBe(`Revoked key ${keyId} (command line).\n`);
    expect((await platform.apiKeys.verify(secret)).refusal).toBe("revoked");
    expect(await json("keys", "list", "--tenant", "keyed")).toMatchObject({
      keys: [{ id: keyId, revoked_at: expect.any(String) }],
    });
    const made = (await json("keys", "create", ...of)) as { secret: string };
    expect((await platform.apiKeys.verify(made.secret)).refusal).toBeNull();
  });

  it.each([
    ["an unknown scope", ["create", "--tenant", "keyed", "--scope", "root"], "[invalid_value]"],
    ["no scope", ["create", "--tenant", "keyed"], "--scope"],
    ["an unknown tenant", ["create", "--tenant", "x", "--scope", "*"], "[not_found]"],
    ["an unknown key", ["revoke", "x"], "[not_found]"],
    ["an age that is none", ["create", "--expires", "soon"], "number of minutes"],
    ["a cursor that is none", ["list", "--tenant", "keyed", "--cursor", "x"], "[invalid_cursor]"],
  ])("refuses %s", async (_, argv, message) => {
    const { code, errors } = await cli("keys", ...argv);
    expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining(message) });
  });
});
