import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { DatabaseExperimentMemory } from "../../src/experiment/memory/database-memory.ts";
import type { Database } from "../../src/storage/database.ts";
import { loadMigrations, migrate } from "../../src/storage/migrate.ts";
import { moveTables, TablesExistError } from "../../src/storage/move-tables.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { faultyPool } from "../helpers/faulty-pool.ts";
import { loopGraph } from "./time-travel-graph.ts";

/** The tables of earlier versions with the number of the last migration that these have run. */
const former = [
  ["checkpoints", "../../checkpointers/migrations/", 3],
  ["tool_journal", "../../src/storage/migrations/", 2],
  ["experiment_memory", "../../src/experiment/memory/migrations/", 2],
] as const;

const schema = "stratagraph";
const config = { configurable: { thread_id: "before" } };

/** Tables that an earlier version left in `public`, with a thread of the stock saver and one row of the other kinds. */
async function leaveFormerTables({ pool }: Database): Promise<void> {
  const stock = new PostgresSaver(pool as never);
  await stock.setup();
  await loopGraph(stock).invoke({ topic: "cats", left: 3 }, config);
  for (const [name, folder, last] of former) {
    const all = await loadMigrations(new URL(folder, import.meta.url));
    await migrate(pool, { schema: "public", name, migrations: all.slice(0, last) });
  }
  await pool.query("select nextval('checkpoint_log_ids')");
  await pool.query(`insert into tool_journal (thread_id, run, step, call_id, tool, input_hash, beginning)
    values ('before', 'r', 0, 'c', 't', '', '${randomUUID()}')`);
  await pool.query(
    "insert into experiment_memory (run_id, key, value, change) values ('run', 'key', 'value', 1)",
  );
}

const open = ({ pool }: Pick<Database, "pool">) => ({
  saver: new PostgresCheckpointer(pool, { schema }),
  journal: new DatabaseToolJournal(pool, { schema }),
  memory: new DatabaseExperimentMemory(pool, { schema }),
});

async function expectMoved(database: Database): Promise<void> {
  const { saver, journal, memory } = open(database);
  const graph = loopGraph(saver);
  expect((await graph.getState(config)).values.lines).toEqual(["cats 3", "cats 2", "cats 1"]);
  const { lines } = await graph.invoke({ topic: "dogs", left: 2 }, config);
  expect(lines.slice(-2)).toEqual(["dogs 2", "dogs 1"]);
  expect((await saver.listThreads()).items).toMatchObject([{ threadId: "before" }]);
  expect(await journal.entriesOf("before")).toMatchObject([{ callId: "c", state: "started" }]);
  expect(await memory.of("run").read("key")).toBe("value");
  expect(await tablesIn(database, "public")).toEqual(["stratagraph_migrations"]);
  const { rows } = await database.pool.query(
    "select from public.stratagraph_migrations union all select from stratagraph.checkpoints where tenant_id is null",
  );
  expect(rows).toEqual([]);
}

async function tablesIn({ pool }: Database, name: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = $1 order by 1",
    [name],
  );
  return rows.map((row) => row.name);
}

export interface MoveSubject {
  readonly kind: Database["kind"];
  readonly available: boolean;
  /** A new database, open once more with each call of `again`. */
  readonly create: () => Promise<{ database: Database; again: () => Promise<Database> }>;
}

