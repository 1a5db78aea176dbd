import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { defineAgent, defineTool, executeAgent, type Runtime } from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import type { DatabaseClient, DatabasePool, Queryable } from "../../src/storage/pool.ts";
import { DatabaseFullError } from "../../src/storage/errors.ts";
import { collect } from "../helpers/collect.ts";
import { lockThread } from "../../src/storage/thread-lock.ts";
import { useDatabase } from "../helpers/databases.ts";
import { sealed } from "../helpers/thread-transfer.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const agent = defineAgent({ name: "plain" });
const pause = defineTool({
  name: "pause",
  description: "Takes its time.",
  input_schema: z.object({}),
  handler: async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    return "over";
  },
});
/** An agent whose checkpoints are put while it runs. */
const slow = defineAgent({ name: "slow", tools: [pause] });
const pauses: ScriptedReply = { calls: [{ name: "pause", args: {} }] };

/** Every method that is given a thread's id, as a call with it. */
function callsWith(threadId: string, { threads }: Runtime): Record<string, () => Promise<unknown>> {
  const there = { threadId: "there", checkpointId: "none" };
  return {
    history: () => threads.history(threadId),
    stateAt: () => threads.stateAt({ threadId }),
    diff: () => threads.diff({ threadId, checkpointId: "none" }, there),
    fork: () => threads.fork({ threadId }),
    replay: () => threads.replay(agent, { threadId, checkpointId: "none" }),
    recover: () => threads.recover(agent, { threadId }),
    verify: () => threads.verify(threadId),
    prune: () => threads.prune({ threadId, keep: "latest" }),
    export: () => collect(threads.export(threadId)),
  };
}

