import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createServer } from "../../src/create-server.ts";
import { memoryAgents, startApi, type TestApi } from "../helpers/api-server.ts";
import { useDatabase } from "../helpers/databases.ts";
import { useRunServers } from "../helpers/run-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const checked = async (body: object, api?: TestApi) => {
  const { send } = api ?? (await startApi());
  const answer = await send("POST", "/v1/agents/check", { body });
  expect([answer.status, answer.json["title"]]).toEqual([200, undefined]);
  return answer.json as {
    readonly ok: boolean;
    readonly problems: readonly Record<string, unknown>[];
    readonly definition: unknown;
    readonly graph: unknown;
  };
};

describe("the check of a definition", () => {
  it.each([
    ["YAML", "name: helper\ntools: [calculator] # all of them\n"],
    ["JSON", '{\n\t"name": "helper",\n\t"tools": ["calculator"]\n}'],
  ])(
    "returns the definition and the graph of a valid %s text, and stores nothing",
    async (_, source) => {
      const api = await startApi();
      expect(await checked({ source }, api)).toEqual({
        ok: true,
        problems: [],
        definition: { name: "helper", tools: ["calculator"] },
        graph: { nodes: [], edges: [] },
      });
      expect((await api.send("GET", "/v1/agents")).json["agents"]).toEqual([]);
      expect(api.audited).toEqual([]);
    },
  );

  it("returns problems by line, with the nearest valid names", async () => {
    const source = "name: helper\ntenant_id: x\nexecution_config:\n  max_iteration: 3\n";
    const { problems, ...rest } = await checked({ source });
    expect(rest).toEqual({ ok: false, definition: null, graph: null });
    expect(problems).toMatchObject([
      { path: "tenant_id", pointer: "/tenant_id", line: 2, column: 12 },
      {
        path: "execution_config.max_iteration",
        pointer: "/execution_config/max_iteration",
        message: "unknown key",
        line: 4,
        column: 3,
        suggestion: "max_iterations",
      },
    ]);
  });

  it("returns problems of a definition given as JSON without lines", async () => {
    const { problems } = await checked({ definition: { name: "helper", tools: ["read_file"] } });
    expect(problems).toEqual([
      {
        path: "tools[0]",
        pointer: "/tools/0",
        message: 'the file tool "read_file" is not allowed on this server',
      },
    ]);
  });

  it("is valid without a graph where the drawing fails", async () => {
    const draw = () => Promise.reject(new Error("no drawing"));
    const api = await startApi({ agents: { store: memoryAgents(), audit: null, draw } });
    expect(await checked({ source: "name: helper" }, api)).toMatchObject({
      ok: true,
      graph: null,
    });
  });

  it.each([
    ["empty", "", "the file is empty"],
    ["open", "name: [", "YAML: "],
    ["of two documents", "name: a\n---\nname: b", "a second document begins here"],
    ["of an alias bomb", bomb(9), "its aliases stand for more than 100 values"],
    ["nested deeply", "[".repeat(20_000), "nested too deeply to be read"],
    ["nested deeply in lines", `${"- ".repeat(101)}a`, "the definition is nested more than 100"],
    ["with a million tokens", "[" + ",".repeat(1_000_000), "expected at most 40,000 tokens"],
    [
      "with a key of JavaScript",
      "name: a\n__proto__: {}\n",
      "the definition has the key __proto__",
    ],
    [
      "that aliases make large",
      `name: a\nx: &a ${"b".repeat(100_000)}\ny: [${"*a, ".repeat(50)}]`,
      "expected at most 1 MiB of JSON",
    ],
    [
      "that aliases make long",
      `name: a\nx: &a [${"1, ".repeat(2_000)}]\ny: [${"*a, ".repeat(50)}]`,
      "the definition has more than 50000 values",
    ],
  ])("reports a text %s, and reads no more of it", async (_, source, message) => {
    const { ok, problems, definition } = await checked({ source });
    expect([ok, definition]).toEqual([false, null]);
    expect(problems[0]).toMatchObject({ path: "", pointer: "", line: expect.any(Number) });
    expect(String(problems[0]?.["message"])).toContain(message);
  });

  it("returns at most 200 problems", async () => {
    const keys = Array.from({ length: 1_000 }, (_, at) => `  key_${at}: 1\n`).join("");
    const { problems } = await checked({ source: `name: a\nllm_config:\n${keys}` });
    expect(problems).toHaveLength(200);
    expect(problems[0]).toMatchObject({ line: 3, column: 3 });
    const unreadable = await checked({ source: "a: 1\n".repeat(202) });
    expect(unreadable.problems).toHaveLength(200);
  });

  const many = (count: number, of: unknown = 1) => Array.from({ length: count }, () => of);
  it.each([
    ["", 200, "entries", (count: number) => Object.fromEntries(many(count).entries())],
    ["tools", 1_000, "entries", (count: number) => ({ tools: many(count, "calculator") })],
    ["tools", 200, "tools that are written out", (count: number) => ({ tools: many(count) })],
    ["workflow_graph.nodes", 1_000, "entries", (count: number) => graphOf({ nodes: many(count) })],
    ["workflow_graph.edges", 2_000, "entries", (count: number) => graphOf({ edges: many(count) })],
    ["guardrail_config.input_rails", 100, "entries", railsOf("input_rails")],
    ["guardrail_config.output_rails", 100, "entries", railsOf("output_rails")],
    [
      "guardrail_config.tool_rails.rules",
      100,
      "entries",
      (count: number) => ({ guardrail_config: { tool_rails: { rules: many(count) } } }),
    ],
    [
      "workflow_graph",
      200_000,
      "characters of expressions",
      // 100,000 characters in a condition, and the rest in templates, whose braces may be nested.
      (count: number) =>
        graphOf({
          edges: [{ condition: "x".repeat(100_000) }],
          nodes: [{ prompt: `A text } \${{}${"y".repeat(count - 100_009)}} and \${z}.` }],
        }),
    ],
  ])("refuses more than the limit in %j, %d %s, before others are checked", async (...of) => {
    const [path, most, what, definitionOf] = of;
    const message = `at most ${most} ${what}`;
    const { problems } = await checked({ definition: definitionOf(most + 1) });
    const pointer = path === "" ? "" : `/${path.replaceAll(".", "/")}`;
    expect(problems).toEqual([{ path, pointer, message, found: String(most + 1) }]);
    const full = await checked({ definition: definitionOf(most) });
    expect(full.problems.map((one) => one["message"])).not.toContain(message);
  });

  it("refuses more than 1 MiB of JSON, and what the server sets", async () => {
    const definitionOf = (characters: number) => ({ x: "x".repeat(characters) });
    const most = 1_048_576 - JSON.stringify(definitionOf(0)).length;
    const message = "expected at most 1 MiB of JSON";
    const { problems } = await checked({ definition: definitionOf(most + 1) });
    expect(problems).toEqual([{ path: "", pointer: "", message }]);
    const full = await checked({ definition: definitionOf(most) });
    expect(full.problems.map((one) => one["message"])).not.toContain(message);
    const row = { id: "a", tenant_id: "b", created_at: "c", updated_at: "d" };
    const stored = await checked({ definition: { name: "helper", ...row } });
    expect(stored.problems).toEqual(
      Object.keys(row).map((path) => {
        return { path, pointer: `/${path}`, message: "set by the server; leave it out" };
      }),
    );
  });

  it("refuses texts of more than 1 MiB, and bodies of neither form", async () => {
    const api = await startApi();
    for (const body of [
      { source: "a".repeat(1_048_577) },
      {},
      { source: "name: a", definition: { name: "a" } },
      { definition: [] },
    ])
      expect((await api.send("POST", "/v1/agents/check", { body })).status).toBe(400);
    const body = { source: "a".repeat(4_000_000) };
    expect((await api.send("POST", "/v1/agents/check", { body })).status).toBe(413);
  });

  it("takes a text of 1 MiB whose JSON is twice as long", async () => {
    const comment = '"'.repeat(1_048_576 - "name: a #".length);
    expect(await checked({ source: `name: a #${comment}` })).toMatchObject({ ok: true });
  });

  it("needs a key that reads agents", async () => {
    const api = await startApi();
    const body = { source: "name: a" };
    const send = (key: string | null) => api.send("POST", "/v1/agents/check", { body, key });
    expect((await send("sg_a_agents:read")).status).toBe(200);
    expect((await send("sg_a_runs:read")).status).toBe(403);
    expect((await send(null)).status).toBe(401);
  });
});