/** Tables of earlier versions come along, with all that is in them. */
export function moveTablesContract({ kind, available, create }: MoveSubject): void {
  describe.skipIf(!available)(`tables of earlier versions on ${kind}`, () => {
    test("are moved and migrated by the first use of each store", async () => {
      const { database } = await create();
      await leaveFormerTables(database);
      expect(await tablesIn(database, schema)).toEqual([]);
      await expectMoved(database);
    });

    test("are moved once, though several connections race for it", async () => {
      const { database, again } = await create();
      await leaveFormerTables(database);
      expect(await tablesIn(database, schema)).toEqual([]);
      const racers = [database, await again(), await again(), await again()];
      await Promise.all(
        racers.flatMap((one) => {
          const { saver, journal, memory } = open(one);
          return [saver.setup(), journal.setup(), memory.setup(), open(one).saver.setup()];
        }),
      );
      await expectMoved(database);
    });

    test("stay whole where they are when the move breaks off at any statement", async () => {
      const { database } = await create();
      await leaveFormerTables(database);
      const before = await tablesIn(database, "public");
      const pool = faultyPool(database.pool);
      for (let at = 1; ; at += 1) {
        pool.arm(at, "before");
        const broken = await open({ pool })
          .saver.setup()
          .then(
            () => false,
            () => true,
          );
        if (!broken) break;
        pool.arm(0, "before");
        const [there, moved] = [
          await tablesIn(database, "public"),
          await tablesIn(database, schema),
        ];
        const isMoved = moved.includes("checkpoints");
        expect(there.includes("checkpoint_elements")).toBe(!isMoved);
        expect(isMoved ? before : there).toEqual(before);
      }
      await expectMoved(database);
    });

    test("are moved on demand, those of the stock saver alone too, and never onto others", async () => {
      const { database } = await create();
      const { pool } = database;
      const stock = new PostgresSaver(pool as never);
      await stock.setup();
      await loopGraph(stock).invoke({ topic: "cats", left: 3 }, config);
      const move = (includeStock: boolean) =>
        moveTables(pool, { from: "public", to: schema, includeStock });
      expect(await move(false)).toEqual([]);
      expect(await tablesIn(database, "public")).toHaveLength(4);
      expect(await move(true)).toEqual([
        "checkpoint_blobs",
        "checkpoint_migrations",
        "checkpoint_writes",
        "checkpoints",
      ]);
      const graph = loopGraph(open(database).saver);
      expect((await graph.getState(config)).values.lines).toHaveLength(3);
      await new PostgresCheckpointer(pool).setup();
      await expect(move(false)).rejects.toThrow(TablesExistError);
      expect(await tablesIn(database, "public")).toContain("checkpoint_elements");
      expect((await moveTables(pool, { from: "public", to: 'el"se' })).length).toBe(11);
      const elsewhere = new PostgresCheckpointer(pool, { schema: 'el"se' });
      await loopGraph(elsewhere).invoke({ topic: "cats", left: 1 }, config);
      expect((await elsewhere.listThreads()).items).toHaveLength(1);
    });

    test("are moved by one of several callers that move them at once", async () => {
      const { database, again } = await create();
      await leaveFormerTables(database);
      const before = await tablesIn(database, "public");
      const move = ({ pool }: Database, isDryRun = false) =>
        moveTables(pool, { from: "public", to: schema, includeStock: true, isDryRun });
      const dry = await move(database, true);
      expect(dry).toContain("checkpoint_elements");
      expect(await tablesIn(database, "public")).toEqual(before);
      expect(await tablesIn(database, schema)).toEqual([]);
      const racers = [database, await again(), await again(), await again()];
      const moved = await Promise.all([
        ...racers.map((one) => move(one)),
        // A process that begins to use them meanwhile.
        open(await again()).saver.setup(),
      ]);
      const all = moved.flatMap((tables) => tables ?? []);
      expect(dry).toEqual(expect.arrayContaining(all));
      expect(new Set(all).size).toBe(all.length);
      await expectMoved(database);
    });

    test("are left alone by a checkpointer of another schema", async () => {
      const { database } = await create();
      await leaveFormerTables(database);
      await new PostgresCheckpointer(database.pool, { schema: "other" }).setup();
      expect(await tablesIn(database, "public")).toContain("checkpoint_elements");
      const graph = loopGraph(new PostgresCheckpointer(database.pool));
      expect((await graph.getState(config)).values.lines).toHaveLength(3);
    });
  });
}
