import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { beforeEach, describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import {
  defineAgent,
  defineTool,
  executeAgent,
  type AgentDefinition,
  type ThreadContext,
} from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { around, asker } from "../helpers/nested-agents.ts";
import { testRuntime, type TestRun } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks a word up.",
  input_schema: z.object({ word: z.string() }),
  handler: ({ word }) => {
    if (word === "none") throw new Error("no such word");
    return { word, meaning: `what ${word} means`.repeat(40) };
  },
});
const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({ to: z.string() }),
  requires_approval: true,
  handler: ({ to }) => `sent to ${to}`,
});
const call = (word: string): ScriptedReply => ({
  text: `I look up ${word}.`,
  calls: [{ name: "look_up", args: { word } }],
});

const looker = defineAgent({
  name: "looker",
  system_prompt: { role: "You know words.", instructions: "Be short." },
  tools: [lookUp],
});
const strict = defineAgent({
  name: "strict",
  tools: [lookUp],
  output_schema: z.object({ n: z.number() }),
  validate: ({ n }) => (n > 1 ? [] : "too small"),
});
const careful = defineAgent({ name: "careful", tools: [send] });

/** Two llm nodes, one with tools, and a router that asks a model. */
const desk = defineAgent({
  name: "desk",
  execution_config: { max_iterations: 5 },
  tools: [lookUp],
  workflow_graph: {
    entry_point: "sort",
    nodes: [
      {
        name: "sort",
        type: "router",
        config: {
          prompt: "What is this: ${input.message}",
          choices: [
            { name: "word", description: "A word to look up." },
            { name: "chat", description: "Anything else." },
          ],
        },
      },
      { name: "search", type: "llm", config: { prompt: "Look up ${input.message}" } },
      { name: "run", type: "tool", config: {} },
      { name: "answer", type: "llm", config: { prompt: "Answer.", tools: "none" } },
    ],
    edges: [
      { from: "sort", to: "search", condition: 'nodes.sort.choice == "word"' },
      { from: "sort", to: "answer" },
      { from: "search", to: "run", condition: "size(last.tool_calls) > 0" },
      { from: "search", to: "answer" },
      { from: "run", to: "search" },
      { from: "answer", to: "END" },
    ],
  },
});

/** Messages as a provider would be sent them. */
function plain(messages: readonly BaseMessage[] | undefined) {
  return messages?.map((message) => {
    const { tool_calls, tool_call_id } = message as {
      tool_calls?: unknown;
      tool_call_id?: unknown;
    };
    return { role: message.getType(), content: message.content, tool_calls, tool_call_id };
  });
}

