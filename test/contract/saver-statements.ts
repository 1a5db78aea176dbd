import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import {
  BaseCheckpointSaver,
  MemorySaver,
  uuid6,
  type Checkpoint,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CheckpointConfigError, CorruptCheckpointError } from "../../checkpointers/errors.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { DatabaseClosedError, DatabaseReadOnlyError } from "../../src/storage/errors.ts";
import { NewerDatabaseError } from "../../src/storage/migrate.ts";
import type { DatabasePool, Queryable } from "../../src/storage/pool.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { stockSaver } from "../helpers/stock-saver.ts";

/** A pool that counts the statements that go through it, and the rows and elements that they give. */
class CountingPool implements DatabasePool {
  statements = 0;
  rows = 0;
  elements = 0;

  constructor(private readonly pool: DatabasePool) {}

  query: DatabasePool["query"] = (...of) => this.#count(this.pool, of);

  async connect() {
    const client = await this.pool.connect();
    const query: DatabasePool["query"] = (...of) => this.#count(client, of);
    return { query, release: (error?: Error | boolean) => client.release(error) };
  }

  async #count(database: Queryable, of: Parameters<DatabasePool["query"]>) {
    const text = typeof of[0] === "string" ? of[0] : of[0].text;
    // Each statement of a tenant has a transaction around it.
    if (!/^(begin|commit|rollback)\b/.test(text)) this.statements += 1;
    const result = await database.query(...of);
    this.rows += result.rows.length;
    for (const row of result.rows as { idxs?: unknown[] | null }[]) {
      this.elements += row.idxs?.length ?? 0;
    }
    return result as never;
  }

  async end() {
    await this.pool.end();
  }

  /** Statements that `work` took. */
  async during(work: () => Promise<unknown>): Promise<number> {
    const before = this.statements;
    await work();
    return this.statements - before;
  }
}

