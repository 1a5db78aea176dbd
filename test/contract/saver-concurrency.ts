import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { uuid6, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { seededRandom } from "../helpers/random.ts";
import { contentDifference } from "../helpers/same-value.ts";
import { listAllThreads, scanThreads } from "../helpers/thread-scan.ts";

/** Savers that know nothing of each other, as in several processes, at work on one thread. */
export function saverConcurrency(database: TestDatabase): void {
  let made = 0;
  const open = (pool: DatabasePool = database.shared.pool) => new PostgresCheckpointer(pool);
  const at = (thread: string, id?: string) => ({
    configurable: { thread_id: thread, checkpoint_ns: "", ...(id && { checkpoint_id: id }) },
  });
  const messagesOf = (...of: unknown[]) =>
    of.map(
      (id) => new HumanMessage({ id: String(id), content: `${String(id)} ${"x".repeat(200)}` }),
    );
  const begun = messagesOf(...Array.from({ length: 10 }, (_, n) => n));

  /** Puts a checkpoint with these messages on top of another. */
  async function put(
    saver: PostgresCheckpointer,
    thread: string,
    of: { messages: unknown[]; parent?: string; versions?: Record<string, number> },
  ): Promise<string> {
    const versions = { messages: saver.getNextVersion(undefined) };
    const checkpoint = {
      v: 4,
      id: uuid6((made += 1) % 1000),
      ts: new Date(0).toISOString(),
      channel_values: { messages: of.messages },
      channel_versions: { ...of.versions, ...versions },
      versions_seen: {},
    };
    const metadata = { source: "loop" as const, step: made, parents: {} };
    await saver.put(at(thread, of.parent), checkpoint, metadata, versions);
    return checkpoint.id;
  }

  const idsOf = (tuple: CheckpointTuple | undefined) =>
    (tuple!.checkpoint.channel_values["messages"] as HumanMessage[]).map(({ id }) => id);

  async function expectListed(): Promise<void> {
    expect(await listAllThreads(open())).toEqual(await scanThreads(database.shared.pool));
  }

  async function expectSound(thread: string, checkpoints: number): Promise<void> {
    await expectListed();
    expect(await open().verifyThread(thread)).toEqual({ checked: checkpoints, damaged: [] });
  }

  describe.skipIf(!database.available)(`Savers side by side on ${database.kind}`, () => {
    test("both go on from one checkpoint, and both branches are right", async () => {
      const thread = randomUUID();
      const savers = [open(), open()];
      const parent = await put(savers[0]!, thread, { messages: begun });
      for (const saver of savers) await saver.getTuple(at(thread));

      const ends = await Promise.all(
        savers.map((saver, of) =>
          put(saver, thread, { parent, messages: [...begun, ...messagesOf(`by ${of}`)] }),
        ),
      );

      for (const [of, end] of ends.entries()) {
        const read = await open().getTuple(at(thread, end));
        expect(idsOf(read)).toEqual([...begun.map(({ id }) => id), `by ${of}`]);
      }
      await expectSound(thread, 3);
    });

    test("put and fork fifty times at once without a mistake", async () => {
      const thread = randomUUID();
      const savers = [open(), open()];
      const expected = new Map<string, unknown[]>([
        [await put(savers[0]!, thread, { messages: begun }), begun],
      ]);
      for (let round = 0; round < 5; round += 1) {
        const parents = [...expected];
        await Promise.all(
          Array.from({ length: 10 }, async (_, n) => {
            const [parent, messages] = parents[(n * 7 + round) % parents.length]!;
            const own = messagesOf(`${round} ${n}`);
            const next =
              n % 3 === 0
                ? [...messages.slice(0, n), ...own, ...messages.slice(n)]
                : [...messages, ...own];
            expected.set(await put(savers[n % 2]!, thread, { parent, messages: next }), next);
          }),
        );
      }
      for (const tuple of await collect(open().list(at(thread)))) {
        expect(tuple.checkpoint.channel_values["messages"]).toEqual(
          expected.get(tuple.checkpoint.id),
        );
      }
      await expectSound(thread, 51);
    });

    test("prune what another goes on from, which then holds all that it needs", async () => {
      const thread = randomUUID();
      const [saver, other] = [open(), open()];
      const old = await put(saver, thread, { messages: begun });
      const edited = messagesOf("edited");
      const parent = await put(saver, thread, {
        parent: old,
        messages: [...edited, ...begun.slice(1)],
      });
      await put(other, thread, { messages: messagesOf("newest") });
      expect(await other.prune({ threadId: thread, keep: "latest" })).toMatchObject({
        checkpoints: 2,
      });

      // The channel is not new in this one, and its value is nowhere but in what the saver remembers.
      const { versions } = await lastOf(saver, thread, parent);
      const id = uuid6((made += 1) % 1000);
      await saver.put(
        at(thread, parent),
        {
          v: 4,
          id,
          ts: "",
          channel_values: { messages: [...edited, ...begun.slice(1)] },
          channel_versions: versions,
          versions_seen: {},
        },
        { source: "loop", step: 3, parents: {} },
        versions,
      );

      expect(idsOf(await open().getTuple(at(thread, id)))).toEqual([
        "edited",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
      ]);
      await expectSound(thread, 2);
    });

    async function lastOf(saver: PostgresCheckpointer, thread: string, parent: string) {
      expect(await saver.getTuple(at(thread, parent))).toBeUndefined();
      return { versions: { messages: saver.getNextVersion(undefined) } };
    }

    test("keep a value that is not new when the checkpoint that held it was pruned meanwhile", async () => {
      const thread = randomUUID();
      const [saver, other] = [open(), open()];
      const versions = { messages: saver.getNextVersion(undefined) };
      const metadata = { source: "loop" as const, step: 0, parents: {} };
      const first = {
        v: 4,
        id: uuid6(1),
        ts: "",
        channel_values: { messages: begun },
        channel_versions: versions,
        versions_seen: {},
      };
      await saver.put(at(thread), first, metadata, versions);
      await put(other, thread, { messages: [] });
      await other.prune({ threadId: thread, keep: "latest" });
      const second = { ...first, id: uuid6(2) };
      await saver.put(at(thread, first.id), second, metadata, {});
      expect(idsOf(await open().getTuple(at(thread, second.id)))).toEqual(
        begun.map(({ id }) => id),
      );
    });

    test("notice when a checkpoint was put again, or its thread came back, under the same id", async () => {
      const thread = randomUUID();
      const [saver, other] = [open(), open()];
      const parent = await put(saver, thread, { messages: begun });
      const copy: string[] = [];
      for await (const line of other.exportThread(thread)) copy.push(line);
      await other.deleteThread(thread);
      await other.importThread(copy);

      const end = await put(saver, thread, { parent, messages: [...begun, ...messagesOf("more")] });

      expect(idsOf(await open().getTuple(at(thread, end)))).toEqual([
        ...begun.map(({ id }) => id),
        "more",
      ]);
      await expectSound(thread, 2);
    });

    test("go on from each checkpoint of a thread that another imported again", async () => {
      const thread = randomUUID();
      const [saver, other] = [open(), open()];
      const first = await put(saver, thread, { messages: begun });
      const last = await put(saver, thread, { parent: first, messages: messagesOf("last") });
      const copy = await collect(other.exportThread(thread));
      await other.deleteThread(thread);
      await other.importThread(copy);
      for (const parent of [last, first])
        await put(saver, thread, { parent, messages: messagesOf("next") });
      expect(await open().verifyThread(thread)).toEqual({ checked: 4, damaged: [] });
    });

    test("give what a process without a memory reads, whatever others did to the thread", async () => {
      const random = seededRandom("savers in turns");
      for (let round = 0; round < 3; round += 1) {
        const thread = randomUUID();
        const savers = Array.from({ length: 3 }, () => open());
        const any = () => savers[random.int(0, savers.length)]!;
        const ids: string[] = [await put(any(), thread, { messages: begun })];
        for (let turn = 0; turn < 12; turn += 1) {
          const saver = any();
          const tuple = (await saver.getTuple(at(thread)))!;
          const { id: parent, channel_values } = tuple.checkpoint;
          const read = channel_values["messages"] as unknown[];
          const place = random.int(0, read.length);
          // Data that is read as other data than it was put: a minus zero, and what is undefined.
          const added = [...messagesOf(`${round} ${turn}`), { zero: -0, none: undefined, turn }];
          const messages = [
            () => [...read, ...added],
            () => (read.length === 0 ? added : read.with(place, added[0])),
            () => [...read.slice(place), ...added],
            () => [...read.slice(0, place), ...read.slice(place + 1)],
            () => [...structuredClone(added), ...read],
          ][random.int(0, 5)]!();
          const from = random.int(0, 4) === 0 ? ids[random.int(0, ids.length)]! : parent;
          ids.push(await put(saver, thread, { messages, parent: from }));
          if (random.int(0, 5) === 0) await any().prune({ threadId: thread, keep: "latest" });
          if (random.int(0, 9) === 0) {
            const copy: string[] = [];
            for await (const line of any().exportThread(thread)) copy.push(line);
            await any().deleteThread(thread);
            await any().importThread(copy);
          }
          for (const id of [undefined, ids[random.int(0, ids.length)]]) {
            const expected = await open().getTuple(at(thread, id));
            for (const one of savers) {
              expect(contentDifference(await one.getTuple(at(thread, id)), expected)).toBeNull();
            }
          }
        }
        expect((await open().verifyThread(thread)).damaged).toEqual([]);
      }
    });

    test("put, prune and delete at once, and leave nothing half there", async () => {
      const thread = randomUUID();
      const savers = [open(), open()];
      let parent = await put(savers[0]!, thread, { messages: begun });
      const branch = async (saver: PostgresCheckpointer, from: string, of: number) => {
        let [last, messages]: [string, unknown[]] = [from, begun];
        for (let step = 0; step < 12; step += 1) {
          messages = [...messages.slice(step % 4 === 3 ? 1 : 0), ...messagesOf(`${of} ${step}`)];
          last = await put(saver, thread, { parent: last, messages });
          const read = await open().getTuple(at(thread, last));
          // It may have been removed at once.
          const { messages: found = messages } = read?.checkpoint.channel_values ?? {};
          expect(found).toEqual(messages);
        }
      };
      const removing = async () => {
        for (let round = 0; round < 10; round += 1) {
          await savers[1]!.prune({ threadId: thread, keep: "latest" });
          if (round === 5) await savers[1]!.deleteThread(thread);
        }
      };
      await Promise.all([branch(savers[0]!, parent, 0), branch(savers[1]!, parent, 1), removing()]);
      await branch(savers[0]!, parent, 2);
      const { checked, damaged } = await open().verifyThread(thread);
      expect(checked).toBeGreaterThan(0);
      await expectListed();
      expect(damaged).toEqual([]);

      parent = (await open().getTuple(at(thread)))!.checkpoint.id;
      await savers[0]!.prune({ threadId: thread, keep: "latest" });
      await savers[0]!.deleteThread(thread);
      const { rowCount } = await database.shared.pool.query(
        `select from checkpoint_elements e where not exists (select from checkpoint_log_uses u where u.log_id = e.log_id)`,
      );
      expect(rowCount).toBe(0);
    });
  });
}
