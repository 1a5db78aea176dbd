import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import {
  compileAgent,
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
  type AgentDefinition,
  type Runtime,
} from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { around, asker, single } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

let sent: string[] = [];
const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({ to: z.string() }),
  handler: ({ to }) => {
    sent.push(to);
    return `sent to ${to}`;
  },
});
const store = defineTool({
  name: "store",
  description: "Stores a name.",
  input_schema: z.object({ to: z.string() }),
  execution: { idempotent: true },
  handler: ({ to }) => {
    sent.push(to);
    return `stored ${to}`;
  },
});
const mailer = defineAgent({ name: "mailer", tools: [send, store] });
const call = (to: string): ScriptedReply => ({ calls: [{ name: "send", args: { to } }] });
const crash: ScriptedReply = () => {
  throw new Error("the power is gone");
};
const asks = defineAgent({
  name: "asks",
  workflow_graph: {
    entry_point: "ask",
    nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt: "Who?" } }],
    edges: [{ from: "ask", to: "END" }],
    output: { message: "${nodes.ask.value}" },
  },
});

/** How threads are recovered that were cut off, or were damaged since, on any database that keeps them. */
export function threadRescueContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  let count = 0;

  describe.skipIf(!database.available)(`recovering a thread on ${kind}`, () => {
    const newThread = () => `thread ${(count += 1)}`;
    const open = async (...script: ScriptedReply[]) => {
      sent = [];
      return testRuntime(script, {
        checkpointer: await openCheckpointer(database.shared, { schema: "stratagraph" }),
      });
    };
    /** A runtime with nothing remembered, and a journal. */
    const reopen = async (...script: ScriptedReply[]) => {
      const { model, clock } = await testRuntime(script);
      const { url, folder } = database.options;
      return createRuntime({
        models: model,
        clock,
        env: {},
        ...(url !== undefined && { databaseUrl: url }),
        ...(folder !== undefined && { folder }),
      });
    };
    const cutOff = async (runtime: Runtime, threadId: string, agent = mailer) =>
      expect(executeAgent(agent, { message: "go" }, { runtime, threadId })).rejects.toThrow(
        "the power is gone",
      );
    const ids = async (runtime: Runtime, threadId: string, namespace = "") =>
      (await runtime.threads.history(threadId, { namespace })).items.map(({ id }) => id);
    const damage = (threadId: string, ...checkpoints: readonly (string | undefined)[]) =>
      database.shared.pool.query(
        `update stratagraph.checkpoints set body = set_byte(body, 9, (get_byte(body, 9) + 1) % 128)
        where thread_id = $1 and checkpoint_id = any($2)`,
        [threadId, checkpoints],
      );

    it("goes on where it was cut off, and finds nothing to do the second time", async () => {
      const { runtime } = await open(call("ada"), crash, "Done.");
      const threadId = newThread();
      await cutOff(runtime, threadId);
      const [head] = await ids(runtime, threadId);
      const recovery = await runtime.threads.recover(mailer, { threadId });
      expect(recovery).toMatchObject({
        threadId,
        from: { threadId, checkpointId: head },
        skipped: [],
        warnings: [],
        reason: "resumed",
        result: { status: "COMPLETED", output: { message: "Done." } },
      });
      expect(sent).toEqual(["ada"]);
      expect(await runtime.threads.recover(mailer, { threadId })).toMatchObject({
        reason: "over",
        message: `Nothing is pending on thread "${threadId}": its last turn is COMPLETED.`,
        result: null,
      });
    });

    it("has nothing to do where people are waited for", async () => {
      const { runtime } = await open();
      const threadId = newThread();
      const { interrupts } = await executeAgent(asks, { message: "go" }, { runtime, threadId });
      expect(await runtime.threads.recover(asks, { threadId })).toMatchObject({
        reason: "waiting",
        waiting: interrupts,
        message: `Thread "${threadId}" waits for people: ask (Who?). Answer with executeAgent; there is nothing to recover.`,
        result: null,
      });
    });

    it("goes past damaged checkpoints to a sound one, and makes no call again that had ended", async () => {
      const first = await open(call("ada"), crash);
      const threadId = newThread();
      await cutOff(first.runtime, threadId);
      const [tools, reason] = await ids(first.runtime, threadId);
      await damage(threadId, tools);
      const { runtime } = await testRuntime(["Done."], {
        checkpointer: await openCheckpointer(database.shared, { schema: "stratagraph" }),
      });
      await expect(executeAgent(mailer, null, { runtime, threadId })).rejects.toMatchObject({
        code: "corrupt_checkpoint",
      });
      const recovery = await runtime.threads.recover(mailer, { threadId });
      expect(recovery).toMatchObject({
        from: { checkpointId: reason },
        skipped: [{ checkpointId: tools, reason: expect.any(String) }],
        reason: "resumed",
        result: { status: "COMPLETED", output: { message: "Done." } },
      });
      expect(sent).toEqual(["ada"]);
      expect((await runtime.threads.stateAt({ threadId })).status).toBe("COMPLETED");
      expect((await runtime.threads.verify(threadId)).damaged).toMatchObject([
        { checkpointId: tools },
      ]);
    });

    it("settles calls with the journal where what they gave is lost", async () => {
      sent = [];
      const first = await reopen(call("ada"), crash);
      const threadId = newThread();
      await cutOff(first, threadId);
      const [tools, reason] = await ids(first, threadId);
      await first.close();
      await damage(threadId, tools);
      await database.shared.pool.query(
        "delete from stratagraph.checkpoint_write_sets where thread_id = $1 and checkpoint_id = $2",
        [threadId, reason],
      );
      const runtime = await reopen("Done.");
      const recovery = await runtime.threads.recover(mailer, { threadId });
      expect(recovery).toMatchObject({
        skipped: [{ checkpointId: tools }],
        settled: [{ callId: "call_1", tool: "send", state: "finished" }],
        result: { status: "COMPLETED" },
      });
      expect(sent).toEqual(["ada"]);
      await runtime.threads.delete(threadId);
      const { rows } = await database.shared.pool.query(
        "select from stratagraph.tool_journal where thread_id = $1",
        [threadId],
      );
      expect(rows).toEqual([]);
      await runtime.close();
    });

    describe("with a damaged record of a call", () => {
      /** A thread whose process ended when its call had, and whose record has another result now. */
      const lostRecord = async (asked: ScriptedReply, agent = mailer) => {
        sent = [];
        const first = await reopen(asked, crash);
        const threadId = newThread();
        await cutOff(first, threadId, agent);
        await first.close();
        const { pool } = database.shared;
        await pool.query(
          `with lost as (
            delete from stratagraph.checkpoints where (thread_id, checkpoint_ns, checkpoint_id) = (
              select thread_id, checkpoint_ns, checkpoint_id from stratagraph.checkpoints where thread_id = $1
              order by length(checkpoint_ns) desc, checkpoint_id desc limit 1)
            returning *)
          delete from stratagraph.checkpoint_write_sets w using lost
          where w.thread_id = lost.thread_id and w.checkpoint_ns = lost.checkpoint_ns
            and w.checkpoint_id = lost.parent_checkpoint_id`,
          [threadId],
        );
        await pool.query(
          `update stratagraph.tool_journal set end_body =
            convert_to(replace(convert_from(end_body, 'UTF8'), 'ada', 'eve'), 'UTF8')
          where thread_id = $1`,
          [threadId],
        );
        return threadId;
      };

      it("does not believe it, and goes on when it is recovered without making the call again", async () => {
        const threadId = await lostRecord(call("ada"));
        const runtime = await reopen("Done.", "Again.");
        const [reason] = await ids(runtime, threadId);
        await expect(executeAgent(mailer, null, { runtime, threadId })).rejects.toMatchObject({
          code: "corrupt_journal",
          threadId,
          step: 0,
          callId: "call_1",
          tool: "send",
        });
        expect((await ids(runtime, threadId))[0]).toBe(reason);
        const recovery = await runtime.threads.recover(mailer, { threadId });
        expect(recovery).toMatchObject({
          settled: [{ callId: "call_1", tool: "send", state: "damaged", idempotent: false }],
          message: expect.stringMatching(new RegExp(`COMPLETED.*send \\(call_1\\).*${reason}`)),
          result: { output: { message: "Done." } },
        });
        expect(recovery.result?.steps[0]?.tool_results).toMatchObject([
          {
            outcome: "error",
            recovered: "unknown",
            error: expect.stringContaining("the record of how it ended is damaged"),
          },
        ]);
        expect(sent).toEqual(["ada"]);
        await runtime.threads.replay(mailer, { threadId, checkpointId: reason! });
        expect(sent).toEqual(["ada", "ada"]);
        await runtime.close();
      });

      it("goes on inside of an agent in the same way", async () => {
        const outer = single({ agent: "mailer" }, mailer);
        const threadId = await lostRecord(call("ada"), outer);
        const runtime = await reopen("Done.");
        await expect(executeAgent(outer, null, { runtime, threadId })).rejects.toMatchObject({
          code: "corrupt_journal",
        });
        const recovery = await runtime.threads.recover(outer, { threadId });
        expect(recovery).toMatchObject({
          settled: [{ state: "damaged" }],
          result: { status: "COMPLETED", output: { message: "Done." } },
        });
        expect(sent).toEqual(["ada"]);
        await runtime.close();
      });

      it("makes a call again that may be made twice", async () => {
        const threadId = await lostRecord({ calls: [{ name: "store", args: { to: "ada" } }] });
        const runtime = await reopen("Done.");
        const result = await executeAgent(mailer, null, { runtime, threadId });
        expect(result.steps[0]?.tool_results).toMatchObject([
          { result: "stored ada", recovered: "repeated" },
        ]);
        expect(sent).toEqual(["ada", "ada"]);
        await runtime.close();
      });
    });

    it("asks people again whose question was damaged", async () => {
      const { runtime } = await open();
      const threadId = newThread();
      await executeAgent(asks, { message: "go" }, { runtime, threadId });
      const [head] = await ids(runtime, threadId);
      await damage(threadId, head);
      const { runtime: next } = await open();
      const recovery = await next.threads.recover(asks, { threadId });
      expect([recovery.reason, recovery.waiting.map(({ prompt }) => prompt)]).toEqual([
        "resumed",
        ["Who?"],
      ]);
      const done = await executeAgent(asks, null, { runtime: next, threadId, answer: "Ada" });
      expect(done.output).toEqual({ message: "Ada" });
    });

    it("goes back to a turn that had ended, when all of the next is damaged", async () => {
      const { runtime } = await open("One.", crash, "Two.");
      const threadId = newThread();
      await executeAgent(mailer, { message: "go" }, { runtime, threadId });
      const [end] = await ids(runtime, threadId);
      await cutOff(runtime, threadId);
      const all = await ids(runtime, threadId);
      await damage(threadId, ...all.slice(0, all.indexOf(end!)));
      const { runtime: next } = await open("Two.");
      const recovery = await next.threads.recover(mailer, { threadId });
      expect([recovery.reason, recovery.from.checkpointId, recovery.result]).toEqual([
        "over",
        end,
        null,
      ]);
      expect(recovery.message).toContain("later checkpoints are left behind");
      const more = await executeAgent(mailer, { message: "on" }, { runtime: next, threadId });
      expect([more.output, more.steps[0]?.turn_number]).toEqual([{ message: "Two." }, 1]);
    });

    it("is refused when no checkpoint is sound", async () => {
      const { runtime } = await open(crash);
      const threadId = newThread();
      await cutOff(runtime, threadId);
      const all = await ids(runtime, threadId);
      await damage(threadId, ...all);
      const { runtime: next } = await open();
      await expect(next.threads.recover(mailer, { threadId })).rejects.toMatchObject({
        code: "corrupt_checkpoint",
        threadId,
        checkpointId: all[0],
      });
    });

    it("goes on inside of an agent from what is sound there", async () => {
      const outer = around("outer", asker);
      const { runtime } = await open("b", "d", crash);
      const threadId = newThread();
      await executeAgent(outer, { message: "go" }, { runtime, threadId });
      await expect(executeAgent(outer, null, { runtime, threadId, answer: "one" })).rejects.toThrow(
        "the power is gone",
      );
      const { rows } = await database.shared.pool.query<{ checkpoint_ns: string; id: string }>(
        `select checkpoint_ns, max(checkpoint_id) as id from stratagraph.checkpoints
        where thread_id = $1 and checkpoint_ns <> '' group by checkpoint_ns`,
        [threadId],
      );
      expect(rows).toHaveLength(1);
      await damage(threadId, rows[0]?.id);
      const { runtime: next, model } = await open("w");
      const recovery = await next.threads.recover(outer, { threadId });
      expect(recovery.skipped).toMatchObject([{ checkpointId: rows[0]?.id }]);
      expect(recovery.result).toMatchObject({ status: "COMPLETED", output: { message: "w" } });
      expect(model.requests).toHaveLength(1);
    });

    it("begins an agent inside again when nothing of it is sound", async () => {
      const outer = around("outer", asker);
      const { runtime } = await open("b", "d");
      const threadId = newThread();
      await executeAgent(outer, { message: "go" }, { runtime, threadId });
      await database.shared.pool.query(
        `update stratagraph.checkpoints set body = set_byte(body, 9, 7) where thread_id = $1 and checkpoint_ns <> ''`,
        [threadId],
      );
      const { runtime: next } = await open("d2", "w");
      const recovery = await next.threads.recover(outer, { threadId });
      expect(recovery.waiting.map(({ prompt }) => prompt)).toEqual(["d2?"]);
      const done = await executeAgent(outer, null, { runtime: next, threadId, answer: "one" });
      expect(done.output).toEqual({ message: "w" });
    });

    it("is refused for a checkpoint of another thread, and to another agent", async () => {
      const { runtime } = await open(crash, crash);
      const [one, two] = [newThread(), newThread()];
      await cutOff(runtime, one);
      await cutOff(runtime, two);
      const [other] = await ids(runtime, two);
      await expect(
        runtime.threads.recover(mailer, { threadId: one, checkpointId: other! }),
      ).rejects.toMatchObject({ code: "no_checkpoint", threadId: one, checkpointId: other });
      await expect(runtime.threads.recover(asks, { threadId: one })).rejects.toMatchObject({
        code: "foreign_thread",
        threadId: one,
      });
    });

    it("goes back to the last checkpoint whose nodes are there when the definition has changed", async () => {
      const { runtime } = await open();
      const threadId = newThread();
      await executeAgent(asks, { message: "go" }, { runtime, threadId });
      const [head, plan] = await ids(runtime, threadId);
      const { spec } = asks;
      const renamed = defineAgent({
        ...spec,
        workflow_graph: {
          entry_point: "whom",
          nodes: [{ name: "whom", type: "human", config: { kind: "input", prompt: "Whom?" } }],
          edges: [{ from: "whom", to: "END" }],
          output: { message: "${nodes.whom.value}" },
        },
      });
      const options = { runtime, threadId, acceptChanges: true };
      const before = await ids(runtime, threadId);
      for (const answer of [{}, { answer: "Ada" }]) {
        await expect(executeAgent(renamed, null, { ...options, ...answer })).rejects.toMatchObject({
          code: "recovery_needed",
          reason: "missing_node",
        });
      }
      expect(await ids(runtime, threadId)).toEqual(before);
      const recovery = await runtime.threads.recover(renamed, { threadId, acceptChanges: true });
      expect(recovery).toMatchObject({
        from: { checkpointId: plan },
        skipped: [
          {
            checkpointId: head,
            cause: "missing_node",
            reason: "the node ask is next, and the agent has no such node",
          },
        ],
        reason: "resumed",
        waiting: [{ node: "whom", prompt: "Whom?" }],
      });
      const done = await executeAgent(renamed, null, { runtime, threadId, answer: "Ada" });
      expect(done.output).toEqual({ message: "Ada" });
    });

    describe("with an input on top of a turn that had not ended", () => {
      /** Earlier versions wrote an input before they refused it. */
      const writeStray = async (agent: AgentDefinition, runtime: Runtime, threadId: string) => {
        const graph = await compileAgent(agent, runtime);
        Reflect.deleteProperty(graph, "stream");
        const input = { messages: [{ role: "user", content: "hello?" }] };
        const config = { configurable: { thread_id: threadId } };
        await expect(graph.invoke(input, config)).rejects.toMatchObject({
          code: "invalid_transition",
        });
      };

      it("waits again as it did, whatever had ended", async () => {
        const outer = around("outer", asker);
        const { runtime } = await open("b", "d", "w");
        const threadId = newThread();
        const asked = await executeAgent(outer, { message: "go" }, { runtime, threadId });
        const before = await ids(runtime, threadId);
        for (let times = 0; times < 2; times += 1) await writeStray(outer, runtime, threadId);
        const answer = { runtime, threadId, answer: "one" };
        await expect(executeAgent(outer, null, answer)).rejects.toMatchObject({
          code: "recovery_needed",
          reason: "stray_input",
        });
        const recovery = await runtime.threads.recover(outer, { threadId });
        expect(recovery).toMatchObject({
          from: { checkpointId: before[0] },
          reason: "waiting",
          waiting: asked.interrupts,
          message: `Thread "${threadId}" waits for people: ask (d?). Answer with executeAgent.`,
        });
        expect(new Set(recovery.skipped.map(({ cause }) => cause))).toEqual(
          new Set(["stray_input"]),
        );
        expect(await ids(runtime, threadId)).toEqual(before);
        expect((await runtime.threads.verify(threadId)).damaged).toEqual([]);
        expect((await executeAgent(outer, null, answer)).output).toEqual({ message: "w" });
      });

      it("goes on with a turn that was cut off", async () => {
        const { runtime } = await open(call("ada"), crash, "Done.");
        const threadId = newThread();
        await cutOff(runtime, threadId);
        await writeStray(mailer, runtime, threadId);
        const recovery = await runtime.threads.recover(mailer, { threadId });
        expect(recovery.result).toMatchObject({ output: { message: "Done." } });
        expect(sent).toEqual(["ada"]);
      });
    });

    it("goes on from the checkpoint that is asked for, as the same run of the turn", async () => {
      const { runtime } = await open(call("ada"), "One.");
      const threadId = newThread();
      await executeAgent(mailer, { message: "go" }, { runtime, threadId });
      const tools = (await runtime.threads.history(threadId)).items.find(({ nodes }) =>
        nodes.includes("tools"),
      );
      const before = await ids(runtime, threadId);
      const recovery = await runtime.threads.recover(mailer, { threadId, checkpointId: tools!.id });
      expect(recovery).toMatchObject({ reason: "resumed", from: { checkpointId: tools!.id } });
      expect(recovery.result?.output).toEqual({ message: "One." });
      const now = await ids(runtime, threadId);
      expect(now.slice(-before.length)).toEqual(before);
      expect(now.length).toBeGreaterThan(before.length);
      expect(sent).toEqual(["ada"]);
    });

    it("is refused while another runtime is on the thread", async () => {
      const first = await reopen(crash, () => recoverBeside(), "Done.");
      const second = await reopen();
      const threadId = newThread();
      const recoverBeside = async (): Promise<never> => {
        const { threads } = second;
        const refused = { code: "thread_locked", threadId };
        await expect(threads.recover(mailer, { threadId })).rejects.toMatchObject(refused);
        await expect(
          executeAgent(mailer, { message: "on" }, { runtime: second, threadId }),
        ).rejects.toMatchObject(refused);
        throw new Error("the power is gone");
      };
      await cutOff(first, threadId);
      await expect(first.threads.recover(mailer, { threadId })).rejects.toThrow(
        "the power is gone",
      );
      expect((await first.threads.recover(mailer, { threadId })).reason).toBe("resumed");
      await Promise.all([first.close(), second.close()]);
    });

    it("happens once when it is asked for twice at the same time", async () => {
      const { runtime } = await open(crash, "Done.");
      const threadId = newThread();
      await cutOff(runtime, threadId);
      const both = await Promise.allSettled([
        runtime.threads.recover(mailer, { threadId }),
        runtime.threads.recover(mailer, { threadId }),
      ]);
      expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(both.find(({ status }) => status === "rejected")).toMatchObject({
        reason: { code: "thread_busy", threadId },
      });
    });
  });
}
