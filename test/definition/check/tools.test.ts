import { describe, expect, it } from "vitest";
import { defineAgent, defineTool } from "../../../src/index.ts";
import { definitionProblems, workflowProblemsOf } from "../../helpers/definition-problems.ts";

const think = (tools: unknown) => ({ name: "think", type: "llm", config: { tools } });
const run = { name: "run", type: "tool" };
const search = { name: "look", type: "tool", config: { tool: "search" } };

describe("names of tools in a workflow", () => {
  it("are tools of the definition", () => {
    const nodes = [think(["search", "read"]), run, search];
    expect(workflowProblemsOf({ nodes }, { tools: ["search", "read"] })).toEqual([]);
    expect(workflowProblemsOf({ nodes }, { tools: ["serch", "read"] })).toEqual([
      'workflow_graph.nodes[2].config.tool: not one of the definition\'s tools (found "search"; allowed: serch, read; did you mean "serch"?)',
      'workflow_graph.nodes[0].config.tools[0]: not one of the definition\'s tools (found "search"; allowed: serch, read; did you mean "serch"?)',
    ]);
    expect(workflowProblemsOf({ nodes: [search] })).toEqual([
      'workflow_graph.nodes[0].config.tool: not one of the definition\'s tools (found "search")',
    ]);
  });

  it("are allowed by the rails", () => {
    const parts = {
      tools: ["search", "read"],
      guardrail_config: { tool_rails: { allowed_tools: ["read"] } },
    };
    expect(workflowProblemsOf({ nodes: [search] }, parts)).toEqual([
      'workflow_graph.nodes[0].config.tool: guardrail_config.tool_rails.allowed_tools does not allow this tool (found "search"; allowed: read)',
    ]);
  });

  it("are not judged by a list of tools that is wrong itself", () => {
    expect(workflowProblemsOf({ nodes: [search] }, { tools: ["read", 3] })).toEqual([
      "tools[1]: expected a text or a map (found 3)",
    ]);
  });

  it.each([
    { mcp: { name: "web", transport: "http", endpoint: "https://example.com" } },
    { community: { tool: "serpapi" } },
  ])("are not judged beside %j, whose tools have names of their own", (entry) => {
    const tool_rails = { allowed_tools: ["search"], require_approval: ["serch"] };
    const nodes = [think(["serch"]), run, search];
    const parts = { tools: ["read", entry], guardrail_config: { tool_rails } };
    expect(workflowProblemsOf({ nodes }, parts)).toEqual([]);
  });

  it("may be of tools that come with their code", () => {
    const tool = defineTool({
      name: "search",
      description: "Searches.",
      input_schema: { type: "object" },
      handler: () => "",
    });
    const edges = [{ from: "look", to: "END" }];
    const workflow_graph = { entry_point: "look", nodes: [search as never], edges };
    expect(defineAgent({ name: "a", tools: [tool], workflow_graph }).spec.tools).toEqual([
      "search",
    ]);
  });
});

describe("names of tools in rails", () => {
  it("are tools of the definition", () => {
    const tool_rails = { allowed_tools: ["search", "raed"], require_approval: ["write"] };
    const parts = { tools: ["search", "read"], guardrail_config: { tool_rails } };
    expect(definitionProblems(parts)).toEqual([
      'guardrail_config.tool_rails.allowed_tools[1]: not one of the definition\'s tools (found "raed"; allowed: search, read; did you mean "read"?)',
      'guardrail_config.tool_rails.require_approval[0]: not one of the definition\'s tools (found "write"; allowed: search, read)',
    ]);
  });

  it("may be tools of agents inside, whose calls the rails bound too", () => {
    const inner = defineAgent({ name: "inner", tools: ["search"] });
    const middle = defineAgent({ name: "middle", agents: [inner], tools: ["read"] });
    const outer = (tool_rails: object, agent = "middle") =>
      defineAgent({
        name: "outer",
        agents: [middle],
        guardrail_config: { tool_rails },
        workflow_graph: {
          entry_point: "x",
          nodes: [{ name: "x", type: "agent", config: { agent } }],
          edges: [{ from: "x", to: "END" }],
        },
      });
    const rules = [{ tool: "read", check: "true" }];
    const named = { allowed_tools: ["search"], require_approval: ["search", "read"], rules };
    expect(outer(named).spec.guardrail_config.tool_rails).toMatchObject(named);
    expect(() => outer({ allowed_tools: ["serch"] })).toThrow(
      'allowed_tools[0]: not one of the definition\'s tools (found "serch"; allowed: read, search; did you mean "search"?)',
    );
    expect(() => outer({ repeatable: ["search"] })).toThrow("repeatable[0]: not one of");
    // What an agent of the runtime has is known when the agent is compiled.
    expect(outer({ allowed_tools: ["serch"] }, "other").hash).toBeTruthy();
  });

  it("may be all of them", () => {
    const tool_rails = { allowed_tools: "all", require_approval: "all" };
    expect(definitionProblems({ tools: ["a"], guardrail_config: { tool_rails } })).toEqual([]);
  });
});
