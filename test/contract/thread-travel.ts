import { HumanMessage } from "@langchain/core/messages";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { defineAgent, defineTool, executeAgent, type Runtime } from "../../src/index.ts";
import type { GraphState } from "../../src/state/channels.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { around, asker } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { wholePast } from "../helpers/whole-past.ts";

let sent: string[] = [];
const send = (requires_approval: boolean) =>
  defineTool({
    name: "send",
    description: "Sends a mail.",
    input_schema: z.object({ to: z.string() }),
    requires_approval,
    handler: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
const call = (to: string): ScriptedReply => ({ calls: [{ name: "send", args: { to } }] });

const mailer = defineAgent({ name: "mailer", tools: [send(false)] });
/** The mailer as it was changed later. */
const careful = defineAgent({ name: "mailer", tools: [send(true)] });
const courier = defineAgent({ name: "courier", tools: [send(true)] });
const counter = defineAgent({
  name: "counter",
  execution_schema: z.object({ n: z.number() }),
  initialExecutionState: () => ({ n: 0 }),
  tools: {
    add: {
      description: "Adds.",
      input_schema: z.object({ by: z.number() }),
      persistence: "execution",
      handler: (state, { by }) => ({
        newState: { ...state, execution: { n: state.execution.n + by } },
        toolResult: "added",
      }),
    },
  },
});
const add = (by: number): ScriptedReply => ({ calls: [{ name: "add", args: { by } }] });

/** How a runtime's threads are looked into and travelled, on any database that keeps them. */
export function threadTravelContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  let count = 0;

  describe.skipIf(!database.available)(`the past of threads on ${kind}`, () => {
    const newThread = () => `thread ${(count += 1)}`;
    const open = async (...script: ScriptedReply[]) => {
      sent = [];
      return testRuntime(script, { checkpointer: await openCheckpointer(database.shared) });
    };
    const past = (threadId: string) => wholePast(database.shared, threadId);
    /** The checkpoint that these nodes made. */
    const after = async (runtime: Runtime, threadId: string, ...nodes: string[]) => {
      const { items } = await runtime.threads.history(threadId);
      const found = items.find((view) => view.nodes.join() === nodes.join());
      if (found === undefined) throw new Error(items.map((view) => view.nodes.join()).join(" | "));
      return { threadId, checkpointId: found.id };
    };

    it("is told as a history, page by page", async () => {
      const { runtime } = await open(call("ada"), "Sent.");
      const threadId = newThread();
      await executeAgent(mailer, { message: "go" }, { runtime, threadId });
      const whole = await runtime.threads.history(threadId);
      expect(
        whole.items.map((view) => [view.nodes.join(), view.trigger, view.status]).toReversed(),
      ).toEqual([
        ["", "input", null],
        ["", "node", null],
        ["initialize", "node", "PLANNING"],
        ["plan", "node", "EXECUTING"],
        ["reason", "node", "AWAITING_TOOL"],
        ["tools", "tool_result", "EXECUTING"],
        ["reason", "node", "REFLECTING"],
        ["reflect", "node", expect.any(String)],
        ["finalize", "turn_complete", "COMPLETED"],
      ]);
      expect(whole.items.map(({ sequenceNum }) => sequenceNum)).toEqual([
        8, 7, 6, 5, 4, 3, 2, 1, 0,
      ]);
      expect(whole.items[3]?.nodeOutcomes).toEqual({ tools: "success" });
      const first = await runtime.threads.history(threadId, { limit: 4 });
      const second = await runtime.threads.history(threadId, { limit: 50, cursor: first.next! });
      expect([...first.items, ...second.items]).toEqual(whole.items);
      expect(second.next).toBeNull();
    });

    it("is nothing for a thread that is not there", async () => {
      const { runtime } = await open();
      const { threads } = runtime;
      const missing = { code: "no_checkpoint", threadId: "nowhere" };
      await expect(threads.history("nowhere")).rejects.toMatchObject(missing);
      await expect(threads.stateAt({ threadId: "nowhere" })).rejects.toMatchObject(missing);
      await expect(threads.fork({ threadId: "nowhere" })).rejects.toMatchObject(missing);
      await expect(threads.recover(mailer, { threadId: "nowhere" })).rejects.toMatchObject(missing);
      await expect(
        threads.replay(mailer, { threadId: "nowhere", checkpointId: "x" }),
      ).rejects.toMatchObject({ ...missing, checkpointId: "x" });
    });

    it("has the state of every checkpoint, and what waits there", async () => {
      const { runtime } = await open(call("ada"));
      const threadId = newThread();
      const asked = await executeAgent(careful, { message: "go" }, { runtime, threadId });
      const now = await runtime.threads.stateAt({ threadId });
      expect(now).toMatchObject({
        threadId,
        status: "AWAITING_HUMAN",
        next: ["human"],
        tasks: [{ node: "human", state: "interrupted", error: null }],
        nodeOutcomes: { reason: "success", human: "interrupted" },
        waiting: asked.interrupts,
        integrityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        definitionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      expect(Object.keys(now.values).filter((name) => /^(branch:|__)/.test(name))).toEqual([]);
      expect(now.values).toMatchObject({ input: { message: "go" }, turn_number: 0 });
      expect(Object.keys(now.channelVersions)).toContain("messages");
      const then = await runtime.threads.stateAt(await after(runtime, threadId, "initialize"));
      expect([then.values["attempt"], then.next, then.waiting]).toEqual([null, ["plan"], []]);
    });

    it("differs from checkpoint to checkpoint in words", async () => {
      const { runtime } = await open(add(2), "Two.");
      const threadId = newThread();
      await executeAgent(counter, { message: "go" }, { runtime, threadId });
      const before = await after(runtime, threadId, "plan");
      const tools = await after(runtime, threadId, "tools");
      const differences = await runtime.threads.diff(before, tools);
      const texts = Object.fromEntries(
        differences.map(({ channel, changes }) => [channel, changes.map(({ text }) => text)]),
      );
      expect(texts).toMatchObject({
        execution: ["n: 0 → 2"],
        steps: ["+1 element at 0: step 0 of turn 0 calls add"],
        messages: ['+2 elements at 1: ai: calls add, tool: "added"'],
      });
      expect(await runtime.threads.diff(tools, tools)).toEqual([]);
    });

    describe("when forked", () => {
      it("goes on in a thread of its own, and stays as it was", async () => {
        const { runtime } = await open(add(1), "One.", add(5), "Six.", "Again one.");
        const threadId = newThread();
        await executeAgent(counter, { message: "go" }, { runtime, threadId });
        const before = await past(threadId);
        const from = await after(runtime, threadId, "tools");
        const fork = await runtime.threads.fork(from);
        expect(await runtime.threads.diff(from, fork)).toEqual([]);
        expect(fork.threadId).not.toBe(threadId);
        const resumed = await executeAgent(counter, null, { runtime, threadId: fork.threadId });
        expect([resumed.output, resumed.state.execution]).toEqual([{ message: "Six." }, { n: 6 }]);
        expect(await past(threadId)).toEqual(before);
        const again = await runtime.threads.fork({ threadId });
        const next = await executeAgent(
          counter,
          { message: "more" },
          { runtime, threadId: again.threadId },
        );
        expect([next.output, next.steps[0]?.turn_number]).toEqual([{ message: "Again one." }, 1]);
      });

      it("begins with the state that was asked for, and with what was next", async () => {
        const { runtime } = await open(add(1), "One.", "Eleven.");
        const threadId = newThread();
        await executeAgent(counter, { message: "go" }, { runtime, threadId });
        const from = await after(runtime, threadId, "tools");
        const before = await past(threadId);
        const fork = await runtime.threads.fork({
          ...from,
          newThreadId: newThread(),
          agent: counter,
          modifiedState: {
            execution: { n: 11 },
            messages: [new HumanMessage({ content: "It is 11.", id: "said" })],
          },
        });
        const state = await runtime.threads.stateAt(fork);
        expect([state.values["execution"], state.next, state.trigger]).toEqual([
          { n: 11 },
          ["reason"],
          "manual",
        ]);
        expect((await runtime.threads.diff(from, fork)).map(({ channel }) => channel)).toEqual([
          "messages",
          "execution",
        ]);
        const { threadId: forked } = fork;
        const result = await executeAgent(counter, null, { runtime, threadId: forked });
        expect(result).toMatchObject({ status: "COMPLETED", state: { execution: { n: 11 } } });
        const said = await runtime.threads.stateAt({ threadId: forked });
        const { messages } = said.values as Record<string, unknown> & GraphState;
        expect(messages.map(({ text }) => text)).toContain("It is 11.");
        expect(await past(threadId)).toEqual(before);
      });

      it("refuses a state that cannot be, and writes nothing", async () => {
        const { runtime } = await open("One.");
        const threadId = newThread();
        await executeAgent(counter, { message: "go" }, { runtime, threadId });
        const newThreadId = newThread();
        const fork = (modifiedState: Record<string, unknown>) =>
          runtime.threads.fork({ threadId, newThreadId, agent: counter, modifiedState });
        await expect(fork({ execution: { n: "many" }, turn_number: 1.5 })).rejects.toMatchObject({
          code: "invalid_state_update",
          problems: [{ channel: "execution" }, { channel: "turn_number" }],
        });
        await expect(fork({ excution: {} })).rejects.toMatchObject({
          problems: [{ channel: "excution", suggestion: "execution" }],
        });
        await expect(
          runtime.threads.fork({ threadId, newThreadId, modifiedState: { status: "FAILED" } }),
        ).rejects.toMatchObject({ code: "invalid_run_option", option: "agent" });
        await expect(runtime.threads.history(newThreadId)).rejects.toMatchObject({
          code: "no_checkpoint",
        });
      });

      it("of a turn that failed goes on with a new turn", async () => {
        const strict = defineAgent({
          name: "strict",
          execution_config: { max_attempts: 1 },
          validate: ({ message }) => (message === "good" ? [] : "not good"),
        });
        const { runtime } = await open("bad", "good");
        const threadId = newThread();
        await executeAgent(strict, { message: "go" }, { runtime, threadId });
        const fork = await runtime.threads.fork({ threadId });
        const options = { runtime, threadId: fork.threadId };
        const next = await executeAgent(strict, { message: "again" }, options);
        expect([next.status, next.steps[0]?.turn_number]).toEqual(["COMPLETED", 1]);
      });

      it("refuses the id of a thread that is there, and a checkpoint that is not", async () => {
        const { runtime } = await open("One.", "Two.");
        const [one, two] = [newThread(), newThread()];
        for (const threadId of [one, two]) {
          await executeAgent(counter, { message: "go" }, { runtime, threadId });
        }
        const fork = { threadId: one, newThreadId: two };
        await expect(runtime.threads.fork(fork)).rejects.toMatchObject({ code: "thread_exists" });
        const [other] = (await runtime.threads.history(two)).items;
        await expect(
          runtime.threads.fork({ threadId: one, checkpointId: other!.id }),
        ).rejects.toMatchObject({ code: "no_checkpoint", threadId: one, checkpointId: other!.id });
      });

      it("still waits for people, who are answered there", async () => {
        const { runtime } = await open(call("ada"), "Sent.", "Sent too.");
        const threadId = newThread();
        const asked = await executeAgent(careful, { message: "go" }, { runtime, threadId });
        const fork = await runtime.threads.fork({ threadId });
        const done = await executeAgent(careful, null, {
          runtime,
          threadId: fork.threadId,
          answer: true,
        });
        expect([done.output, sent]).toEqual([{ message: "Sent." }, ["ada"]]);
        expect((await runtime.threads.stateAt({ threadId })).waiting).toEqual(asked.interrupts);
      });
    });

    describe("when replayed", () => {
      it("runs on as a new branch, and every checkpoint before reads as it did", async () => {
        const { runtime } = await open(call("ada"), "One.", "Two.", "Other.", "Next.");
        const threadId = newThread();
        const options = { runtime, threadId };
        await executeAgent(mailer, { message: "go" }, options);
        await executeAgent(mailer, { message: "on" }, options);
        const before = await past(threadId);
        const from = await after(runtime, threadId, "plan");
        const earlier = (await runtime.threads.history(threadId)).items;
        // The plan of the first turn.
        const plan = earlier.findLast(({ nodes }) => nodes.join() === "plan")!;
        expect(plan.id).not.toBe(from.checkpointId);
        const result = await runtime.threads.replay(mailer, { threadId, checkpointId: plan.id });
        expect([result.output, result.status]).toEqual([{ message: "Other." }, "COMPLETED"]);
        const now = await past(threadId);
        expect(Object.keys(now).length).toBeGreaterThan(Object.keys(before).length);
        for (const [key, checkpoint] of Object.entries(before))
          expect(now[key]).toEqual(checkpoint);
        const next = await executeAgent(mailer, { message: "next" }, options);
        expect(next.steps[0]?.turn_number).toBe(1);
        const { messages } = (await runtime.threads.stateAt({ threadId })).values as GraphState &
          Record<string, unknown>;
        expect(messages.map(({ text }) => text)).toEqual(["go", "Other.", "next", "Next."]);
        for (const [key, checkpoint] of Object.entries(before)) {
          expect((await past(threadId))[key]).toEqual(checkpoint);
        }
      });

      it("runs tools again, and asks people again", async () => {
        const { runtime } = await open(call("ada"), "Sent.", "Sent again.");
        const threadId = newThread();
        const options = { runtime, threadId };
        await executeAgent(careful, { message: "go" }, options);
        await executeAgent(careful, null, { ...options, answer: true });
        const from = await after(runtime, threadId, "reason");
        const asked = (await runtime.threads.history(threadId)).items.find(
          ({ status }) => status === "AWAITING_HUMAN",
        )!;
        expect(from).not.toBeNull();
        const result = await runtime.threads.replay(careful, { threadId, checkpointId: asked.id });
        expect([result.status, result.interrupts.length, sent]).toEqual([
          "AWAITING_HUMAN",
          1,
          ["ada"],
        ]);
        const done = await executeAgent(careful, null, { ...options, answer: true });
        expect([done.output, sent]).toEqual([{ message: "Sent again." }, ["ada", "ada"]]);
      });

      it("goes over attempts that fail", async () => {
        const strict = defineAgent({
          name: "strict",
          execution_config: { max_attempts: 2 },
          validate: ({ message }) => (message === "good" ? [] : "not good"),
        });
        const { runtime } = await open("bad", "good", "worse", "good");
        const threadId = newThread();
        await executeAgent(strict, { message: "go" }, { runtime, threadId });
        const { items } = await runtime.threads.history(threadId);
        const plan = items.findLast(({ nodes }) => nodes.join() === "plan")!;
        const result = await runtime.threads.replay(strict, { threadId, checkpointId: plan.id });
        expect(result.attempts.map(({ errors }) => errors.length)).toEqual([1, 0]);
        expect(result.output).toEqual({ message: "good" });
      });

      it("runs agents inside again from their beginning, and leaves what they had", async () => {
        const outer = around("outer", asker);
        const { runtime } = await open("b", "d1", "w1", "d2", "w2");
        const threadId = newThread();
        const options = { runtime, threadId };
        await executeAgent(outer, { message: "go" }, options);
        await executeAgent(outer, null, { ...options, answer: "one" });
        const before = await past(threadId);
        const from = await after(runtime, threadId, "before");
        const asked = await runtime.threads.replay(outer, from);
        expect(asked.interrupts.map(({ prompt }) => prompt)).toEqual(["d2?"]);
        const done = await executeAgent(outer, null, { ...options, answer: "two" });
        expect(done.output).toEqual({ message: "w2" });
        const now = await past(threadId);
        for (const [key, checkpoint] of Object.entries(before))
          expect(now[key]).toEqual(checkpoint);
      });

      it("refuses where nothing is pending, and a definition that has changed", async () => {
        const { runtime } = await open("One.", "Two.");
        const threadId = newThread();
        await executeAgent(mailer, { message: "go" }, { runtime, threadId });
        const end = await after(runtime, threadId, "finalize");
        await expect(runtime.threads.replay(mailer, end)).rejects.toMatchObject({
          code: "nothing_to_resume",
        });
        const plan = await after(runtime, threadId, "plan");
        await expect(runtime.threads.replay(careful, plan)).rejects.toMatchObject({
          code: "definition_changed",
          changes: expect.arrayContaining([
            expect.objectContaining({ text: "tools.send.requires_approval: false → true" }),
          ]),
        });
        const accepted = await runtime.threads.replay(careful, { ...plan, acceptChanges: true });
        expect(accepted.output).toEqual({ message: "Two." });
      });

      it("refuses another agent until it is accepted, which forks and listings tell", async () => {
        const { runtime } = await open("One.", "Two.", "Three.");
        const { threads } = runtime;
        const threadId = newThread();
        await executeAgent(mailer, { message: "go" }, { runtime, threadId });
        const plan = await after(runtime, threadId, "plan");
        const before = await past(threadId);
        const refusal = { code: "foreign_thread", owner: "mailer", agent: "courier" };
        const modified = { modifiedState: { execution: {} }, newThreadId: newThread() };
        const acceptChanges = true;
        for (const refused of [
          () => threads.replay(courier, { ...plan, acceptChanges }),
          () => threads.recover(courier, { threadId, acceptChanges }),
          () => threads.fork({ ...plan, ...modified, agent: courier, acceptChanges }),
          () => executeAgent(courier, { message: "go" }, { runtime, threadId }),
        ]) {
          await expect(refused()).rejects.toMatchObject(refusal);
        }
        expect(await past(threadId)).toEqual(before);

        const fork = await threads.fork({ ...plan, newThreadId: newThread() });
        await expect(
          executeAgent(courier, null, { runtime, threadId: fork.threadId }),
        ).rejects.toMatchObject({ ...refusal, threadId: fork.threadId });
        const accepted = await threads.replay(courier, { ...plan, acceptAgent: true });
        expect(accepted.output).toEqual({ message: "Two." });
        const { items } = await threads.list({ limit: 2 });
        expect(items.map((one) => [one.threadId, one.agent])).toEqual([
          [threadId, "courier"],
          [fork.threadId, "mailer"],
        ]);
        expect(await threads.stateAt(plan)).toMatchObject({ agent: "mailer" });
        await executeAgent(courier, { message: "on" }, { runtime, threadId });
      });
    });

    it("is gone once it is deleted, and is a thread like any other until then", async () => {
      const { runtime } = await open("One.", "Two.");
      const threadId = newThread();
      await executeAgent(mailer, { message: "go" }, { runtime, threadId });
      const { items } = await runtime.threads.list({ limit: 1 });
      expect(items.map((thread) => [thread.threadId, thread.status])).toEqual([
        [threadId, "COMPLETED"],
      ]);
      expect(await runtime.threads.verify(threadId)).toMatchObject({ damaged: [] });
      await runtime.threads.prune({ threadId, keep: "latest" });
      expect((await runtime.threads.history(threadId)).items).toHaveLength(1);
      await executeAgent(mailer, { message: "on" }, { runtime, threadId });
      await runtime.threads.delete(threadId);
      await expect(runtime.threads.history(threadId)).rejects.toMatchObject({
        code: "no_checkpoint",
      });
    });
  });
}
