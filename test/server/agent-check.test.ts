import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createServer } from "../../src/create-server.ts";
import { startApi } from "../helpers/api-server.ts";
import { useDatabase } from "../helpers/databases.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const check = async (source: string, key = "sg_a_*") => {
  const api = await startApi();
  const answer = await api.send("POST", "/v1/agents/check", { body: { source }, key });
  const { json: listed } = await api.send("GET", "/v1/agents", { key });
  expect(listed["agents"]).toEqual([]);
  return answer;
};

const database = useDatabase("pglite");

describe("the check of a definition", () => {
  it("returns the definition and its graph, and stores nothing", async () => {
    const { status, json } = await check("name: helper\ntools: [calculator] # all of them\n");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      ok: true,
      problems: [],
      definition: { name: "helper", tools: ["calculator"] },
    });
    expect(json["graph"]).not.toBeNull();
  });

  it("returns each problem with its place and the nearest valid name", async () => {
    const { status, json } = await check(
      "name: helper\nexecution_config:\n  max_iteration: 3\ntenant_id: x\n",
    );
    expect(status).toBe(200);
    expect(json).toMatchObject({ ok: false, definition: null, graph: null });
    expect(json["problems"]).toMatchObject([
      {
        path: "execution_config.max_iteration",
        pointer: "/execution_config/max_iteration",
        line: 3,
        column: 3,
        suggestion: "max_iterations",
      },
      { path: "tenant_id", line: 4, column: 12 },
    ]);
  });

  it.each([
    ["name: [", "YAML"],
    ["", "empty"],
    ["a: &a [*a, *a]", "nested"],
    ["[".repeat(20_000), "YAML"],
  ])("reports a text that is no document", async (source, message) => {
    const { status, json } = await check(source);
    expect(status).toBe(200);
    expect(json).toMatchObject({ ok: false });
    expect(JSON.stringify(json["problems"])).toContain(message);
  });

  it("refuses texts that are too long", async () => {
    expect((await check(`name: ${"a".repeat(262_144)}`)).status).toBe(400);
  });

  it("starts none of the servers that a definition names", async () => {
    const started = join(tempFolder({}), "started");
    const server = await createServer({ database: database.shared, development: true, env: {} });
    const mcp = { name: "files", transport: "stdio", command: "touch", args: [started] };
    const nodes = [{ name: "read", type: "tool", config: { tool: "files_read", args: {} } }];
    const definition = {
      name: "served",
      tools: [{ mcp }],
      workflow_graph: { entry_point: "read", nodes, edges: [{ from: "read", to: "END" }] },
    };
    const answer = await server.fetch(
      new Request("http://127.0.0.1/v1/agents/check", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ source: JSON.stringify(definition) }),
      }),
    );
    const body = (await answer.json()) as { problems: unknown; graph: { nodes: { id: string }[] } };
    expect(body.problems).toEqual([]);
    expect(body.graph.nodes.map(({ id }) => id)).toContain("read");
    expect(existsSync(started)).toBe(false);
    await server.close(0);
  });

  it("has the schema beside it", async () => {
    const api = await startApi();
    const { json } = await api.send("GET", "/v1/schemas/agent");
    expect(json).toMatchObject({ type: "object", required: ["name"] });
  });
});
