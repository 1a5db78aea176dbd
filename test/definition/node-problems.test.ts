import { describe, expect, it } from "vitest";
import { workflowProblemsOf } from "../helpers/definition-problems.ts";

/** The problems of one node with this config. */
const problemsOf = (type: string, config: Record<string, unknown>) =>
  workflowProblemsOf({ nodes: [{ name: "a", type, config }] }, { tools: ["t"] });

const choices = [
  { name: "question", description: "It asks." },
  { name: "order", description: "It orders." },
];

describe("a router", () => {
  it("has rules, choices or both", () => {
    const rules = [{ when: "steps.size() > 0", choice: "anything" }];
    expect(problemsOf("router", { rules })).toEqual([]);
    expect(problemsOf("router", { rules, default: "any" })).toEqual([]);
    expect(problemsOf("router", { choices, default: "order", prompt: "?", model: "a:b" })).toEqual(
      [],
    );
    expect(problemsOf("router", { rules, choices })).toEqual([]);
    expect(problemsOf("router", { default: "any" })).toEqual([
      "workflow_graph.nodes[0].config: a router needs rules, or choices for a model",
    ]);
  });

  it("names each choice once, and one of them as its default", () => {
    const twice = [...choices, { name: "question", description: "Again." }];
    expect(problemsOf("router", { choices: twice, default: "ordr" })).toEqual([
      'workflow_graph.nodes[0].config.choices[2].name: "question" is already the name of choices[0]',
      'workflow_graph.nodes[0].config.default: not one of the choices (found "ordr"; allowed: question, order; did you mean "order"?)',
    ]);
  });

  it("asks a model only where it has choices", () => {
    const rules = [{ when: "true", choice: "x" }];
    expect(problemsOf("router", { rules, prompt: "Which?", model: "a:b" })).toEqual([
      "workflow_graph.nodes[0].config.prompt: of no use without choices; leave it out",
      "workflow_graph.nodes[0].config.model: of no use without choices; leave it out",
    ]);
  });
});

describe("a human node", () => {
  it("may have all that its kind has a use for", () => {
    const timeout = { timeout_seconds: 60, on_timeout: "approve" };
    expect(problemsOf("human", { kind: "approval", proposed: "x", ...timeout })).toEqual([]);
    expect(problemsOf("human", { kind: "edit", proposed: ["x"], timeout_seconds: 1 })).toEqual([]);
    expect(problemsOf("human", { kind: "input", schema: { type: "integer" } })).toEqual([]);
  });

  it("proposes nothing where something is asked for", () => {
    expect(problemsOf("human", { kind: "input", proposed: null })).toEqual([
      "workflow_graph.nodes[0].config.proposed: of no use with kind input; use kind edit",
    ]);
  });

  it("says what no answer means only where an answer may come too late", () => {
    expect(problemsOf("human", { kind: "edit", on_timeout: "reject" })).toEqual([
      "workflow_graph.nodes[0].config.on_timeout: of no use without timeout_seconds",
    ]);
  });

  it("does not approve where something is asked for", () => {
    const config = { kind: "input", timeout_seconds: 5, on_timeout: "approve" };
    expect(problemsOf("human", config)).toEqual([
      "workflow_graph.nodes[0].config.on_timeout: kind input has nothing to approve; use reject or fail",
    ]);
  });

  it("has a schema that can be checked", () => {
    expect(problemsOf("human", { kind: "input", schema: { type: "sting" } })).toEqual([
      'workflow_graph.nodes[0].config.schema.type: not one of the types (found "sting"; allowed: object, array, string, number, integer, boolean, null; did you mean "string"?)',
    ]);
  });
});

describe("a tool node", () => {
  it("has args for a tool that it names, and concurrency for calls that it is given", () => {
    expect(problemsOf("tool", { tool: "t", args: { a: 1 } })).toEqual([]);
    expect(problemsOf("tool", { tool: "t", args: {}, concurrency: 2 })).toEqual([
      "workflow_graph.nodes[0].config.concurrency: of no use beside tool, which makes one call; leave it out",
    ]);
    expect(problemsOf("tool", { args: {} })[0]).toBe(
      "workflow_graph.nodes[0].config.args: args need the tool that they are for in tool",
    );
  });
});

describe("an llm node", () => {
  it("has an output schema of any type that can be checked", () => {
    expect(problemsOf("llm", { output_schema: { type: "number", minimum: 1 } })).toEqual([]);
    expect(
      problemsOf("llm", { output_schema: { type: "array", items: { not: {}, if: {} } } }),
    ).toEqual([
      "workflow_graph.nodes[0].config.output_schema.items.if: this keyword is not checked: use anyOf",
    ]);
  });
});
