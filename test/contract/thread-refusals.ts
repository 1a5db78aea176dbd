import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/open.ts";
import { defineAgent, defineTool, executeAgent, type Runtime } from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { DatabaseFullError } from "../../src/storage/errors.ts";
import { collect } from "../helpers/collect.ts";
import { useDatabase } from "../helpers/databases.ts";
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
        left = 2;
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

/** A pool that asks before each insert. */
function failingPool(pool: DatabasePool, beforeInsert: () => void): DatabasePool {
  return new Proxy(pool, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "query") return value.bind(target) as unknown;
      return async (...args: readonly [unknown, ...unknown[]]) => {
        const [query] = args;
        const text = typeof query === "string" ? query : (query as { text: string }).text;
        if (/insert into/i.test(text)) beforeInsert();
        return value.apply(target, args) as unknown;
      };
    },
  });
}
