import { describe, expect, it } from "vitest";
import { tenantProblems } from "../../src/server/agents/tenant-rules.ts";
import { formatPath } from "../../src/definition/check/problems.ts";
import { startApi, tenantA } from "../helpers/api-server.ts";

describe("the routes of agents", () => {
  it.each([
    ["tools", { tools: Array.from({ length: 1_001 }, (_, at) => `unknown_tool_${at}`) }],
    [
      "workflow_graph/nodes",
      { workflow_graph: { nodes: Array.from({ length: 1_001 }, () => ({})) } },
    ],
    [
      "workflow_graph/edges",
      { workflow_graph: { edges: Array.from({ length: 2_001 }, () => ({})) } },
    ],
    ["tools", { tools: Array.from({ length: 201 }, (_, at) => ({ name: `tool_${at}` })) }],
    [
      "guardrail_config/input_rails",
      { guardrail_config: { input_rails: Array.from({ length: 101 }, () => ({ type: "pii" })) } },
    ],
    [
      "guardrail_config/tool_rails/rules",
      { guardrail_config: { tool_rails: { rules: Array.from({ length: 101 }, () => ({})) } } },
    ],
    [
      "workflow_graph",
      { workflow_graph: { nodes: [{ config: { prompt: "${[1, {}.a]}".repeat(20_000) } }] } },
    ],
    ["workflow_graph", { workflow_graph: { edges: [{ condition: "x".repeat(200_001) }] } }],
    ["", Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`key_${at}`, at]))],
  ])(
    "refuse a definition with too many entries at /%s before they check it",
    async (path, body) => {
      const api = await startApi();
      const refused = await api.send("POST", "/v1/agents", { body });
      expect(refused.status).toBe(422);
      expect(refused.json["errors"]).toEqual([
        {
          pointer: path === "" ? "" : `/${path}`,
          detail: expect.stringMatching(/^at most/),
        },
      ]);
    },
  );

  it("create, list, read, change, draw and deactivate", async () => {
    const api = await startApi();
    const created = await api.send("POST", "/v1/agents", {
      body: { name: "helper", system_prompt: "Help.", tools: ["calculator"] },
    });
    expect(created.json).toMatchObject({ name: "helper", version: "1.0.0", status: "created" });
    const path = String(created.headers.get("location"));
    expect(path).toBe(`/v1/agents/${String(created.json["id"])}`);
    const { json: listed } = await api.send("GET", "/v1/agents?name=helper");
    expect(listed).toMatchObject({
      agents: [{ name: "helper", model: null, tools: 1 }],
      next_cursor: null,
    });

    const read = await api.send("GET", path);
    expect(read.headers.get("etag")).toBe('"1.0.0"');
    const changed = await api.send("PATCH", path, {
      body: { system_prompt: "Help well.", tools: null },
      headers: { "if-match": '"1.0.0"', "content-type": "application/merge-patch+json" },
    });
    expect(changed.json).toMatchObject({
      version: "1.0.1",
      definition: { name: "helper", system_prompt: "Help well.", version: "1.0.1" },
    });
    expect(changed.json["definition"]).not.toHaveProperty("tools");
    const old = await api.send("GET", `${path}?version=1.0.0`);
    expect(old.json).not.toHaveProperty("yaml");
    const text = await api.send("GET", `${path}?version=1.0.0&format=yaml`);
    expect(text.json).toEqual({
      ...old.json,
      yaml: "name: helper\nversion: 1.0.0\nsystem_prompt: Help.\ntools:\n  - calculator\n",
    });
    expect(old.json).toMatchObject({ status: "inactive", definition: { tools: ["calculator"] } });
    const { json: versions } = await api.send("GET", `${path}/versions`);
    expect(versions["versions"]).toMatchObject([{ version: "1.0.1" }, { version: "1.0.0" }]);

    expect((await api.send("GET", `${path}/graph`)).json).toEqual({
      format: "mermaid",
      mermaid: "flowchart TD",
    });
    expect((await api.send("GET", `${path}/graph?format=json`)).json).toHaveProperty("graph");
    expect((await api.send("DELETE", path)).status).toBe(204);
    expect((await api.send("GET", path)).status).toBe(404);
    expect(api.audited).toMatchObject([
      { tenant: tenantA, actor: "key:sg_a_*", action: "agent.create" },
      { action: "agent.update", before: { system_prompt: "Help." } },
      { action: "agent.deactivate" },
    ]);
  });

  it("page through a list by cursor and by Link", async () => {
    const api = await startApi();
    for (const name of ["a", "b", "c"]) await api.send("POST", "/v1/agents", { body: { name } });
    const first = await api.send("GET", "/v1/agents?limit=2");
    expect(first.json).toMatchObject({ agents: [{ name: "c" }, { name: "b" }] });
    const [, next = ""] = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "") ?? [];
    const second = await api.send("GET", next);
    expect(second.json).toMatchObject({ agents: [{ name: "a" }], next_cursor: null });
    expect(second.headers.get("link")).toBeNull();
  });

  it("show nothing of another tenant's agents", async () => {
    const api = await startApi();
    const { json } = await api.send("POST", "/v1/agents", { body: { name: "a" } });
    const path = `/v1/agents/${String(json["id"])}`;
    const key = "sg_b_*";
    for (const [method, url] of [
      ["GET", path],
      ["DELETE", path],
      ["GET", `${path}/versions`],
      ["GET", `${path}/graph`],
    ] as const)
      expect((await api.send(method, url, { key })).status).toBe(404);
    expect((await api.send("PATCH", path, { key, body: {} })).status).toBe(404);
    expect((await api.send("GET", "/v1/agents", { key })).json["agents"]).toEqual([]);
  });

  it("keep the name of an agent, and refuse what its row owns", async () => {
    const api = await startApi();
    const { json } = await api.send("POST", "/v1/agents", { body: { name: "a" } });
    const path = `/v1/agents/${String(json["id"])}`;
    expect((await api.send("PATCH", path, { body: { name: "b" } })).status).toBe(400);
    const refused = await api.send("PATCH", path, { body: { tenant_id: "x" } });
    expect(refused.json["errors"]).toEqual([
      { pointer: "/tenant_id", detail: "set by the server; leave it out" },
    ]);
  });
});

