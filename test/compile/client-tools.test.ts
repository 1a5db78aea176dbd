import { Command, MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { AgentDefinition } from "../../src/definition/agent-definition.ts";
import type { ExecuteOptions } from "../../src/runtime/execute-agent.ts";
import { MemoryJournal } from "../helpers/memory-journal.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

let made: string[] = [];
beforeEach(() => {
  made = [];
});

const locate = defineTool({
  name: "locate",
  description: "Says where the user is.",
  input_schema: z.object({ precise: z.boolean().default(false) }),
  output_schema: z.object({ city: z.string() }),
  transport: { type: "client" },
  execution: { timeout_ms: 60_000, max_result_bytes: 400 },
});
const read = defineTool({
  name: "read",
  description: "Reads a file of the user.",
  input_schema: z.object({ path: z.string() }),
  transport: { type: "client" },
  execution: { max_result_bytes: 200 },
});
const send = defineTool({
  name: "send",
  description: "Sends a text.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => {
    made.push(text);
    return `sent ${text}`;
  },
});
const agent = defineAgent({ name: "guide", tools: [locate, read, send] });

const locating = { id: "c1", name: "locate", args: {} };
const reading = { id: "c2", name: "read", args: { path: "a.txt" } };
const sending = { id: "c3", name: "send", args: { text: "hello" } };

/** A thread whose runtimes share a saver and, if there is one, a journal. */
async function threadOf(
  script: readonly ScriptedReply[],
  {
    of = agent as AgentDefinition,
    journal = new MemoryJournal() as MemoryJournal | null,
    checkpointer = new MemorySaver(),
  } = {},
) {
  const { runtime, ...test } = await testRuntime(script, { checkpointer });
  const services = journal === null ? runtime : { ...runtime, journal };
  const options = { runtime: services, threadId: "t", onEvent: test.onEvent };
  return {
    ...test,
    runtime: services,
    start: () => executeAgent(of, { message: "go" }, options),
    resume: (more: ExecuteOptions = {}) => executeAgent(of, null, { ...options, ...more }),
  };
}

describe("a call of a client tool", () => {
  it("stops the run with the call, and continues with its result", async () => {
    const thread = await threadOf([{ calls: [locating] }, "in Oslo"]);
    const asked = await thread.start();
    expect(asked).toMatchObject({ status: "AWAITING_TOOL", interrupts: [], output: null });
    expect(asked.toolCalls).toEqual([
      {
        call_id: "c1",
        request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        tool: "locate",
        input: { precise: false },
        expires_at: "2026-01-01T00:01:00.000Z",
      },
    ]);
    thread.clock.advance(1_500);
    const toolResults = [{ call_id: "c1", output: { city: "Oslo" } }];
    const done = await thread.resume({ toolResults });
    expect(done).toMatchObject({ status: "COMPLETED", output: { message: "in Oslo" } });
    expect(done.toolCalls).toEqual([]);
    const [step] = done.steps;
    expect(step?.tool_results).toMatchObject([
      { id: "c1", outcome: "success", result: { city: "Oslo" }, execution_time_ms: 1_500 },
    ]);
    expect(done.usage.tool_calls).toBe(1);
  });

  it.each([
    ["a journal", new MemoryJournal()],
    ["no journal", null],
  ])("runs the server's calls of its step once, with %s", async (_name, journal) => {
    const thread = await threadOf([{ calls: [sending, locating, reading] }, "done"], { journal });
    await thread.start();
    const some = await thread.resume({ toolResults: [{ call_id: "c2", output: "text" }] });
    expect(some.toolCalls.map(({ call_id }) => call_id)).toEqual(["c1"]);
    expect(some.status).toBe("AWAITING_TOOL");
    await thread.resume();
    const done = await thread.resume({ toolResults: [{ call_id: "c1", output: { city: "X" } }] });
    expect(made).toEqual(["hello"]);
    expect(done.status).toBe("COMPLETED");
    expect(done.steps[0]?.tool_results.map(({ id, result }) => [id, result])).toEqual([
      ["c3", "sent hello"],
      ["c1", { city: "X" }],
      ["c2", "text"],
    ]);
  });

  it("answers a plain Command of LangGraph with a list of results", async () => {
    const { runtime } = await threadOf([{ calls: [locating] }, "in Oslo"]);
    const graph = await compileAgent(agent, runtime);
    const config = { configurable: { thread_id: "plain" } };
    const asked = (await graph.invoke({ input: { message: "go" } }, config)) as unknown as {
      __interrupt__: readonly { readonly value: object }[];
    };
    expect(asked.__interrupt__[0]?.value).toMatchObject({
      kind: "tool_calls",
      node: "tools",
      proposed: [{ id: "c1", name: "locate", args: { precise: false } }],
    });
    const resume = [{ call_id: "c1", output: { city: "Oslo" } }];
    const done = await graph.invoke(new Command({ resume }), config);
    expect(done).toMatchObject({ status: "COMPLETED", output: { message: "in Oslo" } });
  });
});
