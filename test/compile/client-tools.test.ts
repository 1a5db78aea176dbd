import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  defineAgent,
  definePlanner,
  defineTool,
  executeAgent,
} from "../../src/index.ts";
import { around } from "../helpers/nested-agents.ts";
import { plannerReplies } from "../helpers/run-plan.ts";
import { wordRail } from "../helpers/word-rail.ts";
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

/** Where LangGraph returns interrupts. */
const interruptsKey = "__interrupt__";

const locating = { id: "c1", name: "locate", args: {} };
const reading = { id: "c2", name: "read", args: { path: "a.txt" } };
const sending = { id: "c3", name: "send", args: { text: "hello" } };

/** A thread whose runtimes share a saver and, if there is one, a journal. */
async function threadOf(
  script: readonly ScriptedReply[],
  {
    of = agent,
    journal = new MemoryJournal(),
    checkpointer = new MemorySaver(),
  }: {
    of?: AgentDefinition<{ message: string }>;
    journal?: MemoryJournal | null;
    checkpointer?: MemorySaver;
  } = {},
) {
  const { runtime, ...test } = await testRuntime(script, { checkpointer });
  const services = journal === null ? runtime : { ...runtime, journal };
  const options = { runtime: services, threadId: "t", onEvent: test.onEvent };
  return {
    ...test,
    runtime: services,
    stored: () => checkpointer.getTuple({ configurable: { thread_id: "t" } }),
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
      [key in typeof interruptsKey]: readonly { readonly value: object }[];
    };
    expect(asked[interruptsKey][0]?.value).toMatchObject({
      kind: "tool_calls",
      node: "tools",
      proposed: [{ id: "c1", name: "locate", args: { precise: false } }],
    });
    const resume = [{ call_id: "c1", output: { city: "Oslo" } }];
    const done = await graph.invoke(new Command({ resume }), config);
    expect(done).toMatchObject({ status: "COMPLETED", output: { message: "in Oslo" } });
  });

  it("waits beside an approval of the same step, first the person, then the caller", async () => {
    const of = defineAgent({
      name: "careful",
      tools: [locate, send],
      guardrail_config: { tool_rails: { require_approval: ["locate", "send"] } },
    });
    const thread = await threadOf([{ calls: [locating, sending] }, "done"], { of });
    expect(await thread.start()).toMatchObject({ status: "AWAITING_HUMAN", toolCalls: [] });
    const asked = await thread.resume({
      answer: { decisions: { c1: "approve", c3: { decision: "reject", reason: "no" } } },
    });
    expect(asked.status).toBe("AWAITING_TOOL");
    expect(asked.toolCalls.map(({ tool }) => tool)).toEqual(["locate"]);
    const done = await thread.resume({ toolResults: [{ call_id: "c1", output: { city: "A" } }] });
    expect(made).toEqual([]);
    expect(done.steps[0]?.tool_results.map(({ outcome }) => outcome)).toEqual(["success", "error"]);
  });

  it("is not requested if it is refused", async () => {
    const of = defineAgent({
      name: "narrow",
      tools: [
        defineTool({
          name: "open",
          description: "Opens a door.",
          input_schema: z.object({}),
          transport: { type: "client" },
          permissions: ["door:open"],
        }),
        read,
      ],
      guardrail_config: { tool_rails: { rules: [{ tool: "read", check: "args.path == 'b'" }] } },
    });
    const calls = [
      { id: "o", name: "open", args: {} },
      { id: "r", name: "read", args: { path: "a" } },
      { id: "bad", name: "read", args: { path: 1 } },
    ];
    const thread = await threadOf([{ calls }, "done"], { of });
    const done = await thread.start();
    expect(done.status).toBe("COMPLETED");
    expect(done.steps[0]?.tool_results.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["o", "error"],
      ["r", "error"],
      ["bad", "error"],
    ]);
  });

  it("leaves the answers of handlers to them", async () => {
    const ask = defineTool({
      name: "ask",
      description: "Asks a person.",
      input_schema: z.object({}),
      handler: () => `they say ${interrupt<string, string>("which?")}`,
    });
    const of = defineAgent({ name: "both", tools: [ask, locate] });
    const calls = [{ id: "q", name: "ask", args: {} }, locating];
    const thread = await threadOf([{ calls }, "done"], { of });
    expect(await thread.start()).toMatchObject({ status: "AWAITING_TOOL", interrupts: [] });
    const toolResults = [{ call_id: "c1", output: { city: "Oslo" } }];
    expect(await thread.resume({ toolResults })).toMatchObject({ status: "AWAITING_HUMAN" });
    const done = await thread.resume({ answer: "this" });
    expect(done.steps[0]?.tool_results.map(({ result }) => result)).toEqual([
      "they say this",
      { city: "Oslo" },
    ]);
  });

  it("works in a nested agent, and in a tool node of a workflow", async () => {
    const inner = around("outer", agent);
    const nested = await threadOf(["before", { calls: [locating] }, "in Oslo"], { of: inner });
    const asked = await nested.start();
    expect(asked).toMatchObject({ status: "AWAITING_TOOL", toolCalls: [{ call_id: "c1" }] });
    const toolResults = [{ call_id: "c1", output: { city: "Oslo" } }];
    expect(await nested.resume({ toolResults })).toMatchObject({ status: "COMPLETED" });

    const workflow = defineAgent({
      name: "flow",
      tools: [locate],
      workflow_graph: {
        entry_point: "where",
        nodes: [{ name: "where", type: "tool", config: { tool: "locate", args: {} } }],
        edges: [{ from: "where", to: "END" }],
        output: { message: "${nodes.where.result.city}" },
      },
    });
    const flow = await threadOf([], { of: workflow });
    const [call] = (await flow.start()).toolCalls;
    const output = { city: "Bergen" };
    const done = await flow.resume({ toolResults: [{ call_id: call?.call_id ?? "", output }] });
    expect(done.output).toEqual({ message: "Bergen" });
  });

  it("works in the workers of a planner, whose results name their request", async () => {
    const worker = (name: string) =>
      defineAgent({ name, description: `Does what is ${name}.`, tools: [locate] });
    const planner = definePlanner({
      name: "planner",
      workers: [worker("left"), worker("right")],
      execution_config: { max_attempts: 1 },
    });
    const plan = {
      subtasks: ["left", "right"].map((id) => {
        return { id, description: `Find ${id}`, worker: id, dependencies: [] };
      }),
    };
    const script = plannerReplies({
      "Find left": [{ calls: [locating] }, "found"],
      "Find right": [{ calls: [locating] }, "found"],
    });
    const { runtime, onEvent, events } = await testRuntime(script);
    const options = { runtime, threadId: "t", onEvent };
    const asked = await executeAgent(planner, { message: "Go.", plan }, options);
    expect(asked.status).toBe("AWAITING_TOOL");
    expect(asked.toolCalls.map(({ call_id }) => call_id)).toEqual(["c1", "c1"]);
    const waits = events.filter((event) => event.type === "subtask_wait");
    expect(waits).toMatchObject([{ waits_for: "caller" }, { waits_for: "caller" }]);
    const output = { city: "Oslo" };
    await expect(
      executeAgent(planner, null, { ...options, toolResults: [{ call_id: "c1", output }] }),
    ).rejects.toMatchObject({ code: "ambiguous_tool_result" });
    const [first, second] = asked.toolCalls.map(({ call_id, request_id }) => {
      return { call_id, request_id, output };
    });
    const some = await executeAgent(planner, null, { ...options, toolResults: [first!] });
    expect(some.toolCalls.map(({ request_id }) => request_id)).toEqual([second?.request_id]);
    const done = await executeAgent(planner, null, { ...options, toolResults: [second!] });
    expect(done.status).toBe("COMPLETED");
  });

  it("waits while a concurrent branch asks a person, and both are answered apart", async () => {
    const of = defineAgent({
      name: "apart",
      tools: [locate],
      workflow_graph: {
        entry_point: "fork",
        nodes: [
          { name: "fork", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
          { name: "where", type: "tool", config: { tool: "locate", args: {} } },
          { name: "who", type: "human", config: { kind: "input", prompt: "Who?" } },
        ],
        edges: [
          { from: "fork", to: ["where", "who"] },
          { from: "where", to: "END" },
          { from: "who", to: "END" },
        ],
        output: { message: "${nodes.who.value} in ${nodes.where.result.city}" },
      },
    });
    const thread = await threadOf([], { of });
    const asked = await thread.start();
    expect(asked).toMatchObject({ status: "AWAITING_HUMAN", interrupts: [{ prompt: "Who?" }] });
    const [call] = asked.toolCalls;
    const answered = await thread.resume({ answer: "Ada" });
    expect(answered).toMatchObject({ status: "AWAITING_TOOL", interrupts: [] });
    const toolResults = [{ call_id: call?.call_id ?? "", output: { city: "Oslo" } }];
    expect(await thread.resume({ toolResults })).toMatchObject({
      output: { message: "Ada in Oslo" },
    });
  });

  it("reports what it waits for as an event", async () => {
    const thread = await threadOf([{ calls: [locating] }, "in Oslo"]);
    await thread.start();
    await thread.resume({ toolResults: [{ call_id: "c1", output: { city: "Oslo" } }] });
    const told = thread.events.filter(({ type }) => type.startsWith("tool_"));
    expect(told.map(({ type }) => type)).toEqual(["tool_call", "tool_request", "tool_result"]);
    expect(told[1]).toMatchObject({ calls: [{ call_id: "c1", tool: "locate" }], node: "tools" });
    const last = thread.events.findLastIndex(({ type }) => type === "tool_request");
    expect(thread.events.slice(0, last).at(-1)).toMatchObject({ status: "AWAITING_TOOL" });
  });
});

