import { describe, expect, it } from "vitest";
import { workflowProblemsOf } from "../../helpers/definition-problems.ts";

/** The problems of one node with this config, and of other parts beside it. */
const problemsOf = (
  type: string,
  config: Record<string, unknown>,
  parts: Record<string, unknown> = {},
) => workflowProblemsOf({ nodes: [{ name: "a", type, config }] }, { tools: ["t"], ...parts });

const messageAndPlan = {
  input_schema: {
    type: "object",
    properties: { message: { type: "string" }, plan: { type: "object" } },
  },
};

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
      "workflow_graph.nodes[0].config.concurrency: of no use next to tool, which makes one call; leave it out",
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

describe("a planner", () => {
  const workers = ["writer", "counter"];

  it("may say nothing but its workers, and has a default for the rest", () => {
    expect(problemsOf("planner", { workers })).toEqual([]);
    const said = { task: "${input.message}", plan: "${input.plan}", success_criteria: "Short." };
    expect(problemsOf("planner", { workers, ...said }, messageAndPlan)).toEqual([]);
  });

  it("needs workers, each named once", () => {
    expect(problemsOf("planner", {})).toEqual([
      "workflow_graph.nodes[0].config: a planner needs workers: name agents or code workers in workers",
    ]);
    expect(problemsOf("planner", { workers: [] })).toEqual([
      "workflow_graph.nodes[0].config.workers: expected at least 1 entry (found an empty list)",
    ]);
    expect(problemsOf("planner", { workers: [...workers, "writer"] })).toEqual([
      'workflow_graph.nodes[0].config.workers[2]: "writer" is already named by workers[0]',
    ]);
  });

  it("has a plan that is a map, or a template that gives one", () => {
    const subtasks = [{ id: "a", description: "${input.message}", dependencies: [] }];
    expect(problemsOf("planner", { workers, plan: { subtasks } })).toEqual([]);
    const problem =
      "workflow_graph.nodes[0].config.plan: expected a map with subtasks, or a template that gives one";
    expect(problemsOf("planner", { workers, plan: "first a, then b" })).toEqual([
      `${problem} (found "first a, then b")`,
    ]);
    expect(problemsOf("planner", { workers, plan: subtasks })).toEqual([
      `${problem} (found a list)`,
    ]);
    expect(problemsOf("planner", { workers, plan: null })).toEqual([`${problem} (found null)`]);
  });

  it("has limits within bounds", () => {
    const config = { workers, max_subtasks: 0, max_parallel: 257, max_depth: 11, retries: -1 };
    expect(problemsOf("planner", { ...config, timeout_seconds: 0, on_failure: "retry" })).toEqual([
      "workflow_graph.nodes[0].config.max_subtasks: expected at least 1 (found 0)",
      "workflow_graph.nodes[0].config.max_parallel: expected at most 256 (found 257)",
      "workflow_graph.nodes[0].config.max_depth: expected at most 10 (found 11)",
      "workflow_graph.nodes[0].config.timeout_seconds: expected more than 0 (found 0)",
      "workflow_graph.nodes[0].config.retries: expected at least 0 (found -1)",
      'workflow_graph.nodes[0].config.on_failure: not one of the allowed values (found "retry"; allowed: replan, partial, fail)',
    ]);
  });
});