/** What threads refuse, and how, on any database that keeps them. */
export function threadRefusalsContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`threads on ${kind}`, () => {
    const open = async (pool: DatabasePool = database.shared.pool) =>
      testRuntime([pauses, "One.", pauses, "Two.", "Three."], {
        checkpointer: await openCheckpointer({ ...database.shared, pool }),
      });

    it("say of a thread that is not there that it is not", async () => {
      const { runtime } = await open();
      for (const call of Object.values(callsWith("nobody's", runtime))) {
        await expect(call()).rejects.toMatchObject({
          code: "no_checkpoint",
          threadId: "nobody's",
        });
      }
      await runtime.threads.delete("nobody's");
    });

    it.each([
      ["a NUL", "a\0b"],
      ["half of a character", "a\ud800"],
    ])("refuse an id with %s", async (_what, threadId) => {
      const { runtime } = await open();
      const calls = {
        ...callsWith(threadId, runtime),
        secondOfDiff: () =>
          runtime.threads.diff(
            { threadId: "there", checkpointId: "none" },
            { threadId, checkpointId: "none" },
          ),
        newThread: () => runtime.threads.fork({ threadId: "there", newThreadId: threadId }),
        delete: () => runtime.threads.delete(threadId),
        import: () => runtime.threads.import([], { threadId }),
      };
      for (const call of Object.values(calls)) {
        await expect(call()).rejects.toMatchObject({ code: "invalid_thread_id" });
      }
    });

    it("refuse an id in the header of an import, and store nothing", async () => {
      const { runtime } = await open();
      await executeAgent(slow, { message: "go" }, { runtime, threadId: "exported" });
      const [header = "", ...lines] = await collect(runtime.threads.export("exported"));
      const renamed = (id: string) => {
        const made = { ...(JSON.parse(header) as object), threadId: id };
        return sealed([JSON.stringify(made), ...lines]);
      };
      await expect(runtime.threads.import(renamed("a\u001b[2J"))).rejects.toMatchObject({
        code: "invalid_thread_id",
      });
      await expect(runtime.threads.import(renamed("a\0b"))).rejects.toMatchObject({
        code: "invalid_export",
        line: 1,
      });
    });

    it("keep threads with odd ids apart, whatever is done with one of them", async () => {
      const odd = [
        "../../x",
        "..\\x",
        "__proto__",
        "constructor",
        "'; drop table checkpoints; --",
        "$1 {{secret:X}} ${1+1}",
        " ",
        "漢".repeat(255),
      ];
      const { runtime } = await testRuntime(
        odd.map((id) => `Said to ${id}.`),
        { checkpointer: await openCheckpointer(database.shared) },
      );
      const { threads } = runtime;
      for (const threadId of odd)
        await executeAgent(agent, { message: "go" }, { runtime, threadId });
      const ids = async () =>
        (await threads.list({ limit: 1_000 })).items.map((one) => one.threadId);
      expect(await ids()).toEqual(expect.arrayContaining(odd));
      const [first = "", ...others] = odd;
      const lines = await collect(threads.export(first));
      await threads.delete(first);
      for (const threadId of others) {
        const { values } = await threads.stateAt({ threadId });
        expect(values).toMatchObject({ output: { message: `Said to ${threadId}.` } });
        expect((await threads.verify(threadId)).damaged).toEqual([]);
      }
      expect(await ids()).not.toContain(first);
      await threads.import(lines);
      const { threadId: fork } = await threads.fork({ threadId: first, newThreadId: "../fork" });
      expect(fork).toBe("../fork");
      const locks = await Promise.all(
        [...odd, "a\ud800", "a\ud801"].map((id) => lockThread(database.shared, id)),
      );
      await Promise.all(locks.map((lock) => lock.release()));
    });

    it.each([
      ["a NUL", "a\0b"],
      ["half of a character", "a\ud800"],
      ["more bytes than an index takes", "x".repeat(851)],
    ])("are not asked of a database under a name with %s", async (_what, name) => {
      const saver = await openCheckpointer(database.shared);
      const configs = ["thread_id", "checkpoint_ns", "checkpoint_id"].map((key) => ({
        configurable: { thread_id: "there", checkpoint_id: "none", [key]: name },
      }));
      const calls = [
        ...configs.flatMap((config) => [
          () => saver.getTuple(config),
          () => collect(saver.list(config)),
          () => saver.putWrites(config, [["a", 1]], "task"),
        ]),
        () => collect(saver.list({ configurable: {} }, { before: configs[2]! })),
        () => saver.deleteThread(name),
        () => saver.prune({ threadId: name, keep: "latest" }),
        () => saver.removeCheckpoints({ threadId: name, checkpointIds: [] }),
        () => saver.removeCheckpoints({ threadId: "there", checkpointIds: [name] }),
        () => saver.listSummaries({ threadId: name }),
        () => saver.listSummaries({ threadId: "there", namespace: name }),
        () => saver.forkThread({ threadId: name, checkpointId: "none", newThreadId: "new" }),
        () => saver.forkThread({ threadId: "there", checkpointId: name, newThreadId: "new" }),
        () => saver.forkThread({ threadId: "there", checkpointId: "none", newThreadId: name }),
        () => collect(saver.exportThread(name)),
        () => saver.verifyThread(name),
      ];
      for (const call of calls)
        await expect(call()).rejects.toMatchObject({ code: "checkpoint_config" });
      for (const cursor of [name, `id ${name}`]) {
        const page = { code: "invalid_page", option: "cursor" };
        await expect(saver.listThreads({ cursor })).rejects.toMatchObject(page);
        await expect(saver.listSummaries({ threadId: "there", cursor })).rejects.toMatchObject(
          page,
        );
      }
      expect(await collect(saver.list({}, { filter: { note: name } }))).toEqual([]);
    });

    it("remove nothing when it is not clear what is to be kept", async () => {
      const { runtime } = await open();
      await executeAgent(slow, { message: "go" }, { runtime, threadId: "kept" });
      const before = await runtime.threads.history("kept");
      for (const unclear of [
        { keep: "some" as "all" },
        { keep: "latest", olderThan: new Date(Number.NaN) },
      ] as const) {
        await expect(runtime.threads.prune({ threadId: "kept", ...unclear })).rejects.toMatchObject(
          { code: "invalid_retention", kind: "usage" },
        );
      }
      expect(await runtime.threads.history("kept")).toEqual(before);
    });

    it("go on after a run that ended because a checkpoint could not be written", async () => {
      const { pool } = database.shared;
      const full = new DatabaseFullError("the disk is full", null, undefined);
      let left = Number.POSITIVE_INFINITY;
      const failing = failingPool(pool, () => {
        if ((left -= 1) === 0) throw full;
      });
      const { runtime } = await open(failing);
      await executeAgent(slow, { message: "go" }, { runtime, threadId: "full" });
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => void unhandled.push(reason);
      process.on("unhandledRejection", note);
      try {
        // The first may be writes that go by themselves, before the checkpoint of the input.
        left = 3;
        await expect(
          executeAgent(slow, { message: "on" }, { runtime, threadId: "full" }),
        ).rejects.toBe(full);
        for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      } finally {
        process.off("unhandledRejection", note);
      }
      expect(unhandled).toEqual([]);
      expect((await runtime.threads.history("full")).items.length).toBeGreaterThan(1);
      const resumed = await executeAgent(slow, null, { runtime, threadId: "full" });
      expect(resumed.status).toBe("COMPLETED");
      const { reason } = await runtime.threads.recover(slow, { threadId: "full" });
      expect(reason).toBe("over");
    });
  });
}

/** A pool that asks before each insert of the checkpointer. */
function failingPool(pool: DatabasePool, beforeInsert: () => void): DatabasePool {
  const asking = <Target extends Queryable>(target: Target): Target =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name, of);
        if (typeof value !== "function") return value;
        if (name === "connect") {
          return async () => asking((await value.call(of)) as DatabaseClient);
        }
        if (name !== "query") return value.bind(of) as unknown;
        return async (...args: readonly [unknown, ...unknown[]]) => {
          const [query] = args;
          const text = typeof query === "string" ? query : (query as { text: string }).text;
          if (/insert into \S*checkpoint/i.test(text)) beforeInsert();
          return value.apply(of, args) as unknown;
        };
      },
    });
  return asking(pool);
}