describe("a result of a client tool", () => {
  const resultOf = async (end: object, options: Parameters<typeof threadOf>[1] = {}) => {
    const thread = await threadOf([{ calls: [locating, reading] }, "done"], options);
    await thread.start();
    const done = await thread.resume({
      toolResults: [
        { call_id: "c2", output: "text" },
        { call_id: "c1", ...end } as { call_id: string; output: unknown },
      ],
    });
    expect(done.status).toBe("COMPLETED");
    return { result: done.steps[0]?.tool_results[0], done, thread };
  };

  it("is an error if it does not fit output_schema", async () => {
    const { result } = await resultOf({ output: { town: "Oslo" } });
    expect(result).toMatchObject({ outcome: "error", result: null });
    expect(result?.error).toContain("does not fit its output_schema");
  });

  it("is an error if the caller reports one", async () => {
    const { result } = await resultOf({ error: `denied ${"x".repeat(5_000)}` });
    expect(result).toMatchObject({ outcome: "error", result: null });
    expect(result?.error).toMatch(/^denied x+…/);
    expect(result?.error?.length).toBeLessThan(2_100);
  });

  it("is truncated at max_result_bytes", async () => {
    const thread = await threadOf([{ calls: [reading] }, "done"]);
    await thread.start();
    const output = "long ".repeat(1_000);
    const done = await thread.resume({ toolResults: [{ call_id: "c2", output }] });
    const result = done.steps[0]?.tool_results[0]?.result;
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(200);
    expect(result).toContain("[cut: more than 5,000 bytes");
  });

  it("passes the rails on tool results and the redaction", async () => {
    const of = defineAgent({
      name: "guarded",
      tools: [locate, read],
      rails: [wordRail("Atlantis", "block", ["tool_result"])],
      guardrail_config: {
        input_rails: [
          { type: "custom", name: "word" },
          { type: "pii", config: { tool_results: true } },
        ],
      },
    });
    const { result } = await resultOf({ output: { city: "Atlantis" } }, { of });
    expect(result).toMatchObject({ outcome: "error", result: null });
    expect(result?.error).toContain("withheld by guardrail word");
    const other = await resultOf({ output: { city: "mail ada@example.com" } }, { of });
    expect(JSON.stringify(other.result)).not.toContain("ada@example.com");
    const read1 = other.thread.model.read(1).join("\n");
    expect(read1).not.toContain("ada@example.com");
  });

  it("is a timeout when it arrives late, or not at all", async () => {
    const thread = await threadOf([{ calls: [locating, reading] }, "done"]);
    await thread.start();
    thread.clock.advance(59_999);
    expect((await thread.resume()).toolCalls).toHaveLength(2);
    thread.clock.advance(1);
    const rest = await thread.resume();
    expect(rest).toMatchObject({ status: "AWAITING_TOOL", toolCalls: [{ call_id: "c2" }] });
    expect(rest.toolCalls[0]?.expires_at).toBe("2026-01-02T00:00:00.000Z");
    const done = await thread.resume({ toolResults: [{ call_id: "c2", output: "a" }] });
    expect(done.steps[0]?.tool_results).toMatchObject([
      { id: "c1", outcome: "timeout", result: null },
      { id: "c2", outcome: "success" },
    ]);

    const late = await threadOf([{ calls: [locating] }, "done"]);
    await late.start();
    late.clock.advance(60_000);
    const ended = await late.resume({ toolResults: [{ call_id: "c1", output: { city: "A" } }] });
    expect(ended.steps[0]?.tool_results).toMatchObject([
      { outcome: "timeout", result: null, execution_time_ms: 60_000 },
    ]);
  });

  it("counts as in time if it was, though the run ends later", async () => {
    const thread = await threadOf([{ calls: [locating, reading] }, "done"]);
    await thread.start();
    thread.clock.advance(30_000);
    await thread.resume({ toolResults: [{ call_id: "c1", output: { city: "A" } }] });
    thread.clock.advance(600_000);
    const done = await thread.resume({ toolResults: [{ call_id: "c2", output: "a" }] });
    expect(done.steps[0]?.tool_results).toMatchObject([
      { id: "c1", outcome: "success", execution_time_ms: 30_000 },
      { id: "c2", outcome: "success", execution_time_ms: 630_000 },
    ]);
  });

  it("is not lost when the process ends after it was recorded", async () => {
    const journal = new MemoryJournal();
    const fails = { left: 1 };
    const flaky = defineTool({
      name: "flaky",
      description: "Breaks the process.",
      input_schema: z.object({}),
      handler: () => {
        made.push("flaky");
        return "ok";
      },
    });
    const of = defineAgent({ name: "crashing", tools: [locate, flaky] });
    const calls = [{ id: "f", name: "flaky", args: {} }, locating];
    const checkpointer = new MemorySaver();
    const thread = await threadOf([{ calls }, "done"], { of, journal, checkpointer });
    await thread.start();
    const { writes } = structuredClone({ writes: checkpointer.writes });
    const end = journal.end.bind(journal);
    journal.end = async (key, ended) => {
      if (key.callId === "f" && fails.left-- > 0) throw new Error("killed");
      return end(key, ended);
    };
    const toolResults = [{ call_id: "c1", output: { city: "Oslo" } }];
    await expect(thread.resume({ toolResults })).rejects.toThrow("killed");
    // A killed process writes nothing more.
    checkpointer.writes = writes;
    const done = await thread.resume();
    expect(done.status).toBe("COMPLETED");
    expect(done.steps[0]?.tool_results[1]).toMatchObject({
      result: { city: "Oslo" },
      recovered: "recorded",
    });
  });
});

