import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  PostgresCheckpointer,
  type PostgresCheckpointerOptions,
} from "../../checkpointers/postgres.ts";
import { checkpointQueries } from "../../checkpointers/queries.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { seededRandom } from "../helpers/random.ts";

interface PutOptions {
  /** Default: the last put. */
  readonly parent?: string | null;
  readonly namespace?: string;
  readonly metadata?: object;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A run's puts that resolve before they are stored: stored in order, together, and right whatever others do. */
export function putsAheadContract(database: TestDatabase): void {
  const open = (
    pool: DatabasePool = database.shared.pool,
    options: PostgresCheckpointerOptions = {},
  ) => new PostgresCheckpointer(pool, options);
  const configOf = (thread: string, id?: string, namespace = "") => ({
    configurable: { thread_id: thread, checkpoint_ns: namespace, ...(id && { checkpoint_id: id }) },
  });
  const textsOf = (n: number) =>
    Array.from({ length: n }, (_, place) => `${place} ${"x".repeat(200)}`);
  const messagesOf = (n: number) =>
    textsOf(n).map((content, id) => new HumanMessage({ id: String(id), content }));

  /** A run on a thread, and the puts it makes, each on top of the last. */
  function begin(saver: PostgresCheckpointer, thread: string = randomUUID()) {
    const failures: unknown[] = [];
    onTestFinished(saver.watchRun(thread, (error) => void failures.push(error), { isAhead: true }));
    const ids: string[] = [];
    const versions = { messages: 0 };
    return {
      thread,
      failures,
      ids,
      /** Puts a checkpoint with a number of messages. */
      put(
        messages: number,
        { parent = ids.at(-1) ?? null, namespace = "", metadata = {} }: PutOptions = {},
      ): Promise<unknown> {
        versions.messages += 1;
        const id = uuid6(versions.messages);
        ids.push(id);
        return saver.put(
          configOf(thread, parent ?? undefined, namespace),
          {
            v: 4,
            id,
            ts: new Date(0).toISOString(),
            channel_values: { messages: messagesOf(messages), kept: { text: "k".repeat(500) } },
            channel_versions: { messages: versions.messages, kept: 1 },
            versions_seen: {},
          },
          { source: "loop", step: versions.messages, parents: {}, ...metadata },
          ids.length === 1 ? { messages: 1, kept: 1 } : { messages: versions.messages },
        );
      },
    };
  }

  const read = async (thread: string, id?: string) => {
    const tuple = await open().getTuple(configOf(thread, id));
    const messages = tuple?.checkpoint.channel_values["messages"] as HumanMessage[] | undefined;
    return tuple && { id: tuple.checkpoint.id, texts: messages?.map(({ content }) => content) };
  };
  const expectSound = async (thread: string, checked: number) =>
    expect(await open().verifyThread(thread)).toEqual({ checked, damaged: [] });

  describe.skipIf(!database.available)(`puts ahead of ${database.kind}`, () => {
    test("resolve before they are stored, and are stored in order and together", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(1);
      await saver.drain(run.thread);
      gate.close();
      const writes = saver.putWrites(
        configOf(run.thread, run.ids[0]),
        [["messages", "one"]],
        "task",
      );
      for (let n = 2; n <= 10; n += 1) await run.put(n);
      expect(await read(run.thread)).toMatchObject({ id: run.ids[0] });
      gate.open();
      await Promise.all([writes, saver.drain(run.thread)]);
      // The first goes at once, alone.
      expect(gate.begun).toBe(2);
      for (const [place, id] of run.ids.entries())
        expect(await read(run.thread, id)).toEqual({ id, texts: textsOf(place + 1) });
      await expectSound(run.thread, 10);
      expect(run.failures).toEqual([]);
    });

    test("wait when sixteen of the thread are not stored, or a mebibyte", async () => {
      for (const [sizes, ahead] of [
        [Array.from({ length: 17 }, () => 31), 15],
        [[1_500, 3_000, 3_001], 1],
      ] as const) {
        const gate = gatedPool(database.shared.pool);
        const saver = open(gate.pool);
        const run = begin(saver);
        await run.put(30);
        await saver.drain(run.thread);
        gate.close();
        let resolved = 0;
        const putting = (async () => {
          for (const size of sizes) {
            await run.put(size);
            resolved += 1;
          }
        })();
        await expect.poll(() => resolved).toBe(ahead);
        for (let turns = 0; turns < 5; turns += 1) await turn();
        expect(resolved).toBe(ahead);
        gate.open();
        await putting;
        await saver.drain(run.thread);
        await expectSound(run.thread, sizes.length + 1);
      }
    });

    test.each([
      [
        "the newest checkpoint",
        async (saver: PostgresCheckpointer, thread: string) => [
          (await saver.getTuple(configOf(thread)))?.checkpoint.id,
        ],
      ],
      [
        "a list",
        async (saver: PostgresCheckpointer, thread: string) =>
          (await collect(saver.list(configOf(thread), { limit: 1 }))).map((of) => of.checkpoint.id),
      ],
      [
        "the history of a delta channel",
        async (saver: PostgresCheckpointer, thread: string, id: string) => {
          const channels = ["messages"];
          const { messages } = await saver.getDeltaChannelHistory({
            config: configOf(thread, id),
            channels,
          });
          return messages?.seed === undefined ? [] : [id];
        },
      ],
    ])("are in %s that their own saver reads", async (_what, ask) => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(30);
      await saver.drain(run.thread);
      gate.close();
      await run.put(31);
      await run.put(32);
      const id = run.ids.at(-1)!;
      const asked = ask(saver, run.thread, id);
      await turn();
      gate.open();
      expect(await asked).toEqual([id]);
    });

    test("are waited for by a put that is stored before it resolves", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const ahead = begin(saver);
      await ahead.put(30);
      await saver.drain(ahead.thread);
      gate.close();
      await ahead.put(31);
      await ahead.put(32);
      saver.watchRun(ahead.thread, () => undefined)();
      const putting = ahead.put(33);
      await turn();
      gate.open();
      await putting;
      const { rows } = await database.shared.pool.query<{ shares: boolean }>(
        "select parent_hash is not null as shares from checkpoints where thread_id = $1 and checkpoint_id = $2",
        [ahead.thread, ahead.ids.at(-1)],
      );
      expect(rows).toEqual([{ shares: true }]);
      await expectSound(ahead.thread, 4);
    });

