import { describe, expect, it } from "vitest";
import { defineAgent, executeAgent } from "../../src/index.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { StampingSaver } from "../helpers/stamping-saver.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { MemorySaver } from "@langchain/langgraph";

const asks = (prompt: string) =>
  defineAgent({
    name: "asks",
    workflow_graph: {
      entry_point: "ask",
      nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt } }],
      edges: [{ from: "ask", to: "END" }],
      output: { message: "${nodes.ask.value}" },
    },
  });

async function waiting(saver: MemorySaver = new StampingSaver(), script: ScriptedReply[] = []) {
  const { runtime } = await testRuntime(script, { checkpointer: saver });
  const options = { runtime, threadId: "t" };
  await executeAgent(asks("Who?"), { message: "go" }, options);
  return { options, saver };
}

describe("a turn that is resumed under another definition", () => {
  it("says what has changed, and writes nothing", async () => {
    const { options, saver } = await waiting();
    const before = JSON.stringify([saver.storage, saver.writes]);
    await expect(
      executeAgent(asks("Whose?"), null, { ...options, answer: "Ada" }),
    ).rejects.toMatchObject({
      code: "definition_changed",
      kind: "usage",
      threadId: "t",
      changes: [
        {
          path: "workflow_graph.nodes[ask].config.prompt",
          kind: "changed",
          before: '"Who?"',
          after: '"Whose?"',
        },
      ],
      message:
        'The agent\'s definition has changed since thread "t" stopped: workflow_graph.nodes[ask].config.prompt: "Who?" → "Whose?". Go on with the definition that it was begun under, or pass acceptChanges: true to go on with this one.',
    });
    await expect(executeAgent(asks("Whose?"), null, options)).rejects.toMatchObject({
      code: "definition_changed",
    });
    expect(JSON.stringify([saver.storage, saver.writes])).toBe(before);
  });

  it("goes on when that is accepted, and is of the new definition from then on", async () => {
    const { options } = await waiting();
    const accepted = await executeAgent(asks("Whose?"), null, {
      ...options,
      answer: "Ada",
      acceptChanges: true,
    });
    expect(accepted.output).toEqual({ message: "Ada" });
    await executeAgent(asks("Whose?"), { message: "again" }, options);
    const after = await executeAgent(asks("Whose?"), null, { ...options, answer: "Bo" });
    expect(after.output).toEqual({ message: "Bo" });
  });

  it("goes on when it is the same, and when a new turn begins", async () => {
    const { options } = await waiting();
    const same = await executeAgent(asks("Who?"), null, { ...options, answer: "Ada" });
    expect(same.output).toEqual({ message: "Ada" });
    const asked = await executeAgent(asks("Whose?"), { message: "again" }, options);
    expect(asked.interrupts[0]?.prompt).toBe("Whose?");
  });

  it("goes on where the checkpoint does not say, and says that nothing is kept where it is not", async () => {
    const { options } = await waiting(new MemorySaver());
    const after = await executeAgent(asks("Whose?"), null, { ...options, answer: "Ada" });
    expect(after.output).toEqual({ message: "Ada" });

    const forgetful = new StampingSaver();
    const other = await waiting(forgetful);
    forgetful.documents.clear();
    await expect(
      executeAgent(asks("Whose?"), null, { ...other.options, answer: "Ada" }),
    ).rejects.toThrow("what it was is not kept");
  });
});