describe("results that are refused", () => {
  const waiting = async () => {
    const thread = await threadOf([{ calls: [locating, reading] }, "done"]);
    await thread.start();
    return thread;
  };

  it.each([
    ["an unknown call", [{ call_id: "c9", output: 1 }], "unknown_tool_call"],
    [
      "a call twice",
      [
        { call_id: "c1", output: { city: "A" } },
        { call_id: "c1", output: { city: "B" } },
      ],
      "invalid_tool_result",
    ],
    ["no results", [], "invalid_tool_result"],
    ["no end", [{ call_id: "c1" }], "invalid_tool_result"],
    ["two ends", [{ call_id: "c1", output: 1, error: "x" }], "invalid_tool_result"],
    ["an error that is no text", [{ call_id: "c1", error: 1 }], "invalid_tool_result"],
    ["another form", { call_id: 1 }, "invalid_tool_result"],
    ["too much", [{ call_id: "c1", output: "x".repeat(17 * 2 ** 20) }], "invalid_tool_result"],
    [
      "a call of another request",
      [{ call_id: "c1", request_id: "other", output: 1 }],
      "unknown_tool_call",
    ],
  ])("are refused for %s, and nothing is written", async (_name, given, code) => {
    const thread = await waiting();
    const before = await thread.stored();
    const toolResults = given as ExecuteOptions["toolResults"] & object;
    await expect(thread.resume({ toolResults })).rejects.toMatchObject({ code, kind: "usage" });
    expect(await thread.stored()).toEqual(before);
  });

  it("are refused for a call that has its result", async () => {
    const thread = await waiting();
    const toolResults = [{ call_id: "c2", output: "text" }];
    await thread.resume({ toolResults });
    await expect(thread.resume({ toolResults })).rejects.toMatchObject({
      code: "unknown_tool_call",
      waiting: [{ call_id: "c1" }],
    });
  });

  it("are refused by a thread that waits for a person, and answers by one that waits for results", async () => {
    const of = defineAgent({
      name: "careful",
      tools: [locate],
      guardrail_config: { tool_rails: { require_approval: "all" } },
    });
    const asking = await threadOf([{ calls: [locating] }], { of });
    await asking.start();
    const toolResults = [{ call_id: "c1", output: { city: "A" } }];
    await expect(asking.resume({ toolResults })).rejects.toMatchObject({
      code: "wrong_answer_kind",
      expected: "answer",
    });
    const thread = await waiting();
    const [call] = (await thread.resume()).toolCalls;
    const wrong = { code: "wrong_answer_kind", expected: "toolResults" };
    await expect(thread.resume({ answer: "yes" })).rejects.toMatchObject(wrong);
    const answers = { [call?.request_id ?? ""]: "yes" };
    await expect(thread.resume({ answers })).rejects.toMatchObject(wrong);
    await expect(thread.resume({ answer: "yes", toolResults })).rejects.toThrow("not both");
  });

  it("are refused by a thread that waits for nothing, and with an input", async () => {
    const thread = await threadOf(["hi"]);
    await thread.start();
    const toolResults = [{ call_id: "c1", output: 1 }];
    await expect(thread.resume({ toolResults })).rejects.toMatchObject({
      code: "nothing_to_answer",
    });
    const { runtime } = thread;
    await expect(
      executeAgent(agent, { message: "x" }, { runtime, threadId: "t", toolResults }),
    ).rejects.toMatchObject({ code: "invalid_run_option" });
  });
});