    test("name the writes that their values are made from, also those that another put stores", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(30);
      await run.put(30, { namespace: "a:1", parent: null });
      await saver.drain(run.thread);
      gate.close();
      const writes = saver.putWrites(
        configOf(run.thread, run.ids[0]),
        [["messages", "one"]],
        "task",
      );
      await run.put(31, { namespace: "a:1" });
      const delta = { counters_since_delta_snapshot: { messages: [1, 1] } };
      await run.put(31, { parent: run.ids[0]!, metadata: delta });
      gate.open();
      await Promise.all([writes, saver.drain(run.thread)]);
      const { rows } = await database.shared.pool.query<{ body: Buffer }>(
        "select body from checkpoints where thread_id = $1 and checkpoint_id = $2",
        [run.thread, run.ids.at(-1)],
      );
      expect(JSON.parse(rows[0]!.body.toString())).toMatchObject({ parentWrites: ["0 task"] });
    });

    test("hold all their values where another process removed what they share", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(3);
      await saver.drain(run.thread);
      gate.close();
      for (let n = 4; n <= 8; n += 1) await run.put(n);
      await open().deleteThread(run.thread);
      gate.open();
      await saver.drain(run.thread);
      expect(run.failures).toEqual([]);
      for (const [place, id] of run.ids.slice(1).entries())
        expect(await read(run.thread, id)).toEqual({ id, texts: textsOf(place + 4) });
      const kept = await open().getTuple(configOf(run.thread));
      expect(kept?.checkpoint.channel_values["kept"]).toEqual({ text: "k".repeat(500) });
      await run.put(9);
      await saver.drain(run.thread);
      expect(await read(run.thread)).toEqual({ id: run.ids.at(-1), texts: textsOf(9) });
      await expectSound(run.thread, 6);
    });

    test("begin logs of their own where another process continued those they append to", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(3);
      await saver.drain(run.thread);
      const other = open();
      await other.getTuple(configOf(run.thread));
      gate.close();
      const writes = saver.putWrites(
        configOf(run.thread, run.ids[0]),
        [["messages", "late"]],
        "task",
      );
      for (let n = 4; n <= 8; n += 1) await run.put(n);
      const begun = run.ids[0]!;
      await other.put(
        configOf(run.thread, begun),
        {
          v: 4,
          id: uuid6(500),
          ts: "",
          channel_values: { messages: messagesOf(5) },
          channel_versions: { messages: 90, kept: 1 },
          versions_seen: {},
        },
        { source: "loop", step: 1, parents: {} },
        { messages: 90 },
      );
      gate.open();
      await Promise.all([writes, saver.drain(run.thread)]);
      expect(run.failures).toEqual([]);
      for (const [place, id] of run.ids.entries())
        expect(await read(run.thread, id)).toEqual({ id, texts: textsOf(place + 3) });
      const parent = await open().getTuple(configOf(run.thread, begun));
      expect(parent?.pendingWrites).toEqual([["task", "messages", "late"]]);
      await expectSound(run.thread, 7);
    });

    test("of a run whose write fails leave nothing behind it, and report it once", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(1);
      await saver.drain(run.thread);
      gate.close();
      for (let n = 2; n <= 5; n += 1) await run.put(n);
      const broken = new Error("the disk is full");
      gate.open(broken);
      await saver.drain(run.thread);
      await run.put(6);
      await saver.drain(run.thread);
      expect(run.failures).toEqual([broken]);
      await expect(saver.flush(run.thread)).rejects.toThrow(broken);
      expect(await read(run.thread)).toMatchObject({ id: run.ids[0] });
      await expectSound(run.thread, 1);
      // Another run of the process goes on from what is stored.
      const next = begin(saver, run.thread);
      next.ids.push(run.ids[0]!);
      await next.put(7);
      await saver.drain(run.thread);
      expect(await read(run.thread)).toMatchObject({ texts: textsOf(7) });
      await expectSound(run.thread, 2);
    });

    test("leave nothing behind a failed write that was drafted while it failed", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(1);
      await saver.drain(run.thread);
      gate.close();
      await run.put(2);
      let goOn = () => {};
      const held = new Promise<void>((resolve) => (goOn = resolve));
      const { serde } = saver;
      const dumpsTyped = serde.dumpsTyped.bind(serde);
      vi.spyOn(serde, "dumpsTyped").mockImplementation((value) => {
        return held.then(() => dumpsTyped(value));
      });
      const late = run.put(3);
      const broken = new Error("the disk is full");
      gate.open(broken);
      await expect.poll(() => run.failures).toEqual([broken]);
      goOn();
      await late;
      await saver.drain(run.thread);
      expect(await read(run.thread)).toMatchObject({ id: run.ids[0] });
      await expectSound(run.thread, 1);
    });

    test("that wait are not stored when their run is refused", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool);
      const run = begin(saver);
      await run.put(1);
      await saver.drain(run.thread);
      gate.close();
      for (let n = 2; n <= 5; n += 1) await run.put(n);
      const lost = new Error("another process has the thread");
      saver.refuseRun(run.thread, lost);
      gate.open();
      await saver.drain(run.thread);
      expect(run.failures).toEqual([lost]);
      // The first was under way.
      expect(await read(run.thread)).toMatchObject({ id: run.ids[1] });
      await expectSound(run.thread, 2);
    });

    test("share with those before them that were forgotten before they were stored", async () => {
      const gate = gatedPool(database.shared.pool);
      const saver = open(gate.pool, { cacheBytes: 0 });
      const [run, other] = [begin(saver), begin(saver)];
      await run.put(30);
      await saver.drain(run.thread);
      gate.close({ sessions: 1 });
      await run.put(31);
      await other.put(30);
      const putting = run.put(32);
      await saver.drain(other.thread);
      for (let turns = 0; turns < 5; turns += 1) await turn();
      gate.open();
      await putting;
      await saver.drain(run.thread);
      const { rows } = await database.shared.pool.query<{ shares: boolean }>(
        "select parent_hash is not null as shares from checkpoints where thread_id = $1 order by checkpoint_id",
        [run.thread],
      );
      expect(rows.map(({ shares }) => shares)).toEqual([false, true, true]);
      await expectSound(run.thread, 3);
    });

    test("are checked to be there, all of them", async () => {
      const saver = open();
      const run = begin(saver);
      await run.put(1);
      await run.put(1, { namespace: "a:1", parent: null });
      await saver.drain(run.thread);
      const [one, two] = run.ids;
      const text = checkpointQueries("public").allPut;
      const check = (namespaces: string[], ids: string[]) =>
        database.shared.pool.query({ text, values: [run.thread, namespaces, ids] });
      await check(["", "a:1", "", ""], [one!, two!, one!, one!]);
      await expect(check(["", ""], [one!, two!])).rejects.toMatchObject({ code: "22012" });
    });

    test("of subgraphs are stored with those of their thread", async () => {
      const saver = open();
      const run = begin(saver);
      await run.put(1);
      for (const namespace of ["a:1", "b:2"]) {
        await run.put(2, { namespace, parent: null });
      }
      await saver.drain(run.thread);
      expect((await saver.getTuple(configOf(run.thread, undefined, "b:2")))?.checkpoint.id).toBe(
        run.ids[2],
      );
      await expectSound(run.thread, 3);
    });

    test("are right whatever other processes do to the thread meanwhile", async () => {
      const random = seededRandom("puts ahead");
      for (let round = 0; round < 3; round += 1) {
        const saver = open();
        const others = [open(), open()];
        const run = begin(saver);
        let messages = 3;
        await run.put(messages);
        const work = async (other: PostgresCheckpointer) => {
          for (let step = 0; step < 6; step += 1) {
            if (random.int(0, 2) === 0) await other.prune({ threadId: run.thread, keep: "latest" });
            else await other.getTuple(configOf(run.thread));
          }
        };
        const working = Promise.all(others.map(work));
        for (let step = 0; step < 25; step += 1) {
          messages = Math.max(1, messages + random.int(-2, 4));
          await run.put(messages);
          if (random.int(0, 6) === 0) await saver.getTuple(configOf(run.thread));
        }
        await working;
        await saver.drain(run.thread);
        expect(run.failures).toEqual([]);
        expect(await read(run.thread)).toEqual({ id: run.ids.at(-1), texts: textsOf(messages) });
        expect((await open().verifyThread(run.thread)).damaged).toEqual([]);
      }
    });
  });
}

