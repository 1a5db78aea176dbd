import { describe, expect, test } from "vitest";
import { DatabaseExperimentMemory } from "../../src/experiment/memory/database-memory.ts";
import type { RunMemory } from "../../src/experiment/memory/run-memory.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { contentOf } from "./experiment-memory-contract.ts";

/** What the memory of experiments does with a database, whichever it is. */
export function experimentMemoryTables(database: TestDatabase): void {
  describe.skipIf(!database.available)(`tables of experiment memory on ${database.kind}`, () => {
    test("are made in any schema, once for all who begin at the same time", async () => {
      const schema = 'Expe"riment $& 1';
      const memories = Array.from(
        { length: 4 },
        () => new DatabaseExperimentMemory(database.shared.pool, { schema }),
      );
      await Promise.all(memories.map((one, i) => one.of(`raced-${i}`).write("a", `${i}`, 1)));
      const elsewhere = new DatabaseExperimentMemory(database.shared.pool);
      for (const i of memories.keys()) {
        expect(await memories[0]!.of(`raced-${i}`).read("a")).toBe(`${i}`);
        expect(await elsewhere.of(`raced-${i}`).read("a")).toBeNull();
      }
    });

    test("are not made in a schema that Postgres cannot have", () => {
      for (const schema of ["", "a\0b", "é".repeat(32)]) {
        expect(() => new DatabaseExperimentMemory(database.shared.pool, { schema })).toThrow(
          expect.objectContaining({ code: "invalid_identifier" }),
        );
      }
    });

    test("are tried again when making them has failed", async () => {
      let fails = true;
      const { pool } = database.shared;
      const flaky: DatabasePool = {
        query: (query, values) => pool.query(query, values),
        connect: () => (fails ? Promise.reject(new Error("no connection")) : pool.connect()),
        end: () => pool.end(),
      };
      const late = new DatabaseExperimentMemory(flaky, { schema: "late" }).of("run");
      await expect(late.write("a", "one", 1)).rejects.toThrow("no connection");
      fails = false;
      expect(await late.write("a", "one", 1)).toBe(false);
    });

    test("tell people what was changed when, also after it was taken back", async () => {
      const schema = "people";
      const { pool } = database.shared;
      const memory = new DatabaseExperimentMemory(pool, { schema }).of("run");
      await memory.write("b", "one", 1);
      await memory.write("a", "two", 2);
      await memory.write("b", "three", 3);
      await memory.delete("a", 4);
      await memory.delete("none", 5);
      const kept = async () =>
        (await pool.query(`select key, value, change from people.experiment_memory order by key`))
          .rows;
      const logged = async () =>
        (
          await pool.query(
            `select change, key, before from people.experiment_memory_changes order by change`,
          )
        ).rows;
      expect(await kept()).toEqual([{ key: "b", value: "three", change: 3 }]);
      expect(await logged()).toEqual([
        { change: 1, key: "b", before: null },
        { change: 2, key: "a", before: null },
        { change: 3, key: "b", before: "one" },
        { change: 4, key: "a", before: "two" },
        { change: 5, key: "none", before: null },
      ]);
      await memory.rewind(2);
      expect(await kept()).toEqual([
        { key: "a", value: "two", change: 2 },
        { key: "b", value: "one", change: 1 },
      ]);
      expect(await logged()).toHaveLength(2);
      const { rows } = await pool.query(
        `select from people.experiment_memory join people.experiment_memory_changes using (run_id, key, change)
        where updated_at = made_at`,
      );
      expect(rows).toHaveLength(2);
    });

    test("hold a change and what undoes it, or neither", async () => {
      const schema = "whole";
      const { pool } = database.shared;
      const memory = new DatabaseExperimentMemory(pool, { schema }).of("run");
      await memory.write("a", "one", 1);
      await pool.query(`alter table whole.experiment_memory add check (value <> 'refused')`);
      await expect(memory.write("a", "refused", 2)).rejects.toThrow(/check/);
      await expect(memory.write("b", "refused", 2)).rejects.toThrow(/check/);
      await pool.query(`alter table whole.experiment_memory_changes add check (key <> 'refused')`);
      await expect(memory.write("refused", "one", 2)).rejects.toThrow(/check/);
      expect(await contentOf(memory)).toEqual({ a: "one" });
      expect(await memory.write("a", "two", 2)).toBe(true);
      await memory.rewind(1);
      expect(await contentOf(memory)).toEqual({ a: "one" });
    });

    test("are not believed where a text is not what was written", async () => {
      const { pool } = database.shared;
      const memory = new DatabaseExperimentMemory(pool).of("damaged");
      await memory.write("a", "one", 1);
      await memory.write("a", "two", 2);
      await memory.write("b", "three", 3);
      const change = (set: string) =>
        pool.query(`update experiment_memory set ${set} where run_id = 'damaged' and key = 'a'`);
      await change("value = 'else'");
      const corrupt = { code: "corrupt_memory", runId: "damaged", key: "a" };
      await expect(memory.read("a")).rejects.toMatchObject(corrupt);
      expect(await memory.read("b")).toBe("three");
      await memory.rewind(1);
      expect(await memory.read("a")).toBe("one");
      await memory.write("a", "two", 2);
      await pool.query(
        "update experiment_memory_changes set before = 'x' where run_id = 'damaged'",
      );
      await memory.rewind(1);
      await expect(memory.read("a")).rejects.toMatchObject(corrupt);
      // Rows from before have none.
      await change("hash = null");
      expect(await memory.read("a")).toBe("x");
    });

    test("give named errors of a database that is gone", async () => {
      const closed = await database.open();
      const memory = new DatabaseExperimentMemory(closed.pool).of("run");
      await memory.list();
      await closed.close();
      const gone = { code: "database_closed" };
      await expect(memory.list()).rejects.toMatchObject(gone);
      await expect(memory.write("a", "one", 1)).rejects.toMatchObject(gone);
    });
  });
}

/** Writes straight into the tables what the contract asks for. */
export function fillTables(database: TestDatabase) {
  return async (memory: RunMemory, runId: string, count: number): Promise<void> => {
    await memory.list();
    const { pool } = database.shared;
    await pool.query(
      `with changes as (
        insert into experiment_memory_changes (run_id, change, key)
        select $1, n, 'key ' || n from generate_series(1, $2::integer) n returning change)
      insert into experiment_memory (run_id, key, value, change)
      select $1, 'key ' || change, 'value ' || change, change from changes`,
      [runId, count],
    );
  };
}
