import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { AgentDefinition } from "../../src/index.ts";
import type { GraphState } from "../../src/state/channels.ts";
import { MemoryJournal } from "../helpers/memory-journal.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

let made: string[] = [];
beforeEach(() => {
  made = [];
});

const text = z.object({ text: z.string() });
const send = defineTool({
  name: "send",
  description: "Sends.",
  input_schema: text,
  handler: (input) => {
    made.push(`send ${input.text}`);
    return `sent ${input.text}`;
  },
});
const store = defineTool({
  name: "store",
  description: "Stores.",
  input_schema: text,
  execution: { idempotent: true },
  handler: (input) => {
    made.push(`store ${input.text}`);
    return `stored ${input.text}`;
  },
});
interface Notes {
  readonly notes: readonly string[];
}

const note = defineTool<Notes, object, z.output<typeof text>>({
  name: "note",
  description: "Notes.",
  input_schema: text,
  persistence: "execution",
  handler: (state, input) => {
    made.push(`note ${input.text}`);
    const notes = [...state.execution.notes, input.text];
    return { newState: { ...state, execution: { notes } }, toolResult: notes.length };
  },
});
const agent = defineAgent({
  name: "clerk",
  initialExecutionState: () => ({ notes: ["first"] }),
  tools: [send, store, note],
});

const crash = new Error("the process ended");
const call = (name: string, value: string) => ({
  name,
  args: { text: value },
  id: `${name}-${value}`,
});

/** A thread whose process ends and begins anew with every run, on one saver and one journal. */
function crashingThread<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
) {
  const journal = new MemoryJournal();
  const checkpointer = new MemorySaver();
  const run = async (
    script: readonly ScriptedReply[],
    options: { input?: object | null; crashAt?: "begin" | "end"; signal?: AbortSignal } = {},
  ) => {
    const { runtime, events, onEvent } = await testRuntime(script, { checkpointer });
    journal.failNext = options.crashAt ? { at: options.crashAt, error: crash } : null;
    const result = await executeAgent(definition as AgentDefinition, options.input ?? null, {
      runtime: { ...runtime, journal },
      threadId: "t",
      onEvent,
      ...(options.signal && { signal: options.signal }),
    });
    return { ...result, events };
  };
  return {
    journal,
    checkpointer,
    run,
    start: (...calls: object[]) =>
      run([{ calls: calls as never }], { input: { message: "go" }, crashAt: "end" }),
  };
}

