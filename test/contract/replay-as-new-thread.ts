import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { defineAgent, defineTool, executeAgent, type Runtime } from "../../src/index.ts";
import { createThreads } from "../../src/runtime/threads/create-threads.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { around, asker } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { wholePast } from "../helpers/whole-past.ts";

let made: string[] = [];
const note = (name: string, requires_approval = false) =>
  defineTool({
    name,
    description: "Notes.",
    input_schema: z.object({ text: z.string() }),
    requires_approval,
    handler: ({ text }) => {
      made.push(`${name} ${text}`);
      return `noted ${text}`;
    },
  });
const call = (name: string, text: string): ScriptedReply => ({ calls: [{ name, args: { text } }] });

const writer = defineAgent({
  name: "writer",
  execution_schema: z.object({ n: z.number() }),
  initialExecutionState: () => ({ n: 0 }),
  tools: [note("first"), note("second")],
});
const asking = defineAgent({ name: "asking", tools: [note("first", true)] });

/** Replays into new threads, on any database that keeps them. */
export function replayAsNewThreadContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  let count = 0;

  describe.skipIf(!database.available)(`a replay as a new thread on ${kind}`, () => {
    const newId = () => `thread ${(count += 1)}`;
    const open = async (...script: ScriptedReply[]) => {
      made = [];
      const checkpointer = await openCheckpointer(database.shared);
      const journal = new DatabaseToolJournal(database.shared.pool, {
        serde: checkpointer.serde,
        flush: (threadId) => checkpointer.flush(threadId),
      });
      const { runtime } = await testRuntime(script, { checkpointer });
      const services = { ...runtime, journal };
      const threads = createThreads({
        run: services,
        noCheckpoint: (id) => Object.assign(new Error(id), { code: "no_checkpoint" }),
      });
      return { runtime: { ...services, threads } };
    };
    const past = (threadId: string) => wholePast(database.shared, threadId);
    const journalOf = async (threadId: string) => {
      const { rows } = await database.shared.pool.query<{ call_id: string }>(
        "select call_id from tool_journal where thread_id = $1 order by call_id",
        [threadId],
      );
      return rows;
    };
    const checkpointAfter = async (runtime: Runtime, threadId: string, node: string) => {
      const { items } = await runtime.threads.history(threadId);
      const found = items.findLast(({ nodes }) => nodes.join() === node);
      if (found === undefined) throw new Error(`no checkpoint after ${node}`);
      return { threadId, checkpointId: found.id };
    };

    it("runs from the checkpoint with the modified state, and leaves the thread as it was", async () => {
      const { runtime } = await open(
        call("first", "a"),
        call("second", "b"),
        "Done.",
        call("second", "c"),
        "Done again.",
      );
      const threadId = newId();
      const first = await executeAgent(writer, { message: "go" }, { runtime, threadId });
      const from = await checkpointAfter(runtime, threadId, "tools");
      const before = [await past(threadId), await journalOf(threadId)];
      const newThreadId = newId();
      const result = await runtime.threads.replay(writer, {
        ...from,
        newThreadId,
        modifiedState: { execution: { n: 5 } },
      });
      expect(result).toMatchObject({
        threadId: newThreadId,
        status: "COMPLETED",
        output: { message: "Done again." },
        state: { execution: { n: 5 } },
      });
      // The call before the checkpoint is not repeated, those after it are made again.
      expect(made).toEqual(["first a", "second b", "second c"]);
      expect(result.steps.map(({ tool_results: [one] }) => one?.args["text"])).toEqual([
        "a",
        "c",
        undefined,
      ]);
      expect([await past(threadId), await journalOf(threadId)]).toEqual(before);
      expect(await journalOf(newThreadId)).toHaveLength(1);
      const states = [threadId, newThreadId].map((id) => runtime.threads.stateAt({ threadId: id }));
      const [old, now] = (await Promise.all(states)).map(({ values }) => values["turn"]);
      expect(old).not.toMatchObject({ run: (now as { run: string }).run });
      expect(first.threadId).toBe(threadId);
    });

    it("takes a new id if none is given, and the new thread goes on by itself", async () => {
      const { runtime } = await open("One.", "Other.", "Next.");
      const threadId = newId();
      await executeAgent(writer, { message: "go" }, { runtime, threadId });
      const from = await checkpointAfter(runtime, threadId, "plan");
      const { threadId: other, output } = await runtime.threads.replay(writer, {
        ...from,
        asNewThread: true,
      });
      expect([other === threadId, output]).toEqual([false, { message: "Other." }]);
      const next = await executeAgent(writer, { message: "on" }, { runtime, threadId: other });
      expect([next.output, next.steps[0]?.turn_number]).toEqual([{ message: "Next." }, 1]);
    });

    it("asks people again in the new thread, whose answers the other does not get", async () => {
      const { runtime } = await open(call("first", "a"), "Done.", "Done first.");
      const threadId = newId();
      const options = { runtime, threadId };
      await executeAgent(asking, { message: "go" }, options);
      const { checkpointId } = await runtime.threads.stateAt({ threadId }).then(({ id }) => ({
        checkpointId: id,
      }));
      const asked = await runtime.threads.replay(asking, {
        threadId,
        checkpointId,
        asNewThread: true,
      });
      expect([asked.status, asked.interrupts.length, made]).toEqual(["AWAITING_HUMAN", 1, []]);
      const { threadId: other } = asked;
      await executeAgent(asking, null, { runtime, threadId: other, answer: true });
      expect(made).toEqual(["first a"]);
      const waiting = await runtime.threads.stateAt({ threadId });
      expect(waiting.waiting).toHaveLength(1);
      await executeAgent(asking, null, { ...options, answer: true });
      expect(made).toEqual(["first a", "first a"]);
    });

    it("runs agents inside again from their beginning", async () => {
      const outer = around("outer", asker);
      const { runtime } = await open("b", "d1", "w1", "d2", "w2");
      const threadId = newId();
      await executeAgent(outer, { message: "go" }, { runtime, threadId });
      await executeAgent(outer, null, { runtime, threadId, answer: "one" });
      const before = await past(threadId);
      const from = await checkpointAfter(runtime, threadId, "before");
      const asked = await runtime.threads.replay(outer, { ...from, asNewThread: true });
      expect(asked.interrupts.map(({ prompt }) => prompt)).toEqual(["d2?"]);
      const answered = { runtime, threadId: asked.threadId, answer: "two" };
      expect((await executeAgent(outer, null, answered)).output).toEqual({ message: "w2" });
      expect(await past(threadId)).toEqual(before);
    });

    it("refuses what cannot be, and writes nothing", async () => {
      const { runtime } = await open("One.");
      const threadId = newId();
      await executeAgent(writer, { message: "go" }, { runtime, threadId });
      const from = await checkpointAfter(runtime, threadId, "plan");
      const newThreadId = newId();
      const before = await past(threadId);
      const { threads } = runtime;
      const end = await checkpointAfter(runtime, threadId, "finalize");
      const refusals = [
        [{ ...from, modifiedState: { execution: { n: "many" } } }, "invalid_state_update"],
        [{ ...from, modifiedState: { excution: {} } }, "invalid_state_update"],
        [{ ...from, asNewThread: false }, "invalid_run_option"],
        [{ ...from, temperature: 9 }, "invalid_run_option"],
        [{ ...from, checkpointId: "none" }, "no_checkpoint"],
        [end, "nothing_to_resume"],
        [{ ...from, newThreadId: threadId }, "thread_exists"],
        [{ ...from, newThreadId: "" }, "invalid_thread_id"],
      ] as const;
      for (const [options, code] of refusals) {
        const replay = threads.replay(writer, { newThreadId, ...options });
        await expect(replay).rejects.toMatchObject({ code });
      }
      await expect(threads.replay(asking, { ...from, newThreadId })).rejects.toMatchObject({
        code: "foreign_thread",
      });
      await expect(threads.history(newThreadId)).rejects.toMatchObject({ code: "no_checkpoint" });
      expect(await past(threadId)).toEqual(before);
    });

    it("leaves no thread where the fork cannot be completed", async () => {
      const { runtime } = await open("One.");
      const threadId = newId();
      await executeAgent(writer, { message: "go" }, { runtime, threadId });
      const from = await checkpointAfter(runtime, threadId, "plan");
      const newThreadId = newId();
      const { checkpointer } = runtime;
      if (checkpointer === undefined) throw new Error("no checkpointer");
      const put = checkpointer.put.bind(checkpointer);
      checkpointer.put = async () => {
        throw new Error("the disk is full");
      };
      const replay = runtime.threads.replay(writer, { ...from, newThreadId });
      await expect(replay).rejects.toThrow("the disk is full");
      checkpointer.put = put;
      await expect(runtime.threads.history(newThreadId)).rejects.toMatchObject({
        code: "no_checkpoint",
      });
    });
  });
}
