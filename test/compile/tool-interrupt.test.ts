import { interrupt, MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { defineAgent, defineTool, executeAgent, type AgentDefinition } from "../../src/index.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import type { ToolJournal } from "../../src/tools/journal.ts";
import { useDatabase } from "../helpers/databases.ts";
import { MemoryJournal } from "../helpers/memory-journal.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

let made: string[] = [];
beforeEach(() => {
  made = [];
});

const text = z.object({ text: z.string() });
const ask = defineTool({
  name: "ask",
  description: "Asks a person.",
  input_schema: text,
  handler: async (input) => {
    made.push(`ask ${input.text}`);
    await new Promise(setImmediate);
    const answer = interrupt<string, string>(`${input.text}?`);
    return `${input.text}: ${answer}`;
  },
});
const look = defineTool({
  name: "look",
  description: "Looks.",
  input_schema: text,
  handler: ({ text: what }) => {
    made.push(`look ${what}`);
    return what;
  },
});
const call = (name: string, what: string) => ({
  id: `${name}-${what}`,
  name,
  args: { text: what },
});

/** A thread that survives its process, with or without a journal. */
async function threadOf(
  agent: AgentDefinition<{ message: string }, { message: string }>,
  script: readonly ScriptedReply[],
  {
    isJournalled = true,
    checkpointer = new MemorySaver(),
    journal = new MemoryJournal(),
  }: {
    isJournalled?: boolean;
    checkpointer?: BaseCheckpointSaver;
    journal?: ToolJournal;
  } = {},
) {
  const { runtime, ...test } = await testRuntime(script, { checkpointer });
  const services = isJournalled ? { ...runtime, journal } : runtime;
  const options = { runtime: services, threadId: "t", onEvent: test.onEvent };
  return {
    ...test,
    runtime,
    start: () => executeAgent(agent, { message: "go" }, options),
    answer: (answer: unknown) => executeAgent(agent, null, { ...options, answer }),
    again: () => executeAgent(agent, null, options),
  };
}

const database = useDatabase("pglite");
const plain = defineAgent({ name: "plain", tools: [ask, look] });

describe("interrupt() in a tool's handler", () => {
  it("stops the turn, and gives the answer where the handler runs again", async () => {
    const calls = [call("look", "x"), call("ask", "sure")];
    const thread = await threadOf(plain, [{ calls }, "done"], {
      checkpointer: await openCheckpointer(database.shared),
      journal: new DatabaseToolJournal(database.shared.pool),
    });
    const asked = await thread.start();
    expect(asked.status).toBe("AWAITING_HUMAN");
    expect(asked.interrupts).toMatchObject([
      { kind: "input", node: "tools", prompt: "sure?", proposed: "sure?" },
    ]);
    expect((await thread.runtime.threads.stateAt({ threadId: "t" })).waiting).toMatchObject([
      { prompt: "sure?" },
    ]);
    // Without an answer it asks again.
    expect((await thread.again()).interrupts).toMatchObject([{ prompt: "sure?" }]);
    const ended = await thread.answer("yes");
    expect([ended.status, ended.output]).toEqual(["COMPLETED", { message: "done" }]);
    expect(ended.steps[0]?.tool_results).toMatchObject([
      { name: "look", outcome: "success", result: "x", recovered: "recorded" },
      { name: "ask", outcome: "success", result: "sure: yes", asked: 1 },
    ]);
    expect(made).toEqual(["look x", "ask sure", "ask sure", "ask sure"]);
    expect(thread.events.map((event) => (event.type === "status" ? event.status : ""))).toContain(
      "AWAITING_HUMAN",
    );
  });

  it.each([true, false])(
    "gives each of several calls its own answers, with a journal: %s",
    async (isJournalled) => {
      const calls = [call("ask", "a"), call("look", "x"), call("ask", "b"), call("ask", "c")];
      const thread = await threadOf(plain, [{ calls }, "done"], { isJournalled });
      expect((await thread.start()).interrupts).toMatchObject([{ prompt: "a?" }]);
      expect((await thread.answer("1")).interrupts).toMatchObject([{ prompt: "b?" }]);
      expect((await thread.answer("2")).interrupts).toMatchObject([{ prompt: "c?" }]);
      const { steps } = await thread.answer("3");
      expect(steps[0]?.tool_results.map(({ result }) => result)).toEqual([
        "a: 1",
        "x",
        "b: 2",
        "c: 3",
      ]);
      expect(made.filter((one) => one === "look x")).toHaveLength(isJournalled ? 1 : 4);
    },
  );

  it("may be called several times, also in a tool with state that others follow", async () => {
    const agent = defineAgent({
      name: "stateful",
      initialExecutionState: () => ({ said: [] as string[] }),
      tools: {
        note: {
          description: "Asks twice and notes it.",
          input_schema: text,
          persistence: "execution",
          handler: (state, input) => {
            const said = [1, 2].map((n) => interrupt<string, string>(`${input.text} ${n}?`));
            const execution = { said: [...state.execution.said, ...said] };
            return { newState: { ...state, execution }, toolResult: said.length };
          },
        },
      },
    });
    const calls = [call("note", "a"), call("note", "b")];
    const thread = await threadOf(agent, [{ calls }, "done"]);
    const prompts = [await thread.start()];
    for (const answer of ["1", "2", "3"]) prompts.push(await thread.answer(answer));
    expect(prompts.map(({ interrupts }) => interrupts[0]?.prompt)).toEqual([
      "a 1?",
      "a 2?",
      "b 1?",
      "b 2?",
    ]);
    const { state } = await thread.answer("4");
    expect(state.execution).toEqual({ said: ["1", "2", "3", "4"] });
  });

  it("is no failure that is tried again, nor one that an error around it hides", async () => {
    const wrapping = defineTool({
      name: "ask",
      description: "Asks a person.",
      input_schema: text,
      execution: { idempotent: true, retry: { max_retries: 3, backoff_ms: 1 } },
      handler: (input) => {
        made.push("ask");
        try {
          return interrupt<string, string>(input.text);
        } catch (thrown) {
          throw new Error("It did not work.", { cause: thrown });
        }
      },
    });
    const agent = defineAgent({ name: "wraps", tools: [wrapping] });
    const thread = await threadOf(agent, [{ calls: [call("ask", "Go?")] }, "done"]);
    expect((await thread.start()).interrupts).toMatchObject([{ prompt: "Go?" }]);
    expect(made).toEqual(["ask"]);
    const { steps } = await thread.answer("yes");
    expect(steps[0]?.tool_results).toMatchObject([{ result: "yes", outcome: "success" }]);
  });

  it("comes after the approval of the call, in nodes of workflows and of agents within", async () => {
    const inner = defineAgent({
      name: "inner",
      output_schema: z.object({ said: z.string() }),
      tools: [ask],
      guardrail_config: { tool_rails: { require_approval: ["ask"] } },
      workflow_graph: {
        entry_point: "act",
        nodes: [{ name: "act", type: "tool", config: { tool: "ask", args: { text: "sure" } } }],
        edges: [{ from: "act", to: "END" }],
        output: { said: "${nodes.act.result}" },
      },
    });
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "agent", config: { agent: "inner" } }],
        edges: [{ from: "ask", to: "END" }],
        output: { message: "${nodes.ask.output.said}" },
      },
    });
    const thread = await threadOf(outer, []);
    expect((await thread.start()).interrupts).toMatchObject([{ kind: "tool_approval" }]);
    expect(made).toEqual([]);
    expect((await thread.answer(true)).interrupts).toMatchObject([{ prompt: "sure?" }]);
    const { output } = await thread.answer("yes");
    expect(output).toEqual({ message: "sure: yes" });
    expect(made).toEqual(["ask sure", "ask sure"]);
  });
});