describe("after a crash", () => {
  it("a call that had ended is not made again, and its result and state are used", async () => {
    const thread = crashingThread(agent);
    const { journal } = thread;
    const end = journal.end.bind(journal);
    // Both calls end; the process ends before the checkpoint that would have them.
    let ended = 0;
    journal.end = async (...given) => {
      await end(...given);
      ended += 1;
      if (ended === 2) throw crash;
    };
    const calls = [call("note", "a"), call("send", "b")];
    await expect(thread.run([{ calls }], { input: { message: "go" } })).rejects.toThrow(crash);
    journal.end = end;
    const result = await thread.run(["done"]);
    expect(made.toSorted()).toEqual(["note a", "send b"]);
    expect(result).toMatchObject({ status: "COMPLETED", output: { message: "done" } });
    expect(result.state.execution).toEqual({ notes: ["first", "a"] });
    expect(
      result.steps[0]?.tool_results.map(({ result: value, recovered }) => [value, recovered]),
    ).toEqual([
      [2, "recorded"],
      ["sent b", "recorded"],
    ]);
  });

  it("a call that was under way has an unknown outcome, which the model reads", async () => {
    const thread = crashingThread(agent);
    await expect(thread.start(call("send", "a"))).rejects.toThrow(crash);
    const read: string[] = [];
    const result = await thread.run([
      ({ messages }) => {
        read.push(messages.at(-1)?.text ?? "");
        return new AIMessage("I do not know whether it was sent.");
      },
    ]);
    expect(read).toEqual([expect.stringMatching(/^error: Outcome unknown: tool "send" was /)]);
    expect(made).toEqual(["send a"]);
    expect(result.status).toBe("COMPLETED");
  });

  it("a call that was under way is made again when its tool is idempotent", async () => {
    const thread = crashingThread(agent);
    await expect(thread.start(call("store", "a"))).rejects.toThrow(crash);
    const result = await thread.run(["done"]);
    expect(made).toEqual(["store a", "store a"]);
    expect(result.steps[0]?.tool_results[0]).toMatchObject({
      result: "stored a",
      recovered: "repeated",
    });
    expect(
      result.events.flatMap((event) => (event.type === "tool_result" ? [event.result] : [])),
    ).toEqual(result.steps[0]?.tool_results);
  });

  it("a call that could not be written down was not made, and is made now", async () => {
    const thread = crashingThread(agent);
    await expect(
      thread.run([{ calls: [call("send", "a")] }], { input: { message: "go" }, crashAt: "begin" }),
    ).rejects.toThrow(crash);
    expect(made).toEqual([]);
    const result = await thread.run(["done"]);
    expect(made).toEqual(["send a"]);
    expect(result.steps[0]?.tool_results[0]).not.toHaveProperty("recovered");
  });

  it("each call of a turn counts once, however often the process ends", async () => {
    const thread = crashingThread(agent);
    await expect(thread.start(call("store", "a"), call("store", "b"))).rejects.toThrow(crash);
    await expect(thread.run([], { crashAt: "end" })).rejects.toThrow(crash);
    const result = await thread.run(["done"]);
    expect(result.usage).toMatchObject({ tool_calls: 2 });
    expect(result.steps[0]?.tool_results.map(({ id }) => id)).toEqual(["store-a", "store-b"]);
  });
});

describe("the calls of a workflow", () => {
  const flow = (condition?: string) =>
    defineAgent({
      name: "flow",
      tools: [send, store],
      workflow_graph: {
        entry_point: "think",
        nodes: [
          { name: "think", type: "llm", config: { prompt: "Think." } },
          { name: "act", type: "tool" },
          { name: "named", type: "tool", config: { tool: "send", args: { text: "named" } } },
          { name: "tell", type: "llm", config: { prompt: "It ended as ${nodes.named.outcome}." } },
        ],
        edges: [
          { from: "think", to: "act" },
          { from: "act", to: "named" },
          { from: "named", to: "tell", ...(condition !== undefined && { condition }) },
          { from: "tell", to: "END" },
        ],
      },
    });

  it("are not made again after a crash, whether a model or the definition asked for them", async () => {
    const thread = crashingThread(flow());
    const { journal } = thread;
    const end = journal.end.bind(journal);
    journal.end = async (key, ended) => {
      await end(key, ended);
      throw crash;
    };
    const input = { message: "go" };
    const calls = [call("send", "a")];
    await expect(thread.run([{ calls }], { input })).rejects.toThrow(crash);
    await expect(thread.run([])).rejects.toThrow(crash);
    const result = await thread.run(["told"]);
    expect(result.output).toEqual({ message: "told" });
    expect(made).toEqual(["send a", "send named"]);
    const results = result.steps.flatMap(({ tool_results }) => tool_results);
    expect(results.map(({ recovered }) => recovered)).toEqual(["recorded", "recorded"]);
  });

  it("fail the turn where their outcome is unknown and no edge asks for it, instead of another attempt", async () => {
    const thread = crashingThread(flow());
    await expect(thread.start(call("send", "a"))).rejects.toThrow(crash);
    await expect(thread.run([], { crashAt: "end" })).rejects.toThrow(crash);
    const result = await thread.run([]);
    expect(result).toMatchObject({ status: "FAILED", failure: { cause: "unknown_outcome" } });
    expect(result.failure?.message).toMatch(/^Node "named" does not call its tool again/);
    expect(result.steps.at(-1)?.tool_results).toMatchObject([{ recovered: "unknown" }]);
    expect(made).toEqual(["send a", "send named"]);
  });

  it("go on where an edge asks for their outcome", async () => {
    const thread = crashingThread(flow("nodes.named.outcome != ''"));
    await expect(thread.start(call("send", "a"))).rejects.toThrow(crash);
    await expect(thread.run([], { crashAt: "end" })).rejects.toThrow(crash);
    const result = await thread.run(["told"]);
    expect(result.output).toEqual({ message: "told" });
    expect(made).toEqual(["send a", "send named"]);
  });
});

