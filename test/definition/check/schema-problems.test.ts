import { describe, expect, it } from "vitest";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { schemaProblems } from "../../../src/definition/check/schema-problems.ts";

/** The problems of a definition with these parts, as people read them. */
function problemsOf(parts: Record<string, unknown>): readonly string[] {
  return schemaProblems({ name: "a", ...parts }).map(describeProblem);
}

const server = { name: "x", transport: "stdio", command: "y" };

function problemsOfNode(node: unknown): readonly string[] {
  return problemsOf({ workflow_graph: { entry_point: "a", nodes: [node], edges: [] } });
}

describe("schemaProblems", () => {
  it("finds nothing in a definition that needs nothing but its name", () => {
    expect(problemsOf({})).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      "at the top level",
      { toools: [] },
      'toools: unknown key (allowed: name, version, description, system_prompt, input_schema, output_schema, tools, permissions, tool_selection, workflow_graph, state_config, memory_config, context_config, guardrail_config, llm_config, execution_config, is_active; did you mean "tools"?)',
    ],
    [
      "in a nested map",
      { memory_config: { long_term: { topk: 3 } } },
      'memory_config.long_term.topk: unknown key (allowed: enabled, embedding_model, top_k, max_tokens, min_score, extraction_model, consolidation; did you mean "top_k"?)',
    ],
    [
      "in an entry of a list",
      { system_prompt: { examples: [{ input: "a", output: "b", note: "c" }] } },
      "system_prompt.examples[0].note: unknown key (allowed: input, output)",
    ],
    [
      "in an MCP server",
      { tools: [{ mcp: { name: "x", transport: "stdio", command: "y", comand: "y" } }] },
      'tools[0].mcp.comand: unknown key (allowed: transport, command, args, env, cwd, name, tools, prefix, start_timeout_ms, execution, permissions, requires_approval, overrides; did you mean "command"?)',
    ],
    [
      "of another kind of MCP server",
      { tools: [{ mcp: { name: "x", transport: "http", endpoint: "http://a", command: "y" } }] },
      "tools[0].mcp.command: unknown key (allowed: transport, endpoint, headers, name, tools, prefix, start_timeout_ms, execution, permissions, requires_approval, overrides)",
    ],
    [
      "in the settings of one tool of a server",
      { tools: [{ mcp: { ...server, overrides: { read: { desc: "y" } } } }] },
      "tools[0].mcp.overrides.read.desc: unknown key (allowed: description, execution, permissions, requires_approval)",
    ],
    [
      "in a tool of LangChain's community",
      { tools: [{ community: { tool: "serpapi", option: {} } }] },
      'tools[0].community.option: unknown key (allowed: tool, class, options, execution, permissions, requires_approval; did you mean "options"?)',
    ],
    [
      "in the config of a rail, by the rail's type",
      { guardrail_config: { input_rails: [{ type: "pii", config: { entites: ["EMAIL"] } }] } },
      'guardrail_config.input_rails[0].config.entites: unknown key (allowed: entities, action, tool_results; did you mean "entities"?)',
    ],
    [
      "in the config of a rail of the other side",
      { guardrail_config: { output_rails: [{ type: "pii", config: { tool_results: true } }] } },
      "guardrail_config.output_rails[0].config.tool_results: unknown key (allowed: entities, action)",
    ],
    [
      "deep in the config of a rail",
      {
        guardrail_config: {
          output_rails: [{ type: "toxicity", config: { moderation: { header: {} } } }],
        },
      },
      'guardrail_config.output_rails[0].config.moderation.header: unknown key (allowed: endpoint, model, headers; did you mean "headers"?)',
    ],
    [
      "that a prototype has",
      { constructor: 1 },
      "constructor: unknown key (allowed: name, version, description, system_prompt, input_schema, output_schema, tools, permissions, tool_selection, workflow_graph, state_config, memory_config, context_config, guardrail_config, llm_config, execution_config, is_active)",
    ],
  ])("names an unknown key %s, what is allowed and the nearest", (_where, parts, problem) => {
    expect(problemsOf(parts)).toEqual([problem]);
  });

  it.each([
    [{ version: 2 }, "version: expected a text (found 2)"],
    [{ name: null }, "name: expected a text (found null)"],
    [{ tools: "calculator" }, 'tools: expected a list (found "calculator")'],
    [{ llm_config: [] }, "llm_config: expected a map (found an empty list)"],
    [{ is_active: "yes" }, 'is_active: expected true or false (found "yes")'],
    [{ input_schema: [1] }, "input_schema: expected a map (found a list)"],
    [{ llm_config: { seed: 1.5 } }, "llm_config.seed: expected a whole number (found 1.5)"],
    [
      { llm_config: { temperature: Number.NaN } },
      "llm_config.temperature: expected a finite number (found NaN)",
    ],
    [{ description: 1n }, "description: expected a text (found 1)"],
    [{ description: () => "" }, "description: expected a text (found a function)"],
    [{ description: Symbol("s") }, "description: expected a text (found a symbol)"],
  ])("says of %o which type is expected", (parts, problem) => {
    expect(problemsOf(parts)).toEqual([problem]);
  });

  it("says what is missing", () => {
    expect(schemaProblems({}).map(describeProblem)).toEqual([
      "name: expected a text, but it is missing",
    ]);
    expect(problemsOf({ system_prompt: { examples: [{ input: "a" }] } })).toEqual([
      "system_prompt.examples[0].output: expected a text, but it is missing",
    ]);
  });

  it.each([undefined, null, 3, "text", [], true])("refuses %j for a definition", (written) => {
    expect(schemaProblems(written)).toHaveLength(1);
  });

  it.each([
    [
      { execution_config: { mode: "dep" } },
      'execution_config.mode: not one of the allowed values (found "dep"; allowed: fast, deep; did you mean "deep"?)',
    ],
    [
      { execution_config: { mode: 1 } },
      "execution_config.mode: not one of the allowed values (found 1; allowed: fast, deep)",
    ],
    [
      { guardrail_config: { input_rails: [{}] } },
      "guardrail_config.input_rails[0].type: expected one of the allowed values, but it is missing (allowed: pii, injection, topic, custom)",
    ],
    [
      { guardrail_config: { output_rails: [{ type: "formt" }] } },
      'guardrail_config.output_rails[0].type: not one of the allowed values (found "formt"; allowed: pii, hallucination, toxicity, format, custom; did you mean "format"?)',
    ],
    [
      { guardrail_config: { input_rails: [{ type: "topic", on_error: "flag" }] } },
      'guardrail_config.input_rails[0].on_error: not one of the allowed values (found "flag"; allowed: block, pass)',
    ],
    [
      { tools: [{ mcp: { ...server, transport: "studio" } }] },
      'tools[0].mcp.transport: not one of the allowed values (found "studio"; allowed: stdio, http, sse; did you mean "stdio"?)',
    ],
    [
      { guardrail_config: { tool_rails: { allowed_tools: "al" } } },
      'guardrail_config.tool_rails.allowed_tools: not one of the allowed values (found "al"; allowed: all, a list; did you mean "all"?)',
    ],
  ])("says of %j which values are allowed", (parts, problem) => {
    expect(problemsOf(parts)).toEqual([problem]);
  });

  it.each([
    [
      { llm_config: { temperature: 2.1 } },
      "llm_config.temperature: expected at most 2 (found 2.1)",
    ],
    [{ llm_config: { top_p: -1 } }, "llm_config.top_p: expected at least 0 (found -1)"],
    [
      { execution_config: { max_attempts: 0 } },
      "execution_config.max_attempts: expected at least 1 (found 0)",
    ],
    [
      { execution_config: { timeout_seconds: 0 } },
      "execution_config.timeout_seconds: expected more than 0 (found 0)",
    ],
    [{ tools: [""] }, 'tools[0]: expected at least 1 character (found "")'],
    [
      { name: "a".repeat(129) },
      `name: expected at most 128 characters (found "${"a".repeat(57)}…")`,
    ],
    [
      { workflow_graph: { entry_point: "a", nodes: [], edges: [] } },
      "workflow_graph.nodes: expected at least 1 entry (found an empty list)",
    ],
  ])("says of %j which bound is broken", (parts, problem) => {
    expect(problemsOf(parts)).toEqual([problem]);
  });

  it.each([
    [
      { llm_config: { default_model: "gpt-4o" } },
      'llm_config.default_model: expected provider:model, such as openai:gpt-4o-mini (found "gpt-4o")',
    ],
    [
      { llm_config: { base_url: "localhost" } },
      'llm_config.base_url: expected an http or https URL (found "localhost")',
    ],
    [{ name: "My agent" }, 'name: expected lower-case letters, digits, _ and - (found "My agent")'],
  ])("says of %j which form is expected", (parts, problem) => {
    expect(problemsOf(parts)).toEqual([problem]);
  });

  it("says what an entry of tools may be", () => {
    expect(problemsOf({ tools: ["calculator", 3, { server: "x" }, { mpc: server }, {}] })).toEqual([
      "tools[1]: expected a text or a map (found 3)",
      "tools[2].server: unknown key (allowed: mcp, community)",
      'tools[3].mpc: unknown key (allowed: mcp, community; did you mean "mcp"?)',
      "tools[4]: expected a map with one of the allowed keys (found an empty map; allowed: mcp, community)",
    ]);
  });

  it("says of an entry of tools what is wrong in it, and what is too much beside it", () => {
    expect(problemsOf({ tools: [{ mcp: 3 }, { mcp: server, name: "x" }] })).toEqual([
      "tools[0].mcp: expected a map (found 3)",
      "tools[1].name: unknown key (allowed: mcp)",
    ]);
    const several = "tools[0]: expected one key, found mcp and community; write an entry for each";
    expect(problemsOf({ tools: [{ mcp: server, community: { tool: "serpapi" } }] })).toEqual([
      several,
    ]);
    expect(problemsOf({ tools: [{ mcp: { ...server, name: "a b" }, community: {} }] })).toEqual([
      'tools[0].mcp.name: expected 1 to 64 letters, digits, _ and - (found "a b")',
      several,
    ]);
    expect(problemsOf({ tools: [{ mcp: { ...server, command: 3 }, community: {} }] })).toEqual([
      several,
      "tools[0].mcp.command: expected a text (found 3)",
      "tools[0].community.tool: expected a text, but it is missing",
    ]);
  });

  it("does not show what may be a secret", () => {
    const mcp = { ...server, args: [12345], env: { PIN: 12345 } };
    expect(problemsOf({ tools: [{ mcp }] })).toEqual([
      "tools[0].mcp.args[0]: expected a text (found a number)",
      "tools[0].mcp.env.PIN: expected a text (found a number)",
    ]);
    const config = { moderation: { headers: { Authorization: ["abc"] } } };
    expect(
      problemsOf({ guardrail_config: { output_rails: [{ type: "toxicity", config }] } }),
    ).toEqual([
      "guardrail_config.output_rails[0].config.moderation.headers.Authorization: expected a text (found a list)",
    ]);
  });

  describe("in a workflow", () => {
    it("names an unknown key in the config of a node by the node's type", () => {
      expect(problemsOfNode({ name: "a", type: "llm", config: { promt: "x" } })).toEqual([
        'workflow_graph.nodes[0].config.promt: unknown key (allowed: prompt, model, tools, output_schema, mode, writes; did you mean "prompt"?)',
      ]);
      expect(problemsOfNode({ name: "a", type: "tool", config: { prompt: "x" } })).toEqual([
        "workflow_graph.nodes[0].config.prompt: unknown key (allowed: tool, args, writes, concurrency)",
      ]);
    });

    it("names the types of nodes", () => {
      expect(problemsOfNode({ name: "a", type: "lllm" })).toEqual([
        'workflow_graph.nodes[0].type: not one of the allowed values (found "lllm"; allowed: llm, tool, router, human, wait, agent, planner; did you mean "llm"?)',
      ]);
      expect(problemsOfNode({ name: "a" })).toEqual([
        "workflow_graph.nodes[0].type: expected one of the allowed values, but it is missing (allowed: llm, tool, router, human, wait, agent, planner)",
      ]);
      expect(problemsOfNode(3)).toEqual(["workflow_graph.nodes[0]: expected a map (found 3)"]);
    });

    it("keeps what a refinement says as it is written", () => {
      expect(problemsOfNode({ name: "END", type: "llm" })).toEqual([
        'workflow_graph.nodes[0].name: END and START are taken (found "END")',
      ]);
    });

    it("says that an edge leads nowhere", () => {
      const edges = [{ from: "a" }, { from: "a", to: [] }];
      const nodes = [{ name: "a", type: "llm" }];
      expect(problemsOf({ workflow_graph: { entry_point: "a", nodes, edges } })).toEqual([
        "workflow_graph.edges[0].to: expected a text or a list, but it is missing",
        "workflow_graph.edges[1].to: expected at least 1 entry (found an empty list)",
      ]);
    });
  });
});
