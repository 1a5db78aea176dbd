import { z } from "zod";
import { describe, expect, it } from "vitest";
import { definitionChanges, stampDefinition } from "../../src/definition/definition-hash.ts";
import {
  defineAgent,
  defineTool,
  defineWorker,
  type AgentDefinition,
  type CodeWorker,
} from "../../src/index.ts";

const send = (description: string) =>
  defineTool({ name: "send", description, input_schema: z.object({}), handler: () => "sent" });

function documentOf(agent: AgentDefinition) {
  return stampDefinition(agent, { tools: agent.tools, agents: new Map() }).document;
}

const ask = (prompt: string) =>
  defineAgent({
    name: "asks",
    workflow_graph: {
      entry_point: "ask",
      nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt } }],
      edges: [{ from: "ask", to: "END" }],
    },
  }) as AgentDefinition;

describe("the changes of a definition", () => {
  it("are none when it is the same, also after it was stored as JSON", () => {
    const document = documentOf(ask("Who?"));
    expect(definitionChanges(JSON.parse(JSON.stringify(document)), document)).toEqual([]);
  });

  it("name the part of it and what it was", () => {
    const texts = definitionChanges(documentOf(ask("Who?")), documentOf(ask("Whose?"))).map(
      ({ text }) => text,
    );
    expect(texts).toEqual(['workflow_graph.nodes[ask].config.prompt: "Who?" → "Whose?"']);
  });

  it("tell tools that came and went from tools that changed", () => {
    const before = defineAgent({ name: "a", tools: [send("Sends.")] }) as AgentDefinition;
    const after = defineAgent({ name: "a", tools: [send("Sends it.")] }) as AgentDefinition;
    const none = defineAgent({ name: "a" }) as AgentDefinition;
    expect(
      definitionChanges(documentOf(before), documentOf(after)).map(({ text }) => text),
    ).toEqual(['tools.send.description: "Sends." → "Sends it."']);
    const [removed, ...more] = definitionChanges(documentOf(before), documentOf(none));
    expect([removed?.path, removed?.kind, more]).toEqual(["tools.send", "removed", []]);
  });
});

describe("the changes of code workers", () => {
  const lead = (...workers: readonly CodeWorker[]) =>
    documentOf(defineAgent({ name: "lead", workers }));
  const counter = (description: string) =>
    defineWorker({ name: "counter", description, run: () => 1 });

  it("are named, where what they are good at is another", () => {
    const texts = definitionChanges(lead(counter("Counts.")), lead(counter("Adds."))).map(
      ({ text }) => text,
    );
    expect(texts).toEqual(['workers.counter: "Counts." → "Adds."']);
    expect(definitionChanges(lead(counter("Counts.")), lead())).toMatchObject([
      { path: "workers", kind: "removed" },
    ]);
    expect(definitionChanges(lead(), lead())).toEqual([]);
  });
});