describe("the calls of an agent inside of another", () => {
  const inner = defineAgent({ name: "inner", tools: [send] });
  const outer = defineAgent({
    name: "outer",
    agents: [inner],
    tools: [send],
    workflow_graph: {
      entry_point: "first",
      nodes: [
        { name: "first", type: "tool", config: { tool: "send", args: { text: "outer" } } },
        { name: "ask", type: "agent", config: { agent: "inner", input: { message: "go" } } },
      ],
      edges: [
        { from: "first", to: "ask" },
        { from: "ask", to: "END" },
      ],
    },
  });

  it("belong to a run of their own", async () => {
    const thread = crashingThread(outer);
    const result = await thread.run([{ calls: [call("send", "a")] }, "done"], {
      input: { message: "go" },
    });
    expect(result.status).toBe("COMPLETED");
    const keys = [...thread.journal.entries.keys()].map((key) => JSON.parse(key) as string[]);
    expect(keys.map(([threadId]) => threadId)).toEqual(["t", "t"]);
    expect(new Set(keys.map(([, run]) => run)).size).toBe(2);
  });

  it("are not made again after a crash either", async () => {
    const thread = crashingThread(outer);
    const { journal } = thread;
    const end = journal.end.bind(journal);
    journal.end = async (key, ended) => {
      await end(key, ended);
      if (key.callId === "send-a") throw crash;
    };
    await expect(
      thread.run([{ calls: [call("send", "a")] }], { input: { message: "go" } }),
    ).rejects.toThrow(crash);
    journal.end = end;
    const result = await thread.run(["done"]);
    expect(result.status).toBe("COMPLETED");
    expect(made).toEqual(["send outer", "send a"]);
  });
});

describe("a turn that was cancelled", () => {
  it("does not know what came of a call that was cut off, and keeps what had ended", async () => {
    const controller = new AbortController();
    const hang = defineTool({
      name: "hang",
      description: "Hangs.",
      input_schema: text,
      handler: () => {
        made.push("hang");
        return new Promise(() => {});
      },
    });
    const thread = crashingThread(defineAgent({ name: "clerk", tools: [send, hang] }));
    const { journal } = thread;
    const end = journal.end.bind(journal);
    journal.end = async (key, ended) => {
      await end(key, ended);
      controller.abort();
    };
    const cancelled = await thread.run([{ calls: [call("hang", "a"), call("send", "b")] }], {
      input: { message: "go" },
      signal: controller.signal,
    });
    expect(cancelled.status).toBe("CANCELLED");
    const result = await thread.run(["done"]);
    expect(made).toEqual(["hang", "send b"]);
    expect(result.steps[0]?.tool_results).toMatchObject([
      { outcome: "error", recovered: "unknown" },
      { result: "sent b", recovered: "recorded" },
    ]);
  });
});

describe("the run of a turn", () => {
  const runs = async (saver: MemorySaver) => {
    const { runtime } = await testRuntime([], { checkpointer: saver });
    const graph = await compileAgent(agent, runtime);
    const states: GraphState[] = [];
    for await (const { values } of graph.getStateHistory({ configurable: { thread_id: "t" } })) {
      states.push(values as GraphState);
    }
    return states.flatMap(({ turn, turn_number: number }) =>
      turn === undefined ? [] : [[turn.run, number] as const],
    );
  };

  it("is kept when it goes on after a crash, and is another one's in the next turn", async () => {
    const thread = crashingThread(agent);
    await expect(thread.start(call("send", "a"))).rejects.toThrow(crash);
    await thread.run(["done"]);
    await thread.run(["again"], { input: { message: "more" } });
    const turnOfRun = new Map(await runs(thread.checkpointer));
    expect([...turnOfRun.values()]).toEqual([1, 0]);
  });
});
