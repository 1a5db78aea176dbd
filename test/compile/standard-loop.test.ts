import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { noUsage } from "../../src/state/usage.ts";

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => text,
});
const agent = defineAgent({ name: "echoer", tools: [echo] });

describe("the standard loop", () => {
  it("answers in one step when the model needs no tool", async () => {
    const { runtime, model } = await testRuntime(["Hello."]);
    const result = await executeAgent(agent, { message: "hi" }, { runtime });
    expect(result).toMatchObject({
      status: "COMPLETED",
      output: { message: "Hello." },
      attempts: [{ attempt_number: 0, errors: [] }],
      incomplete: false,
      failure: null,
      usage: { ...noUsage, tokens_in: 10, tokens_out: 5, llm_calls: 1, cost_usd: 0.001 },
    });
    expect(model.read(0)).toEqual(["human: hi"]);
  });

  it("returns its public channels where LangGraph invokes it, and no others", async () => {
    const { runtime } = await testRuntime(["Hello."]);
    const graph = await compileAgent(agent, runtime);
    const values = await graph.invoke(
      { input: { message: "hi" } },
      { configurable: { thread_id: "public" } },
    );
    expect(Object.keys(values).toSorted()).toEqual([
      "attempt",
      "attempt_number",
      "execution",
      "messages",
      "nodes",
      "output",
      "rails",
      "status",
      "steps",
      "summary",
      "turn",
      "turn_number",
      "usage",
    ]);
  });

  it("writes a tier only with a call that changed it", async () => {
    const note = defineTool({
      name: "note",
      description: "Notes it.",
      input_schema: z.object({ text: z.string() }),
      persistence: "attempt",
      handler: (state, { text }) => {
        return { newState: { ...state, attempt: { text } }, toolResult: "noted" };
      },
    });
    const { runtime } = await testRuntime([
      { text: "", calls: [{ name: "echo", args: { text: "a" } }] },
      { text: "", calls: [{ name: "note", args: { text: "b" } }] },
      "Done.",
    ]);
    const graph = await compileAgent(defineAgent({ name: "noter", tools: [echo, note] }), runtime);
    const tiers: object[] = [];
    for await (const update of await graph.stream(
      { input: { message: "go" } },
      { streamMode: "updates", configurable: { thread_id: "tiers" } },
    )) {
      const { tools } = update as { tools?: { execution?: unknown; attempt?: unknown } };
      if (tools !== undefined) {
        const { execution, attempt } = tools;
        tiers.push({ execution, attempt });
      }
    }
    expect(tiers).toEqual([{}, { attempt: { text: "b" } }]);
  });

  it("leaves one record for each step, with predictions and results in the same order", async () => {
    const { runtime } = await testRuntime([
      {
        text: "I ask twice.",
        calls: [
          { name: "echo", args: { text: "a" } },
          { name: "echo", args: { text: "b" } },
        ],
      },
      "a and b",
    ]);
    const { steps, usage } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(steps).toHaveLength(2);
    expect(steps[0]).toEqual({
      turn_number: 0,
      attempt_number: 0,
      step_index: 0,
      node: "reason",
      timestamp: "2026-01-01T00:00:00.000Z",
      mode: "fast",
      thought: "I ask twice.",
      planning: "",
      reflection: "",
      approach: "",
      next_action: "use_tools",
      tool_predictions: [
        { id: "call_1", name: "echo", args: { text: "a" }, reason: "I ask twice." },
        { id: "call_2", name: "echo", args: { text: "b" }, reason: "I ask twice." },
      ],
      tool_results: ["a", "b"].map((text, i) => ({
        id: `call_${i + 1}`,
        name: "echo",
        args: { text },
        result: text,
        error: null,
        outcome: "success",
        execution_time_ms: 0,
        insights: "",
        learning: "",
        relevance: "",
      })),
      concurrent_execution: true,
      synthesis: "",
      progress: "",
      hypothesis: null,
      problem: "",
      usage: {
        ...noUsage,
        tokens_in: 10,
        tokens_out: 5,
        llm_calls: 1,
        tool_calls: 2,
        cost_usd: 0.001,
      },
      model: "test:scripted",
      fallback: null,
      model_calls: [],
    });
    expect(steps[1]).toMatchObject({ step_index: 1, next_action: "finish", thought: "a and b" });
    expect(usage).toMatchObject({ llm_calls: 2, tool_calls: 2 });
  });

  it("shows the model whole results and the conversation cut ones", async () => {
    const long = "x".repeat(5000);
    const { runtime, model } = await testRuntime([
      { calls: [{ name: "echo", args: { text: long } }] },
      "done",
    ]);
    const graph = await compileAgent(agent, runtime);
    const state = await graph.invoke(
      { input: { message: "go" } },
      {
        configurable: { thread_id: "t" },
      },
    );
    expect(model.read(1)).toEqual(["human: go", "ai: ", `tool: ${long}`]);
    const shown = (state as unknown as { messages: { text: string; type: string }[] }).messages;
    expect(shown.map((m) => m.type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(shown[2]?.text.length).toBeLessThan(1100);
    expect(shown[2]?.text).toContain("4,000");
  });

  it("takes messages as chat clients send them", async () => {
    const { runtime } = await testRuntime(["Hello."]);
    const graph = await compileAgent(agent, runtime);
    const state = (await graph.invoke(
      { messages: [{ role: "user", content: "hi" }] },
      {
        configurable: { thread_id: "t" },
      },
    )) as unknown as { output: unknown; messages: { text: string }[] };
    expect(state.output).toEqual({ message: "Hello." });
    expect(state.messages.map((m) => m.text)).toEqual(["hi", "Hello."]);
  });

  it("remembers the turns before on the same thread", async () => {
    const { runtime, model } = await testRuntime([
      { calls: [{ name: "echo", args: { text: "blue" } }] },
      "Your colour is blue.",
      "You said blue.",
    ]);
    const first = await executeAgent(agent, { message: "I like blue" }, { runtime, threadId: "t" });
    const second = await executeAgent(agent, { message: "What?" }, { runtime, threadId: "t" });
    expect(model.read(2)).toEqual([
      "human: I like blue",
      "ai: ",
      "tool: blue",
      "ai: Your colour is blue.",
      "human: What?",
    ]);
    expect(second.steps.map((s) => [s.turn_number, s.step_index])).toEqual([[1, 0]]);
    expect(first.usage.llm_calls).toBe(2);
    expect(second.usage.llm_calls).toBe(1);
  });

  it("takes the new message on a thread whose last turn came as input", async () => {
    const { runtime, model } = await testRuntime(["one", "two"]);
    const graph = await compileAgent(agent, runtime);
    const thread = { configurable: { thread_id: "t" } };
    await graph.invoke({ input: { message: "first" } }, thread);
    await graph.invoke({ messages: [{ role: "user", content: "second" }] }, thread);
    expect(model.read(1)).toEqual(["human: first", "ai: one", "human: second"]);
  });

  it("takes the input over messages that come with it, and says the same words once", async () => {
    const { runtime, model } = await testRuntime(["one", "two"]);
    const graph = await compileAgent(agent, runtime);
    const messages = [{ role: "user", content: "hi" }];
    const config = (thread_id: string) => ({ configurable: { thread_id } });
    await graph.invoke({ input: { message: "hi" }, messages }, config("a"));
    await graph.invoke({ input: { message: "ho" }, messages }, config("b"));
    expect(model.read(0)).toEqual(["human: hi"]);
    expect(model.read(1)).toEqual(["human: hi", "human: ho"]);
  });

  it("refuses messages without a new one from a person", async () => {
    const { runtime } = await testRuntime(["one"]);
    const graph = await compileAgent(agent, runtime);
    const thread = { configurable: { thread_id: "t" } };
    await graph.invoke({ input: { message: "hi" } }, thread);
    await expect(graph.invoke({ messages: [] }, thread)).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  it("feeds a reply without call or answer back and goes on", async () => {
    const { runtime, model } = await testRuntime(["", "Here."]);
    const { steps, output } = await executeAgent(agent, { message: "hi" }, { runtime });
    expect(steps.map((s) => s.next_action)).toEqual(["continue", "finish"]);
    expect(model.read(1)[1]).toBe(
      "human: Your last reply held neither a tool call nor an answer. Call a tool, or give the final answer.",
    );
    expect(output).toEqual({ message: "Here." });
  });

  it("ends an attempt after three replies with neither action nor answer", async () => {
    const { runtime } = await testRuntime(Array.from({ length: 20 }, () => ""));
    const once = defineAgent({ name: "once", execution_config: { max_attempts: 1 } });
    const result = await executeAgent(once, { message: "hi" }, { runtime });
    expect(result.status).toBe("FAILED");
    expect(result.failure?.cause).toBe("attempts_exhausted");
    expect(result.attempts).toHaveLength(1);
  });

  it("turns every failure of a tool into an outcome that the model reads", async () => {
    const broken = defineAgent({
      name: "broken",
      tools: [
        echo,
        defineTool({
          name: "breaks",
          description: "Always throws.",
          input_schema: z.object({}),
          handler: () => {
            throw new Error("disk on fire");
          },
        }),
      ],
    });
    const { runtime, model } = await testRuntime([
      {
        calls: [
          { name: "breaks", args: {} },
          { name: "ecko", args: { text: "a" } },
          { name: "echo", args: { text: 7 } },
        ],
      },
      "I give up.",
    ]);
    const { steps, status } = await executeAgent(broken, { message: "go" }, { runtime });
    expect(status).toBe("COMPLETED");
    expect(steps[0]?.tool_results.map((r) => r.outcome)).toEqual(["error", "error", "error"]);
    const [, , thrown, unknown, invalid] = model.read(1);
    expect(thrown).toContain("disk on fire");
    expect(unknown).toMatch(/echo.*breaks|breaks.*echo/s);
    expect(invalid).toContain("text");
  });

  it("answers from what is known when the steps run out, marked incomplete", async () => {
    const call = (text: string) => ({ calls: [{ name: "echo", args: { text } }] });
    const { runtime, model } = await testRuntime([call("1"), call("2"), "Known so far: 1 and 2."]);
    const short = defineAgent({
      name: "short",
      tools: [echo],
      execution_config: { max_iterations: 2 },
    });
    const result = await executeAgent(short, { message: "go" }, { runtime });
    expect(result).toMatchObject({
      status: "COMPLETED",
      incomplete: true,
      output: { message: "Known so far: 1 and 2." },
    });
    expect(model.requests[2]?.tools).toBeUndefined();
  });

  it("never meets LangGraph's recursion limit", async () => {
    const script = Array.from({ length: 90 }, (_, i) => ({
      calls: [{ name: "echo", args: { text: String(i) } }],
    }));
    const { runtime } = await testRuntime([...script, "done"]);
    const long = defineAgent({
      name: "long",
      tools: [echo],
      execution_config: { max_iterations: 100 },
    });
    const result = await executeAgent(long, { message: "go" }, { runtime });
    expect(result.steps).toHaveLength(91);
  });

  it("gives a repeated call id a new one, so that results stay with their calls", async () => {
    const call = { calls: [{ id: "call_0", name: "echo", args: { text: "a" } }] };
    const other = { calls: [{ id: "call_0", name: "echo", args: { text: "b" } }] };
    const { runtime } = await testRuntime([call, other, "done"]);
    const { steps } = await executeAgent(agent, { message: "go" }, { runtime });
    const ids = steps.flatMap((s) => s.tool_results.map((r) => r.id));
    expect(new Set(ids).size).toBe(2);
  });

  it("refuses tools that tool rails do not allow and calls over the turn's limit", async () => {
    const railed = defineAgent({
      name: "railed",
      tools: [echo, "calculator"],
      guardrail_config: { tool_rails: { max_calls_per_turn: 2, allowed_tools: ["echo"] } },
    });
    const { runtime, model } = await testRuntime([
      {
        calls: [
          { name: "calculator", args: { expression: "1+1" } },
          { name: "echo", args: { text: "a" } },
          { name: "echo", args: { text: "b" } },
        ],
      },
      "done",
    ]);
    const { steps } = await executeAgent(railed, { message: "go" }, { runtime });
    expect(model.requests[0]?.tools?.map((t) => t.name)).toEqual(["echo", "note_step"]);
    expect(steps[0]?.tool_results.map((r) => r.outcome)).toEqual(["error", "success", "error"]);
    expect(steps[0]?.tool_results[2]?.error).toContain("max_calls_per_turn");
  });
});

describe("the text form", () => {
  it("serves models without native tool calls", async () => {
    const { runtime, model } = await testRuntime(
      [
        'Thought: I should echo.\nAction: echo\nAction Input: {"text": "a"}',
        "Thought: I have it.\nFinal Answer: It is a.",
      ],
      { toolCalling: false },
    );
    const { output, steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(output).toEqual({ message: "It is a." });
    expect(steps[0]).toMatchObject({ thought: "I should echo.", next_action: "use_tools" });
    expect(model.requests[0]?.messages[0]?.text).toContain("echo");
    expect(model.read(1).slice(-2)).toEqual([
      'ai: Thought: I should echo.\nAction: echo\nAction Input: {"text":"a"}',
      "human: Observation: a",
    ]);
  });

  it("feeds malformed output back as an observation", async () => {
    const { runtime, model } = await testRuntime(
      ["Action Input: 7", "Thought: ok\nFinal Answer: fine"],
      { toolCalling: false },
    );
    const { status, steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(status).toBe("COMPLETED");
    expect(steps[0]?.problem).not.toBe("");
    expect(model.read(1).at(-1)).toBe(`human: ${steps[0]?.problem}`);
  });
});