describe("the schema of definitions", () => {
  it("is that of the package for every key, and is sent once", async () => {
    const api = await startApi();
    const read = (headers = {}) =>
      api.send("GET", "/v1/schemas/agent", { key: "sg_a_runs:read", headers });
    const first = await read();
    expect(first.status).toBe(200);
    expect(first.json).toEqual(JSON.parse(readFileSync("schema/agent.schema.json", "utf8")));
    expect(first.headers.get("cache-control")).toBe("private, no-cache");
    const etag = first.headers.get("etag") ?? "";
    const again = await read({ "if-none-match": etag });
    expect([again.status, again.text]).toEqual([304, ""]);
    const url = `http://127.0.0.1:${api.listening.port}/v1/schemas/agent`;
    const authorization = "Bearer sg_a_runs:read";
    const small = await fetch(url, { headers: { authorization, "accept-encoding": "gzip" } });
    expect(small.headers.get("content-encoding")).toBe("gzip");
    expect(await small.json()).toEqual(first.json);
    expect((await api.send("GET", "/v1/schemas/agent", { key: null })).status).toBe(401);
  });
});

describe("on pglite, the check of a definition", () => {
  const database = useDatabase("pglite");
  const start = useRunServers(database);

  it("knows the tools and agents of its tenant alone, and draws its graph", async () => {
    const server = await start([]);
    await server.agent({ name: "plain" });
    const source = [
      "name: outer",
      "tools: [calculater]",
      "workflow_graph:",
      "  entry_point: a",
      "  nodes:",
      "    - { name: a, type: agent, config: { agent: plain } }",
      "    - { name: b, type: agent, config: { agent: other } }",
      "  edges: [{ from: a, to: b }, { from: b, to: END }]",
    ].join("\n");
    const { json } = await server.post("/v1/agents/check", { source });
    expect(json["problems"]).toMatchObject([
      { path: "tools[0]", suggestion: "calculator", line: 2, column: 9 },
      { path: "workflow_graph.nodes[1].config.agent", line: 7 },
    ]);
    const valid = source
      .replace("calculater", "calculator")
      .replace("agent: other", "agent: plain");
    const { json: drawn } = await server.post("/v1/agents/check", { source: valid });
    expect(drawn).toMatchObject({ ok: true, problems: [], definition: { name: "outer" } });
    const { json: made } = await server.post("/v1/agents", drawn["definition"]);
    const { json: stored } = await server.send(
      "GET",
      `/v1/agents/${String(made["id"])}/graph?format=json`,
    );
    expect(drawn["graph"]).toEqual(stored["graph"]);
    const { key } = await server.join();
    const { json: foreign } = await server.post("/v1/agents/check", { source: valid }, { key });
    expect(foreign["problems"]).toHaveLength(2);
  });

  it("starts none of the servers that a definition names", async () => {
    const started = join(tempFolder({}), "started");
    const mcp = { name: "files", transport: "stdio", command: "touch", args: [started] };
    const nodes = [{ name: "read", type: "tool", config: { tool: "files_read", args: {} } }];
    const workflow_graph = { entry_point: "read", nodes, edges: [{ from: "read", to: "END" }] };
    const server = await createServer({ database: database.shared, development: true, env: {} });
    const answer = await server.fetch(
      new Request("http://127.0.0.1/v1/agents/check", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ definition: { name: "served", tools: [{ mcp }], workflow_graph } }),
      }),
    );
    const { problems, graph } = (await answer.json()) as {
      readonly problems: unknown;
      readonly graph: { readonly nodes: readonly { readonly id: string }[] } | null;
    };
    await server.close(0);
    expect(existsSync(started)).toBe(false);
    expect(problems).toEqual([]);
    expect(graph?.nodes.map(({ id }) => id)).toContain("read");
  });
});

const graphOf = (graph: object) => ({ workflow_graph: graph });

const railsOf = (name: string) => (count: number) => ({
  guardrail_config: { [name]: Array.from({ length: count }, () => 1) },
});

/** Lists of nine aliases of the list before, so many levels deep. */
function bomb(levels: number): string {
  const lines = Array.from({ length: levels }, (_, at) => {
    const item = at === 0 ? "lol" : `*a${at - 1}`;
    return `k${at}: &a${at} [${Array.from({ length: 9 }, () => item).join(", ")}]`;
  });
  return lines.join("\n");
}
