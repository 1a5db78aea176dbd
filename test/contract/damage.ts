import { canonicalHash } from "../../src/values/json.ts";
import { HumanMessage } from "@langchain/core/messages";
import { DeltaValue, END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { uuid6, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  CorruptCheckpointError,
  CorruptDefinitionError,
  NoCheckpointError,
} from "../../checkpointers/errors.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { contentDifference } from "../helpers/same-value.ts";

const tables = [
  "checkpoints",
  "checkpoint_elements",
  "checkpoint_write_sets",
  "checkpoint_log_uses",
  "checkpoint_definitions",
] as const;

/** SQL for what a column may have become, by its type. `$` stands for the column. */
const changes: Readonly<Record<string, readonly string[]>> = {
  bytea: [
    "set_byte($, 0, get_byte($, 0) # 1)",
    "set_byte($, octet_length($) - 1, get_byte($, octet_length($) - 1) # 128)",
    "set_byte($, octet_length($) / 2, get_byte($, octet_length($) / 2) # 255)",
    "substring($ from 1 for octet_length($) - 1)",
    "$ || '\\x00'",
    "''",
  ],
  text: ["$ || 'x'", "'-'", "'json'", "'bytes'"],
  integer: ["$ + 1", "$ + 1000000", "-5"],
  bigint: ["$ + 1", "9007199254740993", "-5"],
  jsonb: [
    "'null'",
    "'{}'",
    "'[1]'",
    `'"text"'`,
    `jsonb_build_object('step', 'x', 'source', 5, 'nodes', 7, 'bytes', 'many', 'status', 1, 'ts', 3, 'v', 'x')`,
    `case jsonb_typeof($) when 'object' then $ || '{"step": 99, "bytes": 1, "model": "other"}' else '5' end`,
  ],
  ARRAY: [
    "'{}'",
    "$[1 : cardinality($) - 1]",
    "$[4:] || $[1:3]",
    "$ || array[1, 0, 1]::bigint[]",
    "array[$[1], 0, 9223372036854775807] || $[4:]",
    "array[$[1], 5, 2]",
    "array[null, null, null]::bigint[]",
    "array[array[1, 2, 3], array[4, 5, 6]]::bigint[]",
  ],
};

/** Of each table rows that differ in what they hold. */
const rowsOf: Readonly<Record<(typeof tables)[number], string>> = {
  checkpoints: "checkpoint_id, thread_id",
  checkpoint_elements: "octet_length(blob), log_id, idx",
  checkpoint_write_sets: "checkpoint_id, idx",
  checkpoint_log_uses: "thread_id, log_id",
  checkpoint_definitions: "hash",
};

/** Whatever becomes of the bytes in the database, nothing is given back that was not written. */
export function damageContract(database: TestDatabase): void {
  let writer: PostgresCheckpointer;
  /** Remembers nothing of what it read. */
  let saver: PostgresCheckpointer;
  const at = (thread: string, id?: string) => ({
    configurable: { thread_id: thread, checkpoint_ns: "", ...(id && { checkpoint_id: id }) },
  });
  const definition = { name: "agent", model: "some", "10": 1, "9": [{ b: 1, a: 2 }] };
  const hash = canonicalHash(definition);
  /** By thread and id. */
  const written = new Map<string, CheckpointTuple>();
  const query = <Row>(text: string, values: unknown[] = []) =>
    database.shared.pool.query<Row>(text, values);

  async function writeThread(thread: string, count: number): Promise<void> {
    writer.rememberDefinition(hash, definition);
    let parent: string | undefined;
    const text = (of: unknown) => `${thread} ${String(of)} ${"x".repeat(150)}`;
    const messages = Array.from(
      { length: 12 },
      (_, n) => new HumanMessage({ id: `${n}`, content: text(n) }),
    );
    for (let step = 0; step < count; step += 1) {
      messages.push(new HumanMessage({ id: `new ${step}`, content: text(`new ${step}`) }));
      const values = {
        messages: [...messages],
        object: Object.fromEntries(
          messages.map(({ id }) => [id!, { text: text(`${id} ${step % 2}`) }]),
        ),
        status: step === 2 ? "FAILED" : "RUNNING",
        bytes: Buffer.from(text(step)),
        ...(step === 0 && { delta: ["seed"] }),
      };
      const versions = Object.fromEntries(
        [...Object.keys(values), "delta"].map((key) => [key, `${step}.${thread}`]),
      );
      const checkpoint = {
        v: 4,
        id: uuid6(step),
        ts: new Date(0).toISOString(),
        channel_values: values,
        channel_versions: versions,
        versions_seen: { node: { messages: `${step}.${thread}` } },
      };
      const config = at(thread, parent);
      Object.assign(config.configurable, { __definition_hash: hash });
      await writer.put(config, checkpoint, { source: "loop", step, parents: {} }, versions);
      parent = checkpoint.id;
      await writer.putWrites(
        at(thread, parent),
        [
          ["delta", `write ${step}`],
          ["other", text(step)],
        ],
        `task ${step}`,
      );
      await writer.putWrites(at(thread, parent), [["__error__", { message: "bad" }]], "other");
    }
  }

  async function keys(): Promise<{ thread: string; id: string; ns: string }[]> {
    const { rows } = await query<{ thread: string; id: string; ns: string }>(
      `select thread_id as thread, checkpoint_id as id, checkpoint_ns as ns from checkpoints order by 1, 2`,
    );
    return rows;
  }

  async function restore(of: readonly string[] = tables): Promise<void> {
    for (const table of of) {
      await query(`with gone as (delete from ${table}) select`);
      await query(`insert into ${table} select * from backup_${table}`);
    }
  }

  /** Fails where something is not as it was written. @param lostWrites whether rows of writes may have gone */
  function checkTuple(thread: string, tuple: CheckpointTuple, lostWrites: boolean): void {
    const original = written.get(`${thread} ${tuple.checkpoint.id}`)!;
    const { pendingWrites = [], ...rest } = tuple;
    const { pendingWrites: originals = [], ...originalRest } = original;
    expect(contentDifference(rest, originalRest)).toBeNull();
    const same = (one: unknown, other: unknown) => contentDifference(one, other) === null;
    const known = pendingWrites.filter((write) => originals.some((other) => same(write, other)));
    expect(known).toHaveLength(pendingWrites.length);
    expect(lostWrites ? originals.length : pendingWrites.length).toBe(originals.length);
  }

  /** What became of a reading: what was read, or null for a corrupt checkpoint. */
  async function attempt<Result>(reading: Promise<Result>): Promise<Result | null> {
    return reading.catch((thrown: unknown) => {
      expect(thrown).toBeInstanceOf(CorruptCheckpointError);
      return null;
    });
  }

  /** Reads everything in all ways there are. */
  async function checkAll(lostWrites: boolean): Promise<{ corrupt: number }> {
    const found = await keys();
    const corrupt = new Map<string, string[]>();
    for (const { thread, ns, id } of found) {
      const config = { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } };
      const tuple = await attempt(saver.getTuple(config));
      if (tuple === null) corrupt.set(thread, [...(corrupt.get(thread) ?? []), id]);
      else checkTuple(thread, tuple!, lostWrites);
    }
    for (const thread of new Set(["one", ...found.map((row) => row.thread)])) {
      const latest = await attempt(saver.getTuple(at(thread)));
      if (latest) checkTuple(thread, latest, lostWrites);
      const listed = await attempt(collect(saver.list(at(thread))));
      for (const tuple of listed ?? []) checkTuple(thread, tuple, lostWrites);
      const { damaged } = await saver.verifyThread(thread);
      expect(damaged.map(({ checkpointId }) => checkpointId).toSorted()).toEqual(
        (corrupt.get(thread) ?? []).toSorted(),
      );
      await saver.listSummaries({ threadId: thread });
    }
    await saver.listThreads();
    const definitionNow = await saver.definitionOf(hash).catch((thrown: unknown) => {
      if (thrown instanceof CorruptDefinitionError) return undefined;
      throw thrown;
    });
    expect([undefined, definition]).toContainEqual(definitionNow);
    return { corrupt: [...corrupt.values()].flat().length };
  }

  async function checkDelta(lostWrites: boolean): Promise<void> {
    const ids = [...written.keys()]
      .filter((key) => key.startsWith("one "))
      .map((key) => key.slice(4));
    const config = at("one", ids.toSorted().at(-1));
    const history = await attempt(saver.getDeltaChannelHistory({ config, channels: ["delta"] }));
    if (history === null || lostWrites) return;
    const isThere = (
      await query(
        "select from checkpoints where checkpoint_id = $1 and checkpoint_ns = '' and thread_id = 'one'",
        [config.configurable.checkpoint_id],
      )
    ).rowCount;
    const walk = {
      seed: ["seed"],
      writes: [0, 1].map((n) => [`task ${n}`, "delta", `write ${n}`]),
    };
    expect(history["delta"]).toEqual(isThere ? walk : { writes: [] });
  }

  async function checkFork(lostWrites: boolean): Promise<void> {
    for (const { thread, ns, id } of await keys()) {
      if (ns !== "" || thread !== "one") continue;
      const of = { threadId: thread, checkpointId: id, newThreadId: `fork ${thread} ${id}` };
      const forked = await saver
        .forkThread(of)
        .then(() => true)
        .catch((thrown: unknown) => {
          const isExpected =
            thrown instanceof CorruptCheckpointError || thrown instanceof NoCheckpointError;
          if (!isExpected) throw thrown;
          return false;
        });
      const { rowCount } = await query("select from checkpoints where thread_id = $1", [
        of.newThreadId,
      ]);
      expect(rowCount).toBe(forked ? 1 : 0);
      const read = forked ? await attempt(saver.getTuple(at(of.newThreadId))) : null;
      if (!read) continue;
      const original = written.get(`${thread} ${id}`)!;
      expect(contentDifference(read.checkpoint, original.checkpoint)).toBeNull();
      expect(lostWrites ? original.pendingWrites : read.pendingWrites).toEqual(
        original.pendingWrites,
      );
    }
  }

  describe.skipIf(!database.available)(`A damaged thread on ${database.kind}`, () => {
    beforeAll(async () => {
      writer = new PostgresCheckpointer(database.shared.pool);
      saver = new PostgresCheckpointer(database.shared.pool, { cacheBytes: 0 });
      await writeThread("one", 3);
      await writeThread("two", 1);
      for (const table of tables) await query(`create table backup_${table} as table ${table}`);
      for (const { thread, id } of await keys()) {
        written.set(`${thread} ${id}`, (await saver.getTuple(at(thread, id)))!);
      }
    });

    test("is sound before anything is damaged", async () => {
      expect(await checkAll(false)).toEqual({ corrupt: 0 });
      await checkDelta(false);
      await checkFork(false);
      await restore();
    });

    for (const table of tables) {
      const gap = table === "checkpoint_write_sets" ? ", but for writes whose rows are gone" : "";
      test(`never gives what was not written, whatever becomes of ${table}${gap}`, async () => {
        const { rows: columns } = await query<{ name: string; type: string; nullable: string }>(
          `select column_name as name, data_type as type, is_nullable as nullable
          from information_schema.columns where table_name = $1 and table_schema = 'public' and column_name <> 'tenant_id'`,
          [table],
        );
        const { rowCount: count } = await query(`select from ${table}`);
        const keyed = new Set(["thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx"]);
        const middle = Math.floor(count! / 2);
        const target = `ctid = (select ctid from ${table} order by ${rowsOf[table]} offset ${middle} limit 1)`;
        let corrupt = 0;
        let cases = 0;
        const swapped = `(select o.$ from ${table} o order by ${rowsOf[table]} limit 1)`;
        const statements = columns.flatMap(({ name, type, nullable }) =>
          [...changes[type]!, swapped, ...(nullable === "YES" ? ["null"] : [])].map((to) => ({
            name,
            sql: `update ${table} set ${name} = (${to.replaceAll("$", name)}) where ${target}`,
          })),
        );
        for (const { name, sql } of [
          ...statements,
          { name: "row", sql: `delete from ${table} where ${target}` },
        ]) {
          // Where a key is taken already the row stays as it is.
          const changed = await query(sql).then(
            () => true,
            (thrown: { code?: string }) => {
              expect(thrown.code).toMatch(/^23/);
              return false;
            },
          );
          if (!changed) continue;
          const lostWrites =
            table === "checkpoint_write_sets" && (name === "row" || keyed.has(name));
          try {
            corrupt += (await checkAll(lostWrites)).corrupt;
            await checkDelta(lostWrites);
            cases += 1;
            if (cases % 8 > 0) continue;
            if (/checkpoints|write_sets/.test(table)) await checkFork(lostWrites);
            await saver.prune({ threadId: "one", keep: "latest" });
            await saver.deleteThread("one");
          } catch (error) {
            throw new Error(`${sql}: ${String(error)}`, { cause: error });
          } finally {
            await restore(cases % 8 === 0 ? tables : [table]);
          }
        }
        const isRead = table !== "checkpoint_log_uses" && table !== "checkpoint_definitions";
        expect(corrupt > 0).toBe(isRead);
      }, 90_000);
    }

    test("is found out also where the database cannot make sense of it", async () => {
      await query(
        `update checkpoints set body = '\\xff', hash = null, segments = null, summary = null, parent_hash = null`,
      );
      expect((await checkAll(false)).corrupt).toBe(4);
      await checkDelta(false);
      await restore();
      await query(`update checkpoints set parent_checkpoint_id = checkpoint_id`);
      expect((await checkAll(false)).corrupt).toBe(4);
      await checkDelta(false);
      await restore();
      await query(
        `update checkpoints set body = null, hash = null, segments = null, summary = null, parent_hash = null`,
      );
      expect((await checkAll(false)).corrupt).toBe(4);
      await restore();
    });

    test("is left by a run from a named checkpoint, and refused by any other reading", async () => {
      const graph = new StateGraph(z.object({ said: z.string() }))
        .addNode("one", () => ({ said: "one" }))
        .addNode("two", () => ({ said: "two" }))
        .addEdge(START, "one")
        .addEdge("one", "two")
        .addEdge("two", END)
        .compile({ checkpointer: saver });
      const thread = { configurable: { thread_id: "left" } };
      await graph.invoke({ said: "" }, thread);
      const [newest, older] = await collect(graph.getStateHistory(thread));
      await query(
        "update checkpoints set body = set_byte(body, 9, get_byte(body, 9) # 1) where thread_id = 'left' and checkpoint_id = $1",
        [newest!.config.configurable!["checkpoint_id"]],
      );

      await expect(graph.getState(thread)).rejects.toThrow(CorruptCheckpointError);
      await expect(graph.invoke({ said: "" }, thread)).rejects.toThrow(CorruptCheckpointError);
      const unnamed = { configurable: { ...thread.configurable, checkpoint_id: undefined } };
      await expect(graph.getState(unnamed)).rejects.toThrow(CorruptCheckpointError);
      await expect(graph.updateState(unnamed, { said: "x" })).rejects.toThrow(
        CorruptCheckpointError,
      );
      const { id } = (await saver.getTuple(unnamed))!.checkpoint;
      expect(id).toBe(newest!.config.configurable!["checkpoint_id"]);
      expect(await graph.invoke(null, older!.config)).toEqual({ said: "two" });
      expect((await graph.getState(thread)).values).toEqual({ said: "two" });
      const updated = await graph.updateState(older!.config, { said: "three" }, "two");
      expect((await graph.getState(updated)).values).toEqual({ said: "three" });
    });
  });

  describe.skipIf(!database.available)(`Damaged delta channels on ${database.kind}`, () => {
    const serde = new MemorySaver().serde;
    const nullIfCorrupt = (thrown: unknown) => {
      if (!(thrown instanceof CorruptCheckpointError)) throw thrown;
      return null;
    };
    const pool = () => database.shared.pool;
    const graphOn = (checkpointer: PostgresCheckpointer) => {
      const lines = new DeltaValue(z.array(z.string()), {
        reducer: (old, writes) => [...old, ...writes.flat()],
      });
      const say = (name: string) => (state: { lines: string[] }) => ({
        lines: [`${name} ${state.lines.length}`],
      });
      return new StateGraph(new StateSchema({ lines }))
        .addNode("left", say("left"))
        .addNode("right", say("right"))
        .addNode("join", say("join"))
        .addEdge(START, "left")
        .addEdge(START, "right")
        .addEdge(["left", "right"], "join")
        .addConditionalEdges("join", ({ lines: all }) => (all.length < 9 ? ["left", "right"] : END))
        .compile({ checkpointer });
    };

    test.each([
      ["", {}],
      [", read step by step,", { serde }],
    ])("%s are refused where a write or a checkpoint is missing", async (_how, options) => {
      const thread = `delta ${_how}`;
      const config = { configurable: { thread_id: thread } };
      const open = () => graphOn(new PostgresCheckpointer(pool(), options));
      await open().invoke({ lines: ["in"] }, config);
      await open().invoke({ lines: ["again"] }, config);
      const { values, config: newest } = await open().getState(config);
      const verify = () => new PostgresCheckpointer(pool(), options).verifyThread(thread);
      expect((await verify()).damaged).toEqual([]);
      const refused: Record<string, number> = { checkpoint_write_sets: 0, checkpoints: 0 };
      for (const table of Object.keys(refused)) {
        const { rows } = await query<{ ctid: string }>(
          `select ctid from ${table} where thread_id = $1 and checkpoint_id <> $2`,
          [thread, newest.configurable!["checkpoint_id"]],
        );
        for (const { ctid } of rows) {
          await query(`update ${table} set thread_id = 'gone' where ctid = $1`, [ctid]);
          const read = await open().getState(config).catch(nullIfCorrupt);
          const { damaged } = await verify();
          expect(damaged.length > 0).toBe(read === null);
          expect(read === null ? values : read.values).toEqual(values);
          if (read === null) refused[table]! += 1;
          await query(`update ${table} set thread_id = $1 where thread_id = 'gone'`, [thread]);
        }
      }
      expect(refused).toEqual({ checkpoint_write_sets: 14, checkpoints: 11 });
      expect((await open().getState(config)).values).toEqual(values);
      await new PostgresCheckpointer(pool(), options).prune({ threadId: thread, keep: "latest" });
      expect((await verify()).damaged).toEqual([]);
      expect((await open().getState(config)).values).toEqual(values);
    });
  });
}
