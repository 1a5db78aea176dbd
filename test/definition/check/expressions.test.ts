import { describe, expect, it } from "vitest";
import { workflowProblemsOf } from "../../helpers/definition-problems.ts";

const answer = { name: "answer", type: "llm" };
const router = (when: string) => {
  return { name: "classify", type: "router", config: { rules: [{ when, choice: "x" }] } };
};
const ways = "classify > answer; answer > END";

describe("conditions", () => {
  const withCondition = (condition: string) => {
    const nodes = [router("true"), answer];
    const edges = [
      { from: "classify", to: "END", condition },
      { from: "classify", to: "answer" },
      { from: "answer", to: "END" },
    ];
    return workflowProblemsOf({ nodes, edges });
  };

  it.each([
    'nodes.classify.choice == "x"',
    "nodes.answer.tool_calls.size() > 0 || last.text.contains('a')",
    "execution.found.size() > 2 && attempt.draft != null",
    "attempt_number > 0 && usage.cost_usd < 0.5 && status == 'EXECUTING'",
    "usage.cost_usd != null && usage.cost_usd < 0.5 && usage.cached_tokens > usage.reasoning_tokens",
    "steps.exists(step, step.mode == 'deep')",
    "input.message != ''",
    "has(nodes.answer.output)",
  ])("take %s", (condition) => {
    expect(withCondition(condition)).toEqual([]);
  });

  it("are quoted with the place of what is unknown, and the nearest name", () => {
    expect(withCondition('nodes.clasify.choice == "x"')).toEqual([
      `workflow_graph.edges[0].condition: condition 'nodes.clasify.choice == "x"' at character 6: unknown field "clasify" of nodes, which has classify, answer (did you mean "classify"?)`,
    ]);
    expect(withCondition('inpt.message == ""')).toEqual([
      `workflow_graph.edges[0].condition: condition 'inpt.message == ""' at character 1: unknown variable "inpt", there are input, execution, attempt, attempt_number, nodes, last, steps, usage, status (did you mean "input"?)`,
    ]);
  });

  it("that do not parse, or are true of nothing, are refused", () => {
    expect(withCondition("steps.size() >")).toHaveLength(1);
    expect(withCondition("1 + 1")).toEqual([
      "workflow_graph.edges[0].condition: condition '1 + 1' at character 1: this gives a number, not true or false",
    ]);
  });

  it("know the input that the definition describes", () => {
    const input_schema = {
      type: "object",
      properties: { city: { type: "string" } },
      additionalProperties: false,
    };
    const nodes = [{ ...answer, config: { prompt: "${input.city} ${input.town}" } }];
    expect(workflowProblemsOf({ nodes }, { input_schema })).toEqual([
      `workflow_graph.nodes[0].config.prompt: template '\${input.city} \${input.town}' at character 22: unknown field "town" of input, which has city`,
    ]);
  });

  it("are not blamed for an input schema that is wrong", () => {
    const nodes = [{ ...answer, config: { prompt: "${input.town}" } }];
    const input_schema = { type: "object", propertes: {}, additionalProperties: false };
    expect(workflowProblemsOf({ nodes }, { input_schema })).toEqual([
      'input_schema.propertes: no keyword of JSON Schema (did you mean "properties"?)',
    ]);
  });
});

