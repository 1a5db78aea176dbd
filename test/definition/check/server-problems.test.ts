import { describe, expect, it } from "vitest";
import { definitionProblems } from "../../helpers/definition-problems.ts";

const stdio = { name: "files", transport: "stdio", command: "files-server" };
const http = { name: "web", transport: "http", endpoint: "https://example.com/mcp" };
const broken = "expected references to secrets such as {{secret:NAME}}, of letters, digits and _";

describe("servers of a definition", () => {
  it("are taken with references to secrets where those are replaced", () => {
    const mcp = { ...stdio, args: ["--key", "{{secret:KEY}}"], env: { TOKEN: "{{ secret:A_1 }}" } };
    const remote = {
      ...http,
      endpoint: "https://{{secret:HOST}}/mcp?key={{secret:KEY}}",
      headers: { Authorization: "Bearer {{secret:KEY}}", "X-Key": "sk-1234567890abcdef" },
    };
    const community = { tool: "serpapi", options: { apiKey: "{{secret:SERP}}", deep: [{ a: 1 }] } };
    expect(definitionProblems({ tools: [{ mcp }, { mcp: remote }, { community }] })).toEqual([]);
  });

  it("have names of their own", () => {
    const tools = ["files", { mcp: stdio }, { mcp: http }, { mcp: { ...http, name: "files" } }];
    expect(definitionProblems({ tools })).toEqual([
      'tools[3].mcp.name: "files" is already the name of the server in tools[1]',
    ]);
  });

  it("are refused with broken references to secrets, wherever these stand, and without showing them", () => {
    const mcp = { ...stdio, args: ["a", "{{secret KEY}}"], env: { A: "{{secret:}}" } };
    const remote = {
      ...http,
      endpoint: "https://a/{{secret:my-key}}",
      headers: { Authorization: "Bearer {{Secret:KEY}}" },
    };
    const community = { tool: "serpapi", options: { list: [{ key: "{{secret:1}}" }] } };
    expect(definitionProblems({ tools: [{ mcp }, { mcp: remote }, { community }] })).toEqual([
      `tools[0].mcp.args[1]: ${broken}`,
      `tools[0].mcp.env.A: ${broken}`,
      `tools[1].mcp.endpoint: ${broken}`,
      `tools[1].mcp.headers.Authorization: ${broken}`,
      `tools[2].community.options.list[0].key: ${broken}`,
    ]);
  });

  it("are refused with references where none is replaced", () => {
    const mcp = { ...stdio, command: "{{secret:COMMAND}}", cwd: "/home/{{secret:USER}}" };
    expect(definitionProblems({ tools: [{ mcp }] })).toEqual([
      "tools[0].mcp.command: a reference to a secret is not replaced here (allowed: args, env)",
      "tools[0].mcp.cwd: a reference to a secret is not replaced here (allowed: args, env)",
    ]);
  });

  it("have endpoints of http or https", () => {
    const tools = [{ mcp: { ...http, endpoint: "file:///etc" } }];
    expect(definitionProblems({ tools })).toEqual([
      'tools[0].mcp.endpoint: expected an http or https URL (found "file:///etc")',
    ]);
  });
});

describe("a moderation API", () => {
  it("has whole references to secrets in its headers", () => {
    const rail = (Authorization: string) => ({
      type: "toxicity",
      config: { moderation: { headers: { Authorization } } },
    });
    const output_rails = [rail("Bearer {{secret:KEY}}"), rail("Bearer {{secret KEY}}")];
    expect(definitionProblems({ guardrail_config: { output_rails } })).toEqual([
      `guardrail_config.output_rails[1].config.moderation.headers.Authorization: ${broken}`,
    ]);
  });
});
