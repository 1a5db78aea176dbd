import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import { waitingAgent } from "../runtime/waiting-agent.ts";
import { useDatabase } from "../helpers/databases.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

/** How turns are cancelled by the id of their thread, on any database that stores them. */
export function cancellingContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`cancelling by thread on ${kind}`, () => {
    const open = async () => {
      const checkpointer = await openCheckpointer(database.shared);
      return (await testRuntime([], { checkpointer })).runtime;
    };
    const waits = async (threadId: string) => {
      const runtime = await open();
      const asked = await executeAgent(waitingAgent, { message: "go" }, { runtime, threadId });
      expect(asked.status).toBe("AWAITING_HUMAN");
      return { runtime, threadId, asked };
    };

    it("ends a waiting turn with a checkpoint, after which its requests cannot be answered", async () => {
      const { threadId, asked } = await waits("waits, then ends");
      const runtime = await open();
      const before = await runtime.threads.stateAt({ threadId });
      expect(await runtime.threads.cancel(threadId, { reason: "not needed" })).toEqual({
        threadId,
        outcome: "cancelled",
        status: "CANCELLED",
      });
      const state = await (await open()).threads.stateAt({ threadId });
      expect(state).toMatchObject({ status: "CANCELLED", next: [], tasks: [], waiting: [] });
      expect(state.values["turn"]).toMatchObject({ cancel_reason: "not needed" });
      const { items } = await runtime.threads.history(threadId);
      expect(items[0]).toMatchObject({ parentId: before.id, trigger: "manual" });
      expect((await runtime.threads.list({ status: "CANCELLED" })).items).toMatchObject([
        { threadId },
      ]);
      expect((await runtime.threads.verify(threadId)).damaged).toEqual([]);

      const answers = { [asked.interrupts[0]!.id]: true };
      await expect(
        executeAgent(waitingAgent, null, { runtime, threadId, answers }),
      ).rejects.toMatchObject({ code: "nothing_to_answer", status: "CANCELLED" });
      await expect(runtime.threads.cancel(threadId)).rejects.toMatchObject({
        code: "nothing_to_cancel",
        status: "CANCELLED",
      });
      expect((await runtime.threads.stateAt({ threadId })).id).toBe(state.id);
    });

    it("lets the next turn begin, and a cancelled one wait again when it is resumed", async () => {
      const { runtime, threadId } = await waits("waits again");
      await runtime.threads.cancel(threadId);
      const again = await executeAgent(waitingAgent, null, { runtime, threadId });
      expect(again.status).toBe("AWAITING_HUMAN");
      expect(again.interrupts.map(({ node }) => node)).toEqual(["allow", "name"]);
      const byNode = new Map(again.interrupts.map(({ node, id }) => [node, id]));
      await runtime.threads.cancel(threadId, { reason: "again" });
      const next = await executeAgent(waitingAgent, { message: "next" }, { runtime, threadId });
      expect(next.status).toBe("AWAITING_HUMAN");
      expect(next.state).toEqual(again.state);
      expect(next.cancel_reason).toBeNull();
      expect(next.interrupts.map(({ id }) => id)).not.toContain(byNode.get("name"));
      const answers = Object.fromEntries(
        next.interrupts.map(({ node, id }) => [id, node === "name" ? "Ada" : true]),
      );
      const done = await executeAgent(waitingAgent, null, { runtime, threadId, answers });
      expect([done.status, done.output]).toEqual(["COMPLETED", { message: "Ada" }]);
      await expect(runtime.threads.cancel(threadId)).rejects.toMatchObject({
        code: "nothing_to_cancel",
        status: "COMPLETED",
      });
    });

    it("leaves one outcome of two cancellations and an answer at once", async () => {
      const { runtime, threadId, asked } = await waits("races");
      const answers = { [asked.interrupts[0]!.id]: true };
      const [first, second, answer] = await Promise.allSettled([
        runtime.threads.cancel(threadId, { reason: "first" }),
        runtime.threads.cancel(threadId, { reason: "second" }),
        executeAgent(waitingAgent, null, { runtime, threadId, answers }),
      ]);
      expect([first, second]).toMatchObject([
        { status: "fulfilled", value: { outcome: "cancelled" } },
        { status: "fulfilled", value: { outcome: "cancelled" } },
      ]);
      const end = answer.status === "fulfilled" ? answer.value.status : answer.reason.code;
      expect(["CANCELLED", "thread_busy"]).toContain(end);
      const { values, next } = await runtime.threads.stateAt({ threadId });
      expect([values["status"], next]).toEqual(["CANCELLED", []]);
      expect(values["turn"]).toMatchObject({ cancel_reason: "first" });
    });

    it("aborts a tool of this process, and ends its turn with the reason", async () => {
      const runtime = await open();
      const threadId = "runs here";
      let hasStarted = () => {};
      const started = new Promise<void>((resolve) => (hasStarted = resolve));
      const aborted: unknown[] = [];
      const work = defineTool({
        name: "work",
        description: "Works until it is aborted.",
        input_schema: z.object({}),
        handler: async (_input, { signal }) => {
          hasStarted();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          aborted.push(signal.reason);
        },
      });
      const agent = defineAgent({
        name: "slow",
        tools: [work],
        workflow_graph: {
          entry_point: "work",
          nodes: [{ name: "work", type: "tool", config: { tool: "work", args: {} } }],
          edges: [{ from: "work", to: "END" }],
        },
      });
      const running = executeAgent(agent, { message: "go" }, { runtime, threadId });
      await started;
      expect(
        await runtime.threads.cancel(threadId, { reason: "too slow", waitMs: 0 }),
      ).toMatchObject({
        threadId,
        outcome: "requested",
      });
      expect(await running).toMatchObject({ status: "CANCELLED", cancel_reason: "too slow" });
      expect(aborted).toMatchObject([{ code: "turn_cancelled", reason: "too slow", threadId }]);
    });

    it("aborts the model call of a compiled graph, which ends CANCELLED and can be run on", async () => {
      const checkpointer = await openCheckpointer(database.shared);
      let hasAsked = () => {};
      const asked = new Promise<void>((resolve) => (hasAsked = resolve));
      const aborted: unknown[] = [];
      const hangs: ScriptedReply = (_request, { signal }) => {
        hasAsked();
        return new Promise((_, reject) => {
          signal?.addEventListener("abort", () => {
            aborted.push(signal.reason);
            reject(signal.reason as Error);
          });
        });
      };
      const { runtime } = await testRuntime([hangs, "Done."], { checkpointer });
      const graph = await compileAgent(defineAgent({ name: "talker" }), runtime);
      const config = { configurable: { thread_id: "a graph's" } };
      const running = graph.invoke({ input: { message: "go" } }, config);
      await asked;
      const { threads } = runtime;
      const cancelled = await threads.cancel("a graph's", { reason: "enough", waitMs: 60_000 });
      expect([cancelled.outcome, (await running).status]).toEqual(["cancelled", "CANCELLED"]);
      expect(aborted).toMatchObject([{ code: "turn_cancelled", reason: "enough" }]);
      const next = await graph.invoke({ input: { message: "again" } }, config);
      expect([next.status, next.output]).toEqual(["COMPLETED", { message: "Done." }]);
    });

    it("refuses unknown threads, malformed ids, reasons and waiting times", async () => {
      const { threads } = await open();
      await expect(threads.cancel("none")).rejects.toMatchObject({ code: "no_checkpoint" });
      await expect(threads.cancel("a\nb")).rejects.toMatchObject({ code: "invalid_thread_id" });
      for (const options of [
        { reason: "" },
        { reason: "a\u001b[2J" },
        { reason: "a".repeat(501) },
        { waitMs: -1 },
        { waitMs: Number.NaN },
        { waitMs: 600_001 },
      ]) {
        await expect(threads.cancel("none", options)).rejects.toMatchObject({
          code: "invalid_run_option",
        });
      }
    });
  });
}