/** What the saver asks of its database, and what it makes of refusals. */
export function saverStatements(database: TestDatabase): void {
  let made = 0;
  const at = (thread: string, id?: string) => ({
    configurable: { thread_id: thread, checkpoint_ns: "", ...(id && { checkpoint_id: id }) },
  });
  const metadata = { source: "loop" as const, step: 0, parents: {} };
  const checkpointOf = (
    values: Record<string, unknown>,
    versions: Record<string, number>,
  ): Checkpoint => ({
    v: 4,
    id: uuid6((made += 1) % 1000),
    ts: new Date(0).toISOString(),
    channel_values: values,
    channel_versions: versions,
    versions_seen: {},
  });

  async function put(
    saver: BaseCheckpointSaver,
    thread: string,
    values: Record<string, unknown>,
    parent?: string,
  ) {
    const versions = Object.fromEntries(
      Object.keys(values).map((key) => [key, saver.getNextVersion(undefined)]),
    );
    const checkpoint = checkpointOf(values, versions);
    await saver.put(at(thread, parent), checkpoint, metadata, versions);
    return checkpoint.id;
  }

  const messages = Array.from(
    { length: 40 },
    (_, n) => new HumanMessage({ id: `${n}`, content: `${n} ${"x".repeat(200)}` }),
  );

  describe.skipIf(!database.available)(`Statements of the saver on ${database.kind}`, () => {
    test("are one for each put, set of writes, reading, and page", async () => {
      const pool = new CountingPool(database.shared.pool);
      const saver = new PostgresCheckpointer(pool);
      const thread = randomUUID();
      const first = await put(saver, thread, { messages });
      let parent = first;

      for (let step = 0; step < 20; step += 1) {
        const added = [...messages, new HumanMessage({ id: `new ${step}`, content: "more" })];
        const values = { messages: added, text: "a", object: { [`${step}`]: "x".repeat(3000) } };
        expect(
          await pool.during(async () => (parent = await put(saver, thread, values, parent))),
        ).toBe(1);
        const writes: PendingWrite[] = [
          ["messages", added[0]],
          ["text", "b"],
        ];
        expect(await pool.during(() => saver.putWrites(at(thread, parent), writes, "task"))).toBe(
          1,
        );
        expect(await pool.during(() => saver.getTuple(at(thread)))).toBe(1);
        expect(await pool.during(() => saver.getTuple(at(thread, first)))).toBe(1);
      }
      // Pages of 16 and of 32.
      expect(await pool.during(() => collect(saver.list(at(thread))))).toBe(2);
      expect(await pool.during(() => collect(saver.list(at(thread), { limit: 21 })))).toBe(1);
    });

    test("read each element once, whichever process wrote it", async () => {
      const pool = new CountingPool(database.shared.pool);
      const [saver, other] = [pool, database.shared.pool].map((of) => new PostgresCheckpointer(of));
      const thread = randomUUID();
      const read = async (id?: string) => {
        pool.elements = 0;
        const tuple = await saver!.getTuple(at(thread, id));
        const fresh = await new PostgresCheckpointer(database.shared.pool).getTuple(at(thread, id));
        expect(tuple).toEqual(fresh);
        return pool.elements;
      };
      const grown = (...ids: string[]) => [
        ...messages,
        ...ids.map((id) => new HumanMessage({ id, content: id.repeat(200) })),
      ];

      const first = await put(other!, thread, { messages });
      expect(await read()).toBe(40);
      expect(await read()).toBe(0);
      const second = await put(other!, thread, { messages: grown("a", "b") }, first);
      expect(await read()).toBe(2);
      const known = (await saver!.getTuple(at(thread)))!.checkpoint.channel_values["messages"];
      await put(saver!, thread, { messages: [...(known as []), ...grown("c").slice(-1)] }, second);
      expect(await read()).toBe(1);
      expect([await read(), await read(first), await read()]).toEqual([0, 0, 3]);
    });

    test("read elements again that the cache has no room for, or whose thread was deleted", async () => {
      const pool = new CountingPool(database.shared.pool);
      const [first, second] = [randomUUID(), randomUUID()];
      const writer = new PostgresCheckpointer(database.shared.pool);
      for (const thread of [first, second]) await put(writer, thread, { messages });
      const reads = async (cacheBytes: number) => {
        const saver = new PostgresCheckpointer(pool, { cacheBytes });
        const counts: number[] = [];
        for (const thread of [first, second, first]) {
          pool.elements = 0;
          await saver.getTuple(at(thread));
          counts.push(pool.elements);
        }
        return counts;
      };
      expect(await reads(1)).toEqual([40, 40, 40]);
      expect(await reads(2 ** 20)).toEqual([40, 40, 0]);

      const saver = new PostgresCheckpointer(pool);
      await saver.getTuple(at(first));
      const copy = await collect(saver.exportThread(first));
      await saver.deleteThread(first);
      await saver.importThread(copy);
      pool.elements = 0;
      await saver.getTuple(at(first));
      expect(pool.elements).toBe(40);
    });

    test("write what is new: one element for each replacement of the last, and nothing for a fork", async () => {
      const { pool } = database.shared;
      const thread = randomUUID();
      const counts = async () => {
        const { rows } = await pool.query<{ elements: number; places: number }>(
          `select (select count(*)::int from checkpoint_elements e join checkpoint_log_uses u using (log_id) where u.thread_id = $1) as elements,
            (select max(cardinality(segments)) from checkpoints where thread_id = $1) as places`,
          [thread],
        );
        return rows[0]!;
      };
      let saver = new PostgresCheckpointer(pool);
      let parent = await put(saver, thread, { messages });
      expect(await counts()).toEqual({ elements: 40, places: 3 });
      for (let step = 0; step < 200; step += 1) {
        // Now and then another process goes on, with objects of its own.
        if (step % 50 === 49) saver = new PostgresCheckpointer(pool);
        const copied = messages.map(({ id, content }) => new HumanMessage({ id: id!, content }));
        const last = new HumanMessage({ id: "last", content: `${step}` });
        parent = await put(saver, thread, { messages: [...copied.slice(0, -1), last] }, parent);
      }
      expect(await counts()).toEqual({ elements: 240, places: 6 });

      await saver.forkThread({
        threadId: thread,
        checkpointId: parent,
        newThreadId: `${thread} fork`,
      });
      await put(saver, `${thread} fork`, { messages: messages.slice(0, 20) }, parent);
      const { elements } = await counts();
      expect(elements).toBe(240);
    });

    test("give the history of delta channels in one, the same as walking from parent to parent", async () => {
      const pool = new CountingPool(database.shared.pool);
      const saver = new PostgresCheckpointer(pool);
      const step = fc.record({
        parent: fc.oneof(
          { weight: 3, arbitrary: fc.constant(1) },
          { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
        ),
        values: fc.subarray(["a", "b"], { maxLength: 1 }),
        holds: fc.integer({ min: 0, max: 3 }),
        writes: fc.array(
          fc.record({
            task: fc.constantFrom("t1", "t2", "T3"),
            channels: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }),
          }),
          { maxLength: 2 },
        ),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 8 }),
          fc.double({ min: 0, max: 3 }),
          async (steps, removed) => {
            const thread = randomUUID();
            const ids: string[] = [];
            const ancestors = new Map<string, readonly string[]>();
            for (const { parent, values, holds, writes } of steps) {
              const held =
                holds === 0
                  ? Object.fromEntries(values.map((key) => [key, [key.repeat(3000), ids.length]]))
                  : {};
              const from = ids[Math.round(parent * (ids.length - 1))];
              const id = await put(saver, thread, { ...held, other: messages }, from);
              ids.push(id);
              ancestors.set(id, from === undefined ? [] : [from, ...ancestors.get(from)!]);
              for (const { task, channels } of writes) {
                await saver.putWrites(
                  at(thread, ids.at(-1)),
                  channels.map((channel, n): PendingWrite => [channel, `${ids.length} ${n}`]),
                  task,
                );
              }
            }
            const gone = ids[Math.floor(removed * ids.length)];
            if (gone)
              await database.shared.pool.query("delete from checkpoints where checkpoint_id = $1", [
                gone,
              ]);
            for (const id of ids) {
              const options = { config: at(thread, id), channels: ["a", "b"] };
              let history: unknown;
              const statements = await pool.during(async () => {
                history = await saver.getDeltaChannelHistory(options).catch((thrown) => thrown);
              });
              expect(statements).toBe(1);
              const walked: unknown =
                await BaseCheckpointSaver.prototype.getDeltaChannelHistory.call(saver, options);
              // A walk that a missing checkpoint ends is shorter; where that matters, it is refused.
              const isRefused = history instanceof CorruptCheckpointError;
              const wasNeeded = gone !== undefined && ancestors.get(id)!.includes(gone);
              expect(isRefused ? wasNeeded : history).toEqual(isRefused || walked);
            }
          },
        ),
        { numRuns: 15 },
      );
    });

    test("set up a schema of any name, however many begin at once, and go on from the stock class", async () => {
      const schema = `odd "name" $& {schema}`;
      const { pool } = database.shared;
      const savers = Array.from({ length: 20 }, () => new PostgresCheckpointer(pool, { schema }));
      await Promise.all(savers.map((saver) => saver.setup()));

      const stock = stockSaver(pool, schema);
      const thread = randomUUID();
      const old = await put(stock, thread, { messages, text: "old" });
      await stock.putWrites(at(thread, old), [["text", "written"]], "task");

      const [saver] = savers;
      const next = await put(saver!, thread, { messages: [...messages, messages[0]] }, old);
      await saver!.forkThread({ threadId: thread, checkpointId: old, newThreadId: "fork" });
      expect(await savers[1]!.getTuple(at("fork"))).toMatchObject({
        checkpoint: { id: old, channel_values: { messages, text: "old" } },
        pendingWrites: [["task", "text", "written"]],
      });
      expect((await saver!.listSummaries({ threadId: thread })).items.map(({ id }) => id)).toEqual([
        next,
        old,
      ]);
      expect((await saver!.listThreads()).items.map(({ threadId }) => threadId).toSorted()).toEqual(
        [thread, "fork"].toSorted(),
      );
      expect(await saver!.verifyThread(thread)).toEqual({ checked: 2, damaged: [] });
      expect(await saver!.prune({ threadId: thread, keep: "latest" })).toMatchObject({
        checkpoints: 1,
      });
      await saver!.deleteThread(thread);
      expect((await saver!.listThreads()).items.map(({ threadId }) => threadId)).toEqual(["fork"]);
    });

    test("read each stored value once to verify or export a thread", async () => {
      const { pool } = database.shared;
      const saver = new PostgresCheckpointer(pool);
      const thread = randomUUID();
      const length = 200;
      let parent: string | undefined;
      for (let step = 1; step <= length; step += 1) {
        // The beginning of the list changes once.
        const items = Array.from({ length: step }, (_, item) => ({ item, of: step > 100 ? 1 : 0 }));
        parent = await put(saver, thread, { items }, parent);
      }
      const { rows } = await pool.query<{ elements: number }>(
        `select count(*)::int as elements from checkpoint_elements
        where log_id in (select log_id from checkpoint_log_uses where thread_id = $1)`,
        [thread],
      );
      const counted = new CountingPool(pool);
      const reader = new PostgresCheckpointer(counted);
      await reader.setup();
      const seen: number[] = [];
      for (const read of [
        () => collect(reader.exportThread(thread)),
        () => reader.verifyThread(thread, { onProgress: ({ checked }) => seen.push(checked) }),
      ]) {
        counted.rows = 0;
        await read();
        // The ids first, then the rows.
        expect(counted.rows).toBe(2 * length + rows[0]!.elements);
      }
      expect(seen).toEqual(Array.from({ length }, (_, step) => step + 1));
      const gone = new AbortController();
      const stopped = reader.verifyThread(thread, {
        signal: gone.signal,
        onProgress: ({ checked, total }) => {
          seen.push(checked / total);
          if (checked === 3) gone.abort(new Error("Enough."));
        },
      });
      await expect(stopped).rejects.toThrow("Enough.");
      expect(seen.at(-1)).toBe(3 / length);
    });

    test("name the checkpoints to verify whose values the serializer cannot read", async () => {
      const inner = new MemorySaver().serde;
      let locked = "";
      const serde: SerializerProtocol = {
        dumpsTyped: async (value) => {
          const [type, bytes] = await inner.dumpsTyped(value);
          return [`${type}+sealed`, Buffer.from(bytes).map((byte) => byte ^ 1)];
        },
        async loadsTyped(type, data) {
          const bytes = Buffer.from(data as Uint8Array).map((byte) => byte ^ 1);
          if (locked !== "" && Buffer.from(bytes).includes(locked)) throw new Error("Locked.");
          return inner.loadsTyped(type.replace("+sealed", ""), bytes);
        },
      };
      const saver = new PostgresCheckpointer(database.shared.pool, { serde });
      const thread = randomUUID();
      const items = Array.from({ length: 100 }, () => ({ name: "n".repeat(100) }));
      const one = { items: [...items, { name: "element" }], text: "inline" };
      const first = await put(saver, thread, { items, text: "other" });
      const second = await put(saver, thread, one, first);
      await saver.putWrites(at(thread, first), [["text", "written"]], "task");
      const third = await put(saver, thread, { ...one, text: "after" }, second);
      for (const [what, places] of [
        ["", []],
        ["element", [second, third]],
        ["inline", [second]],
        ["written", [first]],
        ["name", [first, second, third]],
      ] as const) {
        locked = what;
        const { checked, damaged } = await saver.verifyThread(thread);
        expect([what, checked, damaged.map(({ checkpointId }) => checkpointId)]).toEqual([
          what,
          3,
          places,
        ]);
      }
    });

    test("are not made for calls that do not say which thread", async () => {
      const pool = new CountingPool(database.shared.pool);
      const saver = new PostgresCheckpointer(pool);
      const checkpoint = checkpointOf({}, {});
      for (const thread_id of [undefined, null]) {
        const nowhere = { configurable: { thread_id } };
        expect(await saver.getTuple(nowhere)).toBeUndefined();
        await expect(saver.put(nowhere, checkpoint, metadata, {})).rejects.toThrow(
          CheckpointConfigError,
        );
        await expect(saver.putWrites(nowhere, [["a", 1]], "task")).rejects.toThrow(
          CheckpointConfigError,
        );
      }
      await expect(saver.putWrites(at("some"), [["a", 1]], "task")).rejects.toThrow(
        "`checkpoint_id`",
      );
      expect(pool.statements).toBe(0);
    });

    test("fail as the database says, with nothing half written", async () => {
      const { pool } = database.shared;
      const thread = randomUUID();
      const saver = new PostgresCheckpointer(pool);
      const first = await put(saver, thread, { messages });
      let refuses: "read only" | "closed" | undefined;
      const refused = new PostgresCheckpointer({
        query: (...of) => pool.query(...of),
        async connect() {
          if (refuses === "closed") throw new DatabaseClosedError("It is closed.");
          const client = await pool.connect();
          const readOnly = (text: string) =>
            refuses === undefined ? text : text.replace(/^begin/, "begin read only");
          return {
            query: (query, values) =>
              client.query(typeof query === "string" ? readOnly(query) : query, values),
            release: () => client.release(),
          };
        },
        end: async () => {},
      });
      await refused.getTuple(at(thread));
      for (const [refusal, error] of [
        ["read only", DatabaseReadOnlyError],
        ["closed", DatabaseClosedError],
      ] as const) {
        refuses = refusal;
        await expect(
          put(refused, thread, { messages: [...messages, messages[0]] }, first),
        ).rejects.toThrow(error);
        await expect(refused.putWrites(at(thread, first), [["a", 1]], "task")).rejects.toThrow(
          error,
        );
      }
      await expect(refused.getTuple(at(thread))).rejects.toThrow(DatabaseClosedError);
      await expect(collect(refused.list(at(thread)))).rejects.toThrow(DatabaseClosedError);
      refuses = undefined;
      expect(await saver.verifyThread(thread)).toEqual({ checked: 1, damaged: [] });
      const last = await put(refused, thread, { messages: [...messages, messages[1]] }, first);
      expect((await saver.getTuple(at(thread)))!.checkpoint.channel_values["messages"]).toEqual([
        ...messages,
        messages[1],
      ]);
      expect(last > first).toBe(true);
    });

    test("are refused by a database that a newer version set up", async () => {
      const { pool } = database.shared;
      const schema = "newer";
      await new PostgresCheckpointer(pool, { schema }).setup();
      await pool.query(
        `insert into newer.stratagraph_migrations (name, number) values ('checkpoints', 999)`,
      );
      // As in a process that opens the database afterwards: a pool is checked once.
      const opened = await database.open();
      const saver = new PostgresCheckpointer(opened.pool, { schema });
      await expect(saver.getTuple(at("some"))).rejects.toThrow(NewerDatabaseError);
      await expect(put(saver, "some", { messages })).rejects.toThrow(NewerDatabaseError);
      await expect(collect(saver.list(at("some")))).rejects.toThrow(NewerDatabaseError);
    });
  });
}
