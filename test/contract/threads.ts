import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { compileAgent, defineAgent, executeAgent } from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { testRuntime, type TestRun } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const agent = defineAgent({
  name: "keeper",
  execution_config: { execution_scope: "thread" },
  initialExecutionState: () => ({ notes: [] as string[], deep: { when: "never" } }),
  tools: {
    note: {
      description: "Notes a word.",
      input_schema: z.object({ word: z.string() }),
      persistence: "execution",
      handler: (state, { word }) => ({
        newState: {
          ...state,
          execution: { notes: [...state.execution.notes, word], deep: { when: "later" } },
        },
        toolResult: `noted ${word}`,
      }),
    },
  },
});
const note = (word: string) => ({ calls: [{ name: "note", args: { word } }] });

/** What threads do on any database that keeps them. */
export function threadsContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`threads on ${kind}`, () => {
    const runtimeOf = async (script: readonly ScriptedReply[]): Promise<TestRun> =>
      testRuntime(script, { checkpointer: await openCheckpointer(database.shared) });

    it("remember state, records and the conversation in another runtime", async () => {
      const first = await runtimeOf([note("ä\u{1f600}"), "Noted."]);
      await executeAgent(agent, { message: "note" }, { runtime: first.runtime, threadId: "t1" });
      const second = await runtimeOf([note("b"), "Both."]);
      const result = await executeAgent(
        agent,
        { message: "and b" },
        { runtime: second.runtime, threadId: "t1" },
      );
      expect(result.state.execution).toEqual({
        notes: ["ä\u{1f600}", "b"],
        deep: { when: "later" },
      });
      expect(result.steps.map((step) => [step.turn_number, step.step_index])).toEqual([
        [1, 0],
        [1, 1],
      ]);
      expect(second.model.read(0)).toEqual([
        "human: note",
        "ai: ",
        "tool: noted ä\u{1f600}",
        "ai: Noted.",
        "human: and b",
      ]);
    });

    it("store what a run returned, also on a fork of an old checkpoint", async () => {
      const { runtime } = await runtimeOf(["one", "two", "three"]);
      const graph = await compileAgent(agent, runtime);
      const thread = { configurable: { thread_id: "t2" } };
      await graph.invoke({ input: { message: "1" } }, thread);
      const afterFirst = await graph.getState(thread);
      await graph.invoke({ input: { message: "2" } }, thread);
      const forked = await graph.invoke({ input: { message: "3" } }, afterFirst.config);
      const stored = await graph.getState(thread);
      expect((stored.values as typeof forked).output).toEqual({ message: "three" });
      expect(forked.output).toEqual({ message: "three" });
      const texts = (stored.values as typeof forked).messages.map((message) => message.text);
      expect(texts).toEqual(["1", "one", "3", "three"]);
    });

    it("go on after a cancellation from where it came", async () => {
      const abort = new AbortController();
      const waits: ScriptedReply = (_request, config) =>
        new Promise((_resolve, reject) => {
          config.signal?.addEventListener("abort", () => reject(abort.signal.reason));
          abort.abort(new Error("stop"));
        });
      const cancelled = await runtimeOf([note("a"), waits]);
      const result = await executeAgent(
        agent,
        { message: "go" },
        { runtime: cancelled.runtime, threadId: "t3", signal: abort.signal },
      );
      expect(result.status).toBe("CANCELLED");
      const resumed = await runtimeOf(["Done."]);
      const after = await executeAgent(agent, null, { runtime: resumed.runtime, threadId: "t3" });
      expect(after).toMatchObject({ status: "COMPLETED", output: { message: "Done." } });
      expect(after.state.execution.notes).toEqual(["a"]);
      expect(after.steps).toHaveLength(2);
    });

    it("have nothing to resume when a cancelled turn kept no checkpoint of its own", async () => {
      const rare = defineAgent({
        name: "rare",
        execution_config: { checkpoint_frequency: "every_turn" },
      });
      const { runtime } = await runtimeOf(["one"]);
      const options = { runtime, threadId: "t5" };
      const run = { ...options, signal: AbortSignal.abort(new Error("stop")) };
      expect((await executeAgent(rare, { message: "1" }, run)).status).toBe("CANCELLED");
      await expect(executeAgent(rare, null, options)).rejects.toThrow(
        'Thread "t5" ended CANCELLED',
      );
      expect((await executeAgent(rare, { message: "1" }, options)).status).toBe("COMPLETED");
    });

    it("write one checkpoint a turn, after an empty first one, when asked to", async () => {
      const rare = defineAgent({
        name: "rare",
        execution_config: { checkpoint_frequency: "every_turn" },
      });
      const { runtime } = await runtimeOf(["one"]);
      await executeAgent(rare, { message: "1" }, { runtime, threadId: "t4" });
      const graph = await compileAgent(rare, runtime);
      const history = [];
      for await (const one of graph.getStateHistory({ configurable: { thread_id: "t4" } })) {
        history.push(one);
      }
      expect(history.map(({ values }) => (values as { status: string }).status)).toEqual([
        "COMPLETED",
        "CREATED",
      ]);
    });
  });
}
