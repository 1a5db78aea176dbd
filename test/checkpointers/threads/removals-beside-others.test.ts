import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../../checkpointers/postgres.ts";
import { deleteThread, prune } from "../../../checkpointers/threads/prune.ts";
import type { DatabaseClient } from "../../../src/storage/pool.ts";
import { CheckpointRows } from "../../helpers/checkpoint-rows.ts";
import { useDatabase } from "../../helpers/databases.ts";

const database = useDatabase("postgres");

describe.skipIf(!database.available)("removing while others write", () => {
  let rows: CheckpointRows;
  beforeAll(async () => {
    await new PostgresCheckpointer(database.shared.pool).setup();
    rows = new CheckpointRows(database.shared.pool);
  });
  beforeEach(async () => {
    await rows.clear();
    await rows.log(1, 4);
    await rows.checkpoint("a", "1", { segments: [1, 0, 4] });
    await rows.checkpoint("a", "2", { parent: "1", segments: [1, 0, 2] });
  });
  const tables = {
    schema: `"public"`,
    get pool() {
      return database.shared.pool;
    },
  };

  /** The database, each of whose statements `around` runs. */
  function poolWith(around: (text: string, run: () => Promise<unknown>) => Promise<unknown>) {
    const { pool } = database.shared;
    const connect = async (): Promise<DatabaseClient> => {
      const client = await pool.connect();
      const query: DatabaseClient["query"] = async (statement, values) => {
        const text = typeof statement === "string" ? statement : statement.text;
        return (await around(text, () => client.query(statement, values))) as never;
      };
      return { query, release: (error) => client.release(error) };
    };
    return { schema: `"public"`, pool: { ...pool, connect } };
  }

  /** Resolves when a session of this database waits for a lock. */
  async function somebodyWaits(): Promise<void> {
    for (;;) {
      const { rowCount } = await database.shared.pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      if (rowCount) return;
    }
  }

  /** Begins what a fork and a put do: holds a checkpoint, and refers to what it refers to. */
  async function refer(client: DatabaseClient, thread: string): Promise<void> {
    await client.query("begin");
    await client.query(
      "select from checkpoints where thread_id = 'a' and checkpoint_id = '1' for key share",
    );
    await client.query(
      `insert into checkpoints (thread_id, checkpoint_id, checkpoint, metadata, body, segments)
      values ($1, '3', 'null', '{}', '', '{1, 0, 4}')`,
      [thread],
    );
    await client.query(`insert into checkpoint_log_uses values (1, $1) on conflict do nothing`, [
      thread,
    ]);
  }

  it.each([
    ["a fork, deleting the thread", "b", () => deleteThread(tables, "a")],
    ["a fork, pruning the thread", "b", () => prune(tables, { threadId: "a", keep: "latest" })],
    ["a put, pruning its parent", "a", () => prune(tables, { threadId: "a", keep: "latest" })],
  ])("waits for %s, and leaves it what it refers to", async (_, thread, remove) => {
    const client = await database.shared.pool.connect();
    await refer(client, thread);
    const removed = remove();
    await somebodyWaits();
    await client.query("commit");
    client.release();
    await removed;
    expect(await rows.checkpoints(thread)).toContain("3");
    expect(await rows.elements()).toEqual({ 1: [0, 1, 2, 3] });
  });

  it("leaves a checkpoint that is put while its thread is deleted what it refers to", async () => {
    const putOnce = async (): Promise<void> => {
      await rows.log(2, 3);
      await rows.checkpoint("a", "3", { segments: [2, 0, 3] });
    };
    let put: Promise<void> | undefined;
    const deleting = poolWith(async (text, run) => {
      const result = await run();
      if (text.includes("delete from") && text.includes("checkpoints where")) {
        // It waits until the thread is gone, as it changes the thread's row too.
        await Promise.race([(put ??= putOnce()), somebodyWaits()]);
      }
      return result;
    });
    await deleteThread(deleting, "a");
    await put;
    expect(await rows.checkpoints("a")).toEqual(["3"]);
    expect(await rows.elements()).toEqual({ 2: [0, 1, 2] });
    await deleteThread(tables, "a");
    expect(await rows.elements()).toEqual({});
  });

  describe("a fork of which other threads need all that it needs", () => {
    const held = async (statement: string) => {
      const client = await database.shared.pool.connect();
      await client.query("begin");
      await client.query(statement);
      return async () => {
        await client.query("rollback");
        client.release();
      };
    };
    beforeEach(async () => {
      for (const fork of ["b", "c"]) await rows.checkpoint(fork, "1", { segments: [1, 0, 4] });
    });

    it("goes without a look at every one of them", async () => {
      const release = await held(
        "select from checkpoint_log_uses where thread_id in ('a', 'c') for update",
      );
      await deleteThread(tables, "b");
      await release();
      expect(await rows.elements()).toEqual({ 1: [0, 1, 2, 3] });
    });

    it("counts on none that somebody is about to remove", async () => {
      const others = "select from checkpoints where thread_id in ('a', 'c') for update";
      const release = await held(others);
      const uses = await held("select from checkpoint_log_uses where thread_id = 'a' for update");
      const gone = deleteThread(tables, "b");
      await somebodyWaits();
      await uses();
      await gone;
      await release();
      expect(await rows.elements()).toEqual({ 1: [0, 1, 2, 3] });
    });

    it("holds what it counts on until it is gone", async () => {
      let waiting: Promise<unknown> | undefined;
      const deleting = poolWith(async (text, run) => {
        if (text === "commit") {
          const { pool } = database.shared;
          waiting = pool.query("update checkpoints set segments = '{}' where thread_id <> 'b'");
          await somebodyWaits();
        }
        return run();
      });
      await deleteThread(deleting, "b");
      await waiting;
      expect(await rows.elements()).toEqual({ 1: [0, 1, 2, 3] });
    });
  });

  it("waits for a prune that waits for it, and neither is ended", async () => {
    await rows.clear();
    await rows.log(1, 4);
    await rows.log(2, 3);
    await rows.checkpoint("a", "1", { segments: [1, 0, 4, 2, 0, 1] });
    await rows.checkpoint("b", "1", { segments: [1, 0, 4, 2, 0, 3] });
    await rows.checkpoint("c", "1", { segments: [1, 0, 4] });
    let begun = 0;
    let deleted: Promise<void> | undefined;
    let hold = (): void => {};
    const holds = new Promise<void>((resolve) => {
      hold = resolve;
    });
    const deleting = poolWith(async (text, run) => {
      if (text.startsWith("begin")) begun += 1;
      if (text.includes("delete from") && text.includes("checkpoint_log_uses u")) {
        hold();
        await somebodyWaits();
      }
      return run();
    });
    const pruning = poolWith(async (text, run) => {
      if (text.startsWith("begin")) begun += 1;
      if (text.includes("checkpoint_log_uses") && !deleted) {
        // It has its checkpoints, and looks for its logs now.
        deleted = deleteThread(deleting, "b");
        await Promise.race([holds, deleted]);
      }
      return run();
    });
    await prune(pruning, { threadId: "a", keep: "all" });
    await deleted;
    expect(begun).toBe(2);
    expect(await rows.elements()).toEqual({ 1: [0, 1, 2, 3], 2: [0] });
  });

  it("is done again where the database ended it", async () => {
    let refusals = 2;
    const refusing = poolWith(async (text, run) => {
      if (text === "commit" && refusals > 0) {
        refusals -= 1;
        throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
      }
      return run();
    });
    await deleteThread(refusing, "a");
    expect(refusals).toBe(0);
    expect(await rows.elements()).toEqual({});
  });

  it("frees what two threads shared that are deleted at the same time", async () => {
    for (let round = 0; round < 10; round += 1) {
      await rows.clear();
      await rows.log(1, 4);
      const threads = ["a", "b", "c", "d"];
      for (const thread of threads) await rows.checkpoint(thread, "1", { segments: [1, 0, 4] });
      await Promise.all(threads.map((thread) => deleteThread(tables, thread)));
      expect(await rows.elements()).toEqual({});
    }
  });
});
