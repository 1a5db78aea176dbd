import { v6 } from "@langchain/core/utils/uuid";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/index.ts";
import { deleteThread, prune } from "../../checkpointers/threads/prune.ts";
import { CheckpointRows } from "../helpers/checkpoint-rows.ts";
import type { TestDatabase } from "../helpers/databases.ts";

/** What removing does to the tables, on rows made by hand. */
export function retentionContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`retention on ${database.kind}`, () => {
    const schema = `"a ""quoted"" schema"`;
    let rows: CheckpointRows;
    beforeAll(async () => {
      const { pool } = database.shared;
      await new PostgresCheckpointer(pool, { schema: `a "quoted" schema` }).setup();
      rows = new CheckpointRows(pool, schema);
    });
    beforeEach(() => rows.clear());
    const tables = () => ({ pool: database.shared.pool, schema });
    const latest = (threadId: string) => prune(tables(), { threadId, keep: "latest" });

    it("removes a thread with all that only it needed", async () => {
      await rows.log(1, 5);
      await rows.log(2, 3);
      await rows.checkpoint("a", "1", { segments: [1, 0, 2] });
      await rows.checkpoint("a", "2", { parent: "1", segments: [1, 0, 5, 2, 0, 3] });
      await rows.checkpoint("a", "3", { namespace: "sub:x" });
      await rows.writeSet("a", "2");
      await rows.checkpoint("b", "1");
      await rows.writeSet("b", "1");

      await deleteThread(tables(), "a");

      expect(await rows.counts("a")).toEqual({});
      expect(await rows.elements()).toEqual({});
      expect(await rows.counts("b")).toEqual({ checkpoints: 1, checkpoint_write_sets: 1 });
      await deleteThread(tables(), "a");
    });

    it("leaves other threads the elements that they refer to, and frees them with the last", async () => {
      await rows.log(1, 10);
      await rows.checkpoint("a", "1", { segments: [1, 0, 10] });
      await rows.checkpoint("b", "1", { segments: [1, 0, 2, 1, 4, 6] });
      await rows.checkpoint("c", "1", { segments: [1, 5, 7] });

      await deleteThread(tables(), "a");
      expect(await rows.elements()).toEqual({ 1: [0, 1, 4, 5, 6] });
      await deleteThread(tables(), "b");
      expect(await rows.elements()).toEqual({ 1: [5, 6] });
      await deleteThread(tables(), "c");
      expect(await rows.elements()).toEqual({});
    });

    it("prunes checkpoints and what only they needed, and counts it", async () => {
      await rows.log(1, 6);
      await rows.log(2, 2);
      await rows.checkpoint("a", "1", { segments: [1, 0, 6, 2, 0, 2], body: "four" });
      await rows.checkpoint("a", "2", { parent: "1", segments: [1, 0, 3, 1, 5, 6] });
      await rows.writeSet("a", "1", "seven b");
      await rows.writeSet("a", "2");

      expect(await latest("a")).toEqual({ checkpoints: 1, elements: 4, bytes: 4 + 7 + 40 });

      expect(await rows.checkpoints("a")).toEqual(["2"]);
      expect(await rows.elements()).toEqual({ 1: [0, 1, 2, 5] });
      expect(await rows.counts("a")).toEqual({
        checkpoints: 1,
        checkpoint_write_sets: 1,
        checkpoint_log_uses: 2,
      });
      expect(await latest("a")).toEqual({ checkpoints: 0, elements: 0, bytes: 0 });
    });

    it("frees leftovers that no checkpoint refers to, keeping all checkpoints", async () => {
      await rows.log(1, 3);
      await rows.checkpoint("a", "1", { segments: [1, 0, 1] });
      await rows.checkpoint("a", "2", { segments: [1, 0, 2] });
      const pruned = await prune(tables(), { threadId: "a", keep: "all" });
      expect(pruned).toEqual({ checkpoints: 0, elements: 1, bytes: 10 });
      expect(await rows.checkpoints("a")).toEqual(["1", "2"]);
    });

    it("knows the age of a checkpoint by its id, or else by what was noted with it", async () => {
      const id = (day: string) =>
        v6({ msecs: Date.parse(day), nsecs: 0, clockseq: 1, node: new Uint8Array(6) });
      const days = ["2025-01-01", "2025-01-02", "2025-01-03", "2025-01-04"].map(id);
      for (const [at, day] of days.entries())
        await rows.checkpoint("a", day, { parent: days[at - 1] ?? "0" });
      await rows.checkpoint("a", "0");
      await database.shared.pool.query(
        `update ${schema}.checkpoints set summary = '{"at": "2025-01-02T12:00:00Z"}' where checkpoint_id = '0'`,
      );
      const olderThan = (day: string) =>
        prune(tables(), { threadId: "a", keep: "latest", olderThan: new Date(day) });
      await olderThan("2025-01-02");
      expect(await rows.checkpoints("a")).toEqual(["0", ...days.slice(1)]);
      await olderThan("2025-01-03");
      expect(await rows.checkpoints("a")).toEqual(days.slice(2));
      await olderThan("2026-01-01");
      expect(await rows.checkpoints("a")).toEqual(days.slice(3));
    });

    it("tells checkpoints of one id in several namespaces apart", async () => {
      const parents = { parents: { "": "1" } };
      await rows.checkpoint("a", "1", { segments: [] });
      await rows.checkpoint("a", "2", { namespace: "sub:x", metadata: parents });
      await rows.checkpoint("a", "2", { parent: "1" });
      expect(await latest("a")).toMatchObject({ checkpoints: 2 });
      expect(await rows.checkpoints("a")).toEqual(["2"]);
    });

    it("frees values of the stock class that no checkpoint names, and keeps tasks that one starts with", async () => {
      const { pool } = database.shared;
      for (const [id, parent, checkpoint] of [
        ["1", null, { v: 1, channel_versions: { a: 1, b: 1 } }],
        ["2", "1", { v: 1, channel_versions: { a: 2, b: 1 } }],
        ["3", "2", { v: 1, channel_versions: { a: 3, b: 1 } }],
      ] as const) {
        await pool.query(
          `insert into ${schema}.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
          values ('s', $1, $2, $3, '{"source": "loop"}')`,
          [id, parent, JSON.stringify(checkpoint)],
        );
        await pool.query(
          `insert into ${schema}.checkpoint_blobs (thread_id, channel, version, type, blob) values ('s', 'a', $1, 'json', '"12345678"')`,
          [id],
        );
        for (const [idx, channel] of [
          [0, "__pregel_tasks"],
          [1, "a"],
        ] as const) {
          await pool.query(
            `insert into ${schema}.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
            values ('s', $1, 'task', $2, $3, 'json', '[]')`,
            [id, idx, channel],
          );
        }
      }
      await pool.query(
        `insert into ${schema}.checkpoint_blobs (thread_id, channel, version, type, blob) values ('s', 'b', '1', 'empty', null)`,
      );

      const pruned = await latest("s");

      expect(pruned).toMatchObject({ checkpoints: 2, elements: 2 });
      const versions = await pool.query(
        `select channel, version from ${schema}.checkpoint_blobs order by channel`,
      );
      expect(versions.rows).toEqual([
        { channel: "a", version: "3" },
        { channel: "b", version: "1" },
      ]);
      const writes = await pool.query(
        `select checkpoint_id as id, channel from ${schema}.checkpoint_writes order by id, idx`,
      );
      expect(writes.rows).toEqual([
        { id: "2", channel: "__pregel_tasks" },
        { id: "3", channel: "__pregel_tasks" },
        { id: "3", channel: "a" },
      ]);
      await deleteThread(tables(), "s");
      expect(await rows.counts("s")).toEqual({});
    });

    it("prunes thousands of checkpoints in few statements", async () => {
      await rows.log(1, 3_000);
      await rows.log(2, 3_000);
      await database.shared.pool.query(
        `with uses as (insert into ${schema}.checkpoint_log_uses values (1, 'a'), (2, 'a'))
        insert into ${schema}.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata, body, segments)
        select 'a', lpad(n::text, 6, '0'), lpad((n - 1)::text, 6, '0'), 'null', '{"source": "loop"}', '', array[1, 0, n, 2, n - 1, n]
        from generate_series(1, 3000) as n`,
      );
      expect(await latest("a")).toMatchObject({ checkpoints: 2_999, elements: 2_999 });
      expect(await rows.elements()).toMatchObject({ 2: [2_999] });
    });
  });
}