/** A pool whose sessions are handed out while its gate is open. */
function gatedPool(pool: DatabasePool) {
  let gate: Promise<void> = Promise.resolve();
  let release: (error?: Error) => void = () => {};
  let begun = 0;
  let held = 0;
  const gated: DatabasePool = {
    ...(pool.heldLocks && { heldLocks: pool.heldLocks }),
    async connect() {
      held -= 1;
      if (held >= 0) await gate;
      const client = await pool.connect();
      return {
        ...(client.pipelines && { pipelines: client.pipelines }),
        release: (error) => client.release(error),
        query: (query, values) => {
          const text = typeof query === "string" ? query : query.text;
          if (text.startsWith("begin")) begun += 1;
          return client.query(query, values);
        },
      };
    },
    async query(query, values) {
      await gate;
      return pool.query(query, values);
    },
    end: () => pool.end(),
  };
  return {
    pool: gated,
    /** Transactions since the gate was closed. */
    get begun() {
      return begun;
    },
    /** @param of.sessions that wait; those asked for later do not */
    close({ sessions = Number.POSITIVE_INFINITY } = {}) {
      begun = 0;
      held = sessions;
      gate = new Promise((resolve, reject) => {
        release = (error) => (error ? reject(error) : resolve());
      });
      gate.catch(() => undefined);
    },
    /** With an error, those who wait get it. */
    open(error?: Error) {
      release(error);
      gate = Promise.resolve();
    },
  };
}