describe("a tenant's definition", () => {
  const node = (config: object) => ({
    workflow_graph: { nodes: [{ id: "a", type: "tool", config }] },
  });

  it.each([
    [
      { tools: [{ mcp: { name: "a", transport: "stdio", command: "sh" } }] },
      "tools[0].mcp.transport",
    ],
    [
      { tools: [{ mcp: { name: "a", transport: "http", endpoint: "http://169.254.169.254/" } }] },
      "tools[0].mcp.endpoint",
    ],
    [
      { tools: [{ mcp: { name: "a", transport: "sse", endpoint: "{{secret:URL}}" } }] },
      "tools[0].mcp.endpoint",
    ],
    [{ tools: ["calculator", "read_file"] }, "tools[1]"],
    [node({ tool: "list_files" }), "workflow_graph.nodes[0].config"],
    [{ tools: [{ community: { tool: "wikipedia_query_run" } }] }, "tools[0].community"],
    [{ llm_config: { base_url: "http://127.0.0.1:1" } }, "llm_config.base_url"],
    [
      {
        workflow_graph: {
          nodes: [{ id: "a", type: "agent", config: { agent: "../../etc/a.yaml" } }],
        },
      },
      "workflow_graph.nodes[0].config.agent",
    ],
  ])("reaches nothing of the server's machine (case %#)", async (part, at) => {
    const definition = { name: "a", ...part };
    expect(tenantProblems(definition).map(({ path }) => formatPath(path))).toEqual([at]);
    const api = await startApi();
    const { status, json } = await api.send("POST", "/v1/agents", { body: definition });
    expect([status, json["type"]]).toEqual([422, "/problems/invalid_definition"]);
  });

  it("may use what the operator allows", () => {
    const mcp = (server: object) => ({ tools: [{ mcp: { name: "a", ...server } }] });
    const remote = mcp({ transport: "http", endpoint: "https://mcp.example.com/x" });
    expect([
      ...tenantProblems(mcp({ transport: "stdio" }), { stdioServers: true }),
      ...tenantProblems(remote, { mcpHosts: ["mcp.example.com"] }),
      ...tenantProblems({ tools: ["read_file"] }, { fileTools: true }),
      ...tenantProblems({ tools: [{ community: {} }] }, { communityTools: true }),
      ...tenantProblems({ llm_config: { base_url: "http://a" } }, { modelServers: true }),
    ]).toEqual([]);
    expect(tenantProblems(remote, { mcpHosts: ["example.com"] })).toHaveLength(1);
  });
});
