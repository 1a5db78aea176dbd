import type { RunnableConfig } from "@langchain/core/runnables";
import { describe, expect, it } from "vitest";
import type { AgentSpec } from "../../src/definition/schema/agent.ts";
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

/** Says of every checkpoint that it was made under a document that lacks a key, and has another hash for that. */
class OlderSaver extends StampingSaver {
  #older: unknown;

  forgetKey(key: string): void {
    const document = structuredClone([...this.documents.values()][0]) as { spec: object };
    Reflect.deleteProperty(document.spec, key);
    this.#older = document;
  }

  override async getTuple(config: RunnableConfig) {
    const tuple = await super.getTuple(config);
    if (this.#older === undefined || tuple?.metadata === undefined) return tuple;
    return { ...tuple, metadata: { ...tuple.metadata, definition_hash: "older" } };
  }

  override async definitionOf(hash: string): Promise<unknown> {
    return hash === "older" ? this.#older : super.definitionOf(hash);
  }
}

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
        'The agent\'s definition has changed since thread "t" stopped: workflow_graph.nodes[ask].config.prompt: "Who?" → "Whose?". Resume with the definition that it began with, or pass acceptChanges: true to resume with this one.',
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

  it("goes on when it was kept by a version that knew fewer keys", async () => {
    const saver = new StampingSaver();
    const { options } = await waiting(saver);
    const [hash, document] = [...saver.documents][0]!;
    const { guardrail_config: _unknown, ...spec } = (document as { spec: AgentSpec }).spec;
    saver.documents.set(hash, { ...(document as object), spec });
    await expect(
      executeAgent(asks("Whose?"), null, { ...options, answer: "Ada" }),
    ).rejects.toMatchObject({ changes: [{ path: "workflow_graph.nodes[ask].config.prompt" }] });
    // As that version hashed it.
    const other = new OlderSaver();
    const before = await waiting(other);
    other.forgetKey("guardrail_config");
    const same = await executeAgent(asks("Who?"), null, { ...before.options, answer: "Ada" });
    expect(same.output).toEqual({ message: "Ada" });
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
    ).rejects.toThrow("the earlier definition is not stored");
  });
});