describe("rules and templates", () => {
  it("of a router are checked where they stand", () => {
    const config = {
      rules: [{ when: "steps.size()", choice: "x" }],
      choices: [{ name: "x", description: "X" }],
      prompt: "${txt}",
    };
    const nodes = [{ ...router("true"), config }, answer];
    expect(workflowProblemsOf({ nodes, ways })).toEqual([
      `workflow_graph.nodes[0].config.prompt: template '\${txt}' at character 3: unknown variable "txt", there are input, execution, attempt, attempt_number, nodes, last, steps, usage, status`,
      "workflow_graph.nodes[0].config.rules[0].when: rule 'steps.size()' at character 1: this gives a number, not true or false",
    ]);
  });

  it("are found deep in what a node is given", () => {
    const nodes = [
      {
        name: "search",
        type: "tool",
        config: { tool: "t", args: { query: { any: ["${last.txt}"] } } },
      },
      {
        name: "check",
        type: "human",
        config: { kind: "edit", prompt: "${a", proposed: { b: "${nodes.search.reslt}" } },
      },
      { name: "write", type: "agent", config: { agent: "b", input: { c: "${nodes.check.valu}" } } },
    ];
    const output = { message: ["${nodes.writ.output}"] };
    expect(workflowProblemsOf({ nodes, output }, { tools: ["t"] })).toEqual([
      `workflow_graph.nodes[0].config.args.query.any[0]: template '\${last.txt}' at character 7: unknown field "txt" of last, which has text, tool_calls (did you mean "text"?)`,
      `workflow_graph.nodes[1].config.prompt: template '\${a' at character 1: "\${" has no closing "}"`,
      `workflow_graph.nodes[1].config.proposed.b: template '\${nodes.search.reslt}' at character 15: unknown field "reslt" of nodes.search, which has result, outcome, error (did you mean "result"?)`,
      `workflow_graph.nodes[2].config.input.c: template '\${nodes.check.valu}' at character 14: unknown field "valu" of nodes.check, which has approved, value, reason, timed_out (did you mean "value"?)`,
      `workflow_graph.output.message[0]: template '\${nodes.writ.output}' at character 8: unknown field "writ" of nodes, which has search, check, write (did you mean "write"?)`,
    ]);
  });

  it("are found in a description that a person is asked with", () => {
    const human = { name: "check", type: "human", description: "Is ${lst.text} right?" };
    const nodes = [{ ...human, config: { kind: "approval" } }];
    expect(workflowProblemsOf({ nodes })).toEqual([
      `workflow_graph.nodes[0].description: template 'Is \${lst.text} right?' at character 6: unknown variable "lst", there are input, execution, attempt, attempt_number, nodes, last, steps, usage, status (did you mean "last"?)`,
    ]);
    const asked = [{ ...human, config: { kind: "approval", prompt: "Right?" } }];
    expect(workflowProblemsOf({ nodes: asked })).toEqual([]);
  });

  it("may read a node that something is wrong with", () => {
    const nodes = [
      { name: "search", type: "tol" },
      { ...answer, config: { prompt: "${nodes.search.whatever} ${nodes.serch.result}" } },
    ];
    expect(workflowProblemsOf({ nodes })).toEqual([
      'workflow_graph.nodes[0].type: not one of the allowed values (found "tol"; allowed: llm, tool, router, human, wait, agent, planner; did you mean "tool"?)',
      `workflow_graph.nodes[1].config.prompt: template '\${nodes.search.whatever} \${nodes.serch.result}' at character 33: unknown field "serch" of nodes, which has search, answer (did you mean "search"?)`,
    ]);
  });
});

describe("a planner", () => {
  const workers = ["writer"];
  const known = "which has status, output, failure, criteria_met, gaps, depth, plan, subtasks";

  it("has its templates checked", () => {
    const config = {
      workers,
      task: "${inpt.message}",
      plan: { subtasks: [{ id: "a", description: "${nodes.work.outpt}" }] },
      success_criteria: "${input.mesage}",
    };
    expect(workflowProblemsOf({ nodes: [{ name: "work", type: "planner", config }] })).toEqual([
      `workflow_graph.nodes[0].config.task: template '\${inpt.message}' at character 3: unknown variable "inpt", there are input, execution, attempt, attempt_number, nodes, last, steps, usage, status (did you mean "input"?)`,
      `workflow_graph.nodes[0].config.plan.subtasks[0].description: template '\${nodes.work.outpt}' at character 13: unknown field "outpt" of nodes.work, ${known} (did you mean "output"?)`,
      `workflow_graph.nodes[0].config.success_criteria: template '\${input.mesage}' at character 8: unknown field "mesage" of input, which has message (did you mean "message"?)`,
    ]);
  });

  it.each([
    "nodes.work.criteria_met",
    "nodes.work.criteria_met == null",
    "!nodes.work.criteria_met && nodes.work.depth > 1",
    "nodes.work.gaps.exists(gap, gap.contains('sources'))",
    'nodes.work.status == "COMPLETED" && nodes.work.failure == null',
    'nodes.work.subtasks.a.status == "done"',
    "nodes.work.plan.subtasks.size() > 3 && nodes.work.output.message != ''",
  ])("may be asked for %s", (condition) => {
    const nodes = [{ name: "work", type: "planner", config: { workers } }, answer];
    const edges = [
      { from: "work", to: "answer", condition },
      { from: "work", to: "END" },
      { from: "answer", to: "END" },
    ];
    expect(workflowProblemsOf({ nodes, edges, output: "${nodes.work.output}" })).toEqual([]);
  });

  it("is not asked for what it never says", () => {
    const nodes = [{ name: "work", type: "planner", config: { workers } }];
    const edges = [
      { from: "work", to: "END", condition: "nodes.work.gap.size() > 0" },
      { from: "work", to: "END" },
    ];
    expect(workflowProblemsOf({ nodes, edges })).toEqual([
      `workflow_graph.edges[0].condition: condition 'nodes.work.gap.size() > 0' at character 11: unknown field "gap" of nodes.work, ${known} (did you mean "gaps"?)`,
    ]);
  });
});
