import { HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { Command, MemorySaver, Overwrite } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, executeAgent } from "../../../src/index.ts";
import type { GraphState } from "../../../src/state/channels.ts";
import { around, asker } from "../../helpers/nested-agents.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const thread = { configurable: { thread_id: "t" } };
const agent = defineAgent({
  name: "counts",
  execution_schema: z.object({ n: z.number() }),
  initialExecutionState: () => ({ n: 0 }),
});

async function ended() {
  const saver = new MemorySaver();
  const { runtime } = await testRuntime(["one", "two"], { checkpointer: saver });
  const graph = await compileAgent(agent, runtime);
  await executeAgent(agent, { message: "1" }, { runtime, threadId: "t" });
  const written = () => JSON.stringify([saver.storage, saver.writes]);
  const values = async () => (await graph.getState(thread)).values as GraphState;
  /** What a refused update says of each channel. */
  const refused = async (update: object, asNode = "finalize") => {
    const before = written();
    const thrown: unknown = await graph
      .updateState(thread, update, asNode)
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: "invalid_state_update", kind: "usage" });
    expect(written()).toBe(before);
    const { problems } = thrown as { problems: { channel: string; message: string }[] };
    return problems.map(({ channel, message }) => `${channel}: ${message}`);
  };
  return { graph, runtime, refused, values };
}

describe("updateState of a compiled graph", () => {
  it("refuses a summary that covers no turn or has no text", async () => {
    const { refused } = await ended();
    const summary = { text: "So far.", model: "m", at: "2026-01-01T00:00:00.000Z" };
    const covers = { turns: 1, steps: 0, messages: 0 };
    expect(await refused({ summary: { ...summary, covers: { ...covers, turns: 0 } } })).toEqual([
      "summary: covers.turns: Too small: expected number to be >=1",
    ]);
    expect(await refused({ summary: { ...summary, covers, text: "" } })).toEqual([
      "summary: text: Too small: expected string to have >=1 characters",
    ]);
  });

  it("refuses what no channel can hold, with every problem, and writes nothing", async () => {
    const { refused } = await ended();
    expect(
      await refused({
        turn_number: -1,
        status: "DONE",
        usage: { tokens_in: "many" },
        steps: [{ step_index: 0 }],
        branches: {},
        nodes: [],
      }),
    ).toEqual([
      "turn_number: Too small: expected number to be >=0",
      expect.stringMatching(/^status: Invalid option: expected one of "CREATED"/),
      "usage: tokens_in: Invalid input: expected number, received string",
      "steps: 0.turn_number: Invalid input: expected number, received undefined",
      "steps: 0.attempt_number: Invalid input: expected number, received undefined",
      "steps: 0.node: Invalid input: expected string, received undefined",
      "steps: 0.timestamp: Invalid input: expected string, received undefined",
      expect.stringMatching(/^steps: 0.mode/),
      expect.stringMatching(/^steps: and \d+ more$/),
      "branches: Invalid input",
      "nodes: Invalid input: expected record, received array",
    ]);
  });

  it("refuses what the agent's own schemas do", async () => {
    const { refused } = await ended();
    expect(
      await refused({
        execution: { n: "one" },
        input: { message: 1 },
        output: { text: "" },
        attempt: 7,
      }),
    ).toEqual([
      "execution: n: Invalid input: expected number, received string",
      "input: message: Invalid input: expected string, received number",
      "output: message: Invalid input: expected string, received undefined",
      'output: value: Unrecognized key: "text"',
      "attempt: Invalid input: expected record, received number",
    ]);
  });

  it("refuses tiers that are not JSON", async () => {
    const { refused } = await ended();
    const items = [{ when: new Date(0) }];
    expect(
      await refused({ execution: { n: 1, items }, attempt: new Overwrite({ total: 10n }) }),
    ).toEqual([
      "execution: execution.items[0].when is a Date, which is not JSON",
      "attempt: attempt.total is a bigint, which is not JSON",
    ]);
  });

  it("refuses a channel that is not there, and says which was meant", async () => {
    const { refused, graph } = await ended();
    expect(await refused({ mesages: [] })).toEqual(["mesages: there is no such channel"]);
    await expect(graph.updateState(thread, { mesages: [] })).rejects.toThrow(
      'The state cannot be updated like this: mesages: there is no such channel (did you mean "messages"?). Nothing was written.',
    );
  });

  it("refuses messages that cannot be read or are not there", async () => {
    const { refused } = await ended();
    expect(await refused({ messages: [{ what: 1 }] })).toHaveLength(1);
    expect(await refused({ messages: [new RemoveMessage({ id: "none" })] })).toEqual([
      "messages: Cannot remove message 'none': no such message. Remove ids that are in messages.",
    ]);
  });

  it("takes what nodes write, also as a command, as pairs and past a reducer", async () => {
    const { graph, values } = await ended();
    await graph.updateState(thread, { nodes: { a: 1 }, execution: { n: 1 } }, "finalize");
    const command = new Command({ update: { usage: { llm_calls: 1 } } });
    await graph.updateState(thread, command, "finalize");
    const pairs = new Command({ update: [["nodes", { b: 2 }]] });
    await graph.updateState(thread, pairs, "finalize");
    const message = new HumanMessage({ content: "only", id: "m" });
    await graph.updateState(thread, { messages: new Overwrite([message]) }, "finalize");
    const { nodes, execution, usage, messages } = await values();
    expect([nodes, execution, usage.llm_calls]).toEqual([{ a: 1, b: 2 }, { n: 1 }, 2]);
    expect(messages.map(({ text }) => text)).toEqual(["only"]);
  });

  it("is checked in graphs made by withConfig and in agents inside", async () => {
    const saver = new MemorySaver();
    const { runtime } = await testRuntime(["one", "two"], { checkpointer: saver });
    const graph = await compileAgent(around("top", asker), runtime);
    await graph.invoke({ input: { message: "go" } }, thread);
    const [task] = (await graph.getState(thread, { subgraphs: true })).tasks;
    const inside = (task!.state as { config: typeof thread }).config;
    await expect(graph.updateState(inside, { status: "DONE" }, "draft")).rejects.toMatchObject({
      code: "invalid_state_update",
    });
    await expect(
      graph.withConfig({ tags: ["x"] }).updateState(thread, { status: "DONE" }),
    ).rejects.toMatchObject({ code: "invalid_state_update" });
    await graph.updateState(inside, { nodes: { draft: { text: "new" } } }, "draft");
  });

  it("does not undo how a turn has ended", async () => {
    const { graph, refused } = await ended();
    await graph.updateState(thread, { status: "FAILED" }, "finalize");
    expect(await refused({ status: "EXECUTING" })).toEqual([
      "status: the turn has ended FAILED, and stays so",
    ]);
  });
});