/** What models are shown of threads is what they read, on any database that keeps them. */
export function threadContextContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  let count = 0;
  let threadId = "";
  beforeEach(() => void (threadId = `context ${(count += 1)}`));

  describe.skipIf(!database.available)(`what models read of threads on ${kind}`, () => {
    const open = async (script: readonly ScriptedReply[], toolCalling = true) =>
      testRuntime(script, {
        toolCalling,
        checkpointer: await openCheckpointer(database.shared),
      });
    const contextOf = (
      { runtime }: TestRun,
      definition: AgentDefinition,
      of: object = {},
    ): Promise<ThreadContext> => runtime.threads.context({ threadId, definition, ...of });
    const run = (
      { runtime }: TestRun,
      definition: AgentDefinition,
      input: object | null,
      of: object = {},
    ) => executeAgent(definition, input, { runtime, threadId, ...of });

    /** Every `[turn, step]` reads what the model was sent, call by call. */
    const expectSent = async (
      test: TestRun,
      definition: AgentDefinition,
      steps: readonly (readonly [turn: number, step: number, call: number])[],
    ) => {
      const asked = test.model.requests.length;
      for (const [turn, step, number] of steps) {
        const context = await contextOf(test, definition, { turn, step });
        const request = test.model.requests[number];
        expect([turn, step, plain(context.messages)]).toEqual([
          turn,
          step,
          plain(request?.messages),
        ]);
        expect(context).toMatchObject({ tense: "past", turn, step, threadId });
        expect(context.tools).toEqual(test.model.toolCalling ? (request?.tools ?? []) : []);
      }
      expect(test.model.requests).toHaveLength(asked);
    };

    it("is what was sent, over turns with tools", async () => {
      const test = await open([call("a"), call("none"), "Both.", "Yes.", call("b"), "It is b."]);
      await run(test, looker, { message: "What are a and none?" });
      await run(test, looker, { message: "Sure?" });
      await run(test, looker, { message: "And b?" });
      await expectSent(test, looker, [
        [0, 0, 0],
        [0, 1, 1],
        [0, 2, 2],
        [1, 0, 3],
        [2, 0, 4],
        [2, 1, 5],
      ]);
      const last = await contextOf(test, looker, { turn: 1 });
      expect([last.step, last.node, last.attempt]).toEqual([0, "reason", 0]);
    });

    it("is what was sent after attempts that failed", async () => {
      const test = await open(["no JSON", call("a"), '{"n":1}', call("b"), '{"n":2}']);
      await run(test, strict, { message: "go" });
      await expectSent(
        test,
        strict,
        [0, 1, 2, 3, 4].map((step) => [0, step, step] as const),
      );
      const third = await contextOf(test, strict, { step: 3 });
      expect([third.attempt, third.metadata.goal]).toEqual([2, "planning"]);
    });

    it("is what was sent in text to a model that takes no tools", async () => {
      const act = 'Thought: look\nAction: look_up\nAction Input: {"word":"a"}';
      const test = await open([act, "Final Answer: It is a."], false);
      await run(test, looker, { message: "a?" });
      await expectSent(test, looker, [
        [0, 0, 0],
        [0, 1, 1],
      ]);
      const second = await contextOf(test, looker, { turn: 0, step: 1 });
      expect(second.tools).toEqual([]);
      expect(second.messages.at(-1)?.text).toMatch(/^Observation/);
    });

    it("is what was sent to nodes of a workflow, routers included", async () => {
      const word = '{"choice":"word","reason":"one word"}';
      const test = await open([word, call("a"), call("b"), "Found.", "It is a.", word, "No.", "b"]);
      await run(test, desk, { message: "a" });
      await run(test, desk, { message: "b" });
      await expectSent(test, desk, [
        [0, 0, 0],
        [0, 1, 1],
        [0, 2, 2],
        [0, 3, 3],
        [0, 4, 4],
        [1, 0, 5],
        [1, 1, 6],
        [1, 2, 7],
      ]);
      expect((await contextOf(test, desk, { turn: 0, step: 0 })).node).toBe("sort");
      expect((await contextOf(test, desk, { turn: 1 })).node).toBe("answer");
    });

    it("is that of the step itself in deep mode, after the plan that was made for it", async () => {
      const deep = defineAgent({
        name: "deep",
        tools: [lookUp],
        execution_config: { mode: "deep" },
      });
      const reflection = '{"reflection":"good","synthesis":"closer","progress":"advancing"}';
      const accepted = '{"accepted":true,"reasons":[]}';
      const test = await open([
        "Step by step.",
        "Look up a.",
        call("a"),
        reflection,
        "Answer now.",
        "It is a.",
        accepted,
      ]);
      await run(test, deep, { message: "a?" });
      await expectSent(test, deep, [
        [0, 0, 2],
        [0, 1, 5],
      ]);
      const context = await contextOf(test, deep, { turn: 0, step: 1 });
      expect(context.asksBefore).toBe(1);
      expect(context.messages.at(-1)?.text).toContain("Plan for this step: Answer now.");
    });

    it("is for the answer where no steps were left", async () => {
      const short = defineAgent({
        name: "short",
        tools: [lookUp],
        execution_config: { max_iterations: 1, max_attempts: 1 },
      });
      const test = await open([call("a"), "It is a."]);
      await run(test, short, { message: "a?" });
      await expectSent(test, short, [[0, 1, 1]]);
      expect((await contextOf(test, short, { step: 1 })).metadata.goal).toBe("synthesis");
      const planned = await contextOf(test, short, { step: 1, goal: "planning" });
      expect(planned.metadata.goal).toBe("planning");
    });

    it("can be looked at within another budget, and from what is kept of the agent", async () => {
      const test = await open([call("a"), call("b"), "Both."]);
      await run(test, looker, { message: "a and b?" });
      const whole = await contextOf(test, looker, { step: 2 });
      const small = await contextOf(test, looker, { step: 2, budget: 300 });
      expect(small.metadata).toMatchObject({ budget: 300, window: whole.metadata.window });
      expect(small.metadata.tokens.total).toBeLessThanOrEqual(300);
      expect(whole.metadata.tokens.total).toBeGreaterThan(300);
      expect(whole.steps).toMatchObject([
        { turn: 0, step: 0, node: "reason" },
        { turn: 0, step: 1, node: "reason" },
      ]);
      const kept = await test.runtime.threads.context({ threadId, step: 2 });
      expect([kept.fromStored, whole.fromStored]).toEqual([true, false]);
      expect(plain(kept.messages)).toEqual(plain(whole.messages));
      expect(kept.metadata).toEqual(whole.metadata);
    });

    it("is kept apart on branches, and known in a fork from before it", async () => {
      const test = await open([call("a"), "One.", "Two.", "Three."]);
      await run(test, looker, { message: "a?" });
      const { items } = await test.runtime.threads.history(threadId);
      const tools = items.find(({ nodes }) => nodes.join() === "tools")!;
      const at = { threadId, checkpointId: tools.id };
      await test.runtime.threads.replay(looker, at);
      await expectSent(test, looker, [
        [0, 0, 0],
        [0, 1, 2],
      ]);
      const fork = await test.runtime.threads.fork(at);
      threadId = fork.threadId;
      const next = await contextOf(test, looker);
      expect(next).toMatchObject({ tense: "next", checkpointId: fork.checkpointId, step: 1 });
      await run(test, looker, null);
      expect(plain(next.messages)).toEqual(plain(test.model.requests[3]?.messages));
      await expectSent(test, looker, [[0, 1, 3]]);
      const before = await contextOf(test, looker, { step: 0 });
      expect(plain(before.messages)).toEqual(plain(test.model.requests[0]?.messages));
      expect(before.threadId).toBe(at.threadId);
    });

    describe("next", () => {
      const sentNext = async (
        test: TestRun,
        definition: AgentDefinition,
        input: object | null,
        step: number,
      ) => {
        const before = await test.runtime.threads.history(threadId);
        const calls = test.model.requests.length;
        const next = await contextOf(test, definition, input === null ? {} : { input });
        expect(test.model.requests).toHaveLength(calls);
        expect(await test.runtime.threads.history(threadId)).toEqual(before);
        await run(test, definition, input);
        expect(plain(next.messages)).toEqual(plain(test.model.requests[calls]?.messages));
        expect(next).toMatchObject({ tense: "next", step });
        return next;
      };

      it("is what a new turn then sends", async () => {
        const test = await open([call("a"), "It is a.", "Yes.", "Bye."]);
        await run(test, looker, { message: "a?" });
        await sentNext(test, looker, { message: "Sure?" }, 0);
        const without = await contextOf(test, looker);
        expect(without).toMatchObject({ turn: 2, step: 0, withoutRequest: true });
        const next = await sentNext(test, looker, { message: "Bye." }, 0);
        expect(next.withoutRequest).toBe(false);
        expect(plain(without.messages)).toEqual(plain(next.messages.slice(0, -1)));
      });

      it("is what a workflow then sends", async () => {
        const chat = '{"choice":"chat","reason":"talk"}';
        const test = await open([chat, "Hello.", chat, "Bye."]);
        await run(test, desk, { message: "Hi" });
        await sentNext(test, desk, { message: "Bye" }, 0);
        await expect(contextOf(test, desk)).rejects.toMatchObject({ code: "nothing_read" });
      });

      it("is what a turn that was cut off, and one after a failure, then send", async () => {
        const abort = new AbortController();
        const waits: ScriptedReply = (_request, config) =>
          new Promise((_resolve, reject) => {
            config.signal?.addEventListener("abort", () => reject(abort.signal.reason));
            abort.abort(new Error("stop"));
          });
        const once = defineAgent({
          name: "once",
          tools: [lookUp],
          execution_config: { max_attempts: 1 },
          validate: ({ message }) => (message === "bad" ? "bad" : []),
        });
        const test = await open(["Fine.", call("a"), waits, "bad", "Good."]);
        await run(test, once, { message: "Hi" });
        await run(test, once, { message: "a?" }, { signal: abort.signal });
        const resumed = await sentNext(test, once, null, 1);
        const after = await sentNext(test, once, { message: "b?" }, 0);
        // The turn that FAILED is left behind.
        expect([resumed.turn, after.turn]).toEqual([1, 1]);
      });

      it("is what a turn sends after one that FAILED, whose beginning is not kept", async () => {
        const never = defineAgent({
          name: "never",
          execution_config: { max_attempts: 1 },
          validate: ({ message }) => (message === "bad" ? "bad" : []),
        });
        const test = await open(["bad", "Good."]);
        await run(test, never, { message: "a?" });
        await test.runtime.threads.prune({ threadId, keep: "latest" });
        const after = await sentNext(test, never, { message: "b?" }, 0);
        expect([after.turn, after.messages.at(-1)?.text]).toEqual([1, "b?"]);
      });

      it("is not known while people are waited for", async () => {
        const test = await open([{ calls: [{ name: "send", args: { to: "ada" } }] }, "Sent."]);
        await run(test, careful, { message: "go" });
        await expect(contextOf(test, careful)).rejects.toMatchObject({
          code: "nothing_read",
          reason: expect.stringContaining("human (waits for a person)"),
        });
        await expectSent(test, careful, [[0, 0, 0]]);
        await expect(contextOf(test, careful, { input: { message: "on" } })).rejects.toMatchObject({
          code: "unfinished_turn",
        });
      });
    });

    it("is that of agents inside of nodes, by their namespace", async () => {
      const outer = around("outer", asker);
      const test = await open(["b", "draft", "written"]);
      await run(test, outer, { message: "go" });
      const { items } = await test.runtime.threads.list({ limit: 1 });
      expect(items[0]?.threadId).toBe(threadId);
      await expect(contextOf(test, outer)).rejects.toMatchObject({
        code: "nothing_read",
        reason: expect.stringContaining("ask (waits for a person)"),
      });
      const saver = test.runtime.checkpointer!;
      let namespace = "";
      for await (const { config } of saver.list({ configurable: { thread_id: threadId } })) {
        namespace ||= String(config.configurable?.["checkpoint_ns"]);
      }
      expect(namespace).toMatch(/^inner:/);
      const draft = await contextOf(test, outer, { namespace, step: 0 });
      expect(plain(draft.messages)).toEqual(plain(test.model.requests[1]?.messages));
      expect([draft.node, draft.namespace]).toEqual(["draft", namespace]);
      await expect(contextOf(test, outer, { namespace: "nowhere:1" })).rejects.toMatchObject({
        code: "no_checkpoint",
      });
    });

    it("is refused where there is none, with what there is", async () => {
      const test = await open([call("a"), "One.", "Two."]);
      await expect(contextOf(test, looker)).rejects.toMatchObject({ code: "no_checkpoint" });
      await run(test, looker, { message: "go" });
      await expect(contextOf(test, looker, { step: 7 })).rejects.toMatchObject({
        code: "unknown_step",
        steps: [
          { step: 0, node: "reason" },
          { step: 1, node: "reason" },
        ],
      });
      await expect(contextOf(test, looker, { turn: 3 })).rejects.toMatchObject({
        code: "unknown_turn",
        turns: 1,
      });
      await expect(contextOf(test, strict, { step: 0 })).rejects.toMatchObject({
        code: "definition_changed",
      });
      const accepted = await contextOf(test, strict, { step: 0, acceptChanges: true });
      expect(accepted.messages[0]?.text).toContain("Output JSON Schema");
      for (const [option, value] of [
        ["step", -1],
        ["turn", 0.5],
        ["goal", "all"],
        ["budget", 10],
      ] as const) {
        await expect(contextOf(test, looker, { [option]: value })).rejects.toMatchObject({
          code: "invalid_run_option",
          option,
        });
      }
      await test.runtime.threads.prune({ threadId, keep: "latest" });
      await expect(contextOf(test, looker, { step: 1 })).rejects.toMatchObject({
        code: "context_not_stored",
      });
    });

    it("is nothing in a thread without reasoning", async () => {
      const plainWork = defineAgent({
        name: "plain_work",
        tools: [lookUp],
        workflow_graph: {
          entry_point: "find",
          nodes: [{ name: "find", type: "tool", config: { tool: "look_up", args: { word: "a" } } }],
          edges: [{ from: "find", to: "END" }],
          output: { message: "done" },
        },
      });
      const test = await open([]);
      await run(test, plainWork, { message: "go" });
      for (const of of [{ step: 0 }, { turn: 0 }, { input: { message: "on" } }, {}]) {
        await expect(contextOf(test, plainWork, of)).rejects.toMatchObject({
          code: "nothing_read",
        });
      }
    });
  });
}
