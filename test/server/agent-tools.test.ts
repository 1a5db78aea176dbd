import { describe, expect, it } from "vitest";
import { useDatabase } from "../helpers/databases.ts";
import { httpServer } from "../helpers/http-server.ts";
import { startTenantApi } from "../helpers/tenant-api.ts";
import { useEverything } from "../tools/mcp/use-servers.ts";

const database = useDatabase("pglite");
const everything = useEverything();

const echo = (host: string, name = "echo") => ({
  name,
  description: "Echoes a text.",
  input_schema: { type: "object", properties: { text: { type: "string" } } },
  transport: { type: "http", endpoint: `http://${host}/` },
});
const pointers = (json: Record<string, unknown>) =>
  (json["errors"] as { pointer: string }[]).map(({ pointer }) => pointer);

type Api = Awaited<ReturnType<typeof startTenantApi>>;

async function create({ send }: Api, path: string, body: object): Promise<string> {
  const { status, json } = await send("POST", path, { body });
  expect([status, json["errors"]]).toEqual([201, undefined]);
  return String(json["id"]);
}

const toolsAsked = ({ model }: Api, call: number) =>
  (model.requests[call]?.tools ?? [])
    .map(({ name }) => name)
    .filter((name) => name !== "note_step");

/** A workflow of one node that runs another agent. */
const runs = (agent: string) => ({
  workflow_graph: {
    entry_point: "n",
    nodes: [{ name: "n", type: "agent", config: { agent } }],
    edges: [{ from: "n", to: "END" }],
  },
});

describe("an agent", () => {
  it("uses registered tools that its definition names, by name or id", async () => {
    const host = await httpServer((request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ query: request.url }));
    });
    const api = await startTenantApi(database.shared, {
      script: [{ calls: [{ name: "echo", args: { text: "hi" } }] }, "Done.", "Without."],
      runtime: { httpAllow: [host] },
    });
    const first = await create(api, "/v1/tools", echo(host));
    await create(api, "/v1/tools", echo(host, "echo2"));
    const tools = [first, "echo2", "calculator"];
    const agent = await create(api, "/v1/agents", { name: "a", tools });
    const stored = (await api.send("GET", `/v1/agents/${agent}`)).json["definition"];
    expect(stored).toMatchObject({ tools: ["echo", "echo2", "calculator"] });
    const run = await api.run(agent, { message: "Echo hi" });
    expect(run.result).toMatchObject({ status: "complete", message: "Done." });
    expect(toolsAsked(api, 0).toSorted()).toEqual(["calculator", "echo", "echo2"]);
    expect(JSON.stringify(api.model.read(1))).toContain("/?text=hi");
    expect((await api.send("GET", `/v1/agents/${agent}/graph`)).status).toBe(200);
    expect((await api.send("GET", `/v1/agents/${agent}/tools`)).json["tools"]).toMatchObject([
      { name: "echo", in_definition: true, is_enabled: true },
      { name: "echo2", in_definition: true, is_enabled: true },
    ]);
    const off = { body: { is_enabled: false } };
    await api.send("PUT", `/v1/agents/${agent}/tools/${first}`, off);
    await api.run(agent, { message: "Hi" });
    expect(toolsAsked(api, 2).toSorted()).toEqual(["calculator", "echo2"]);
  });

  it("uses bound tools from the next run on, as the binding says", async () => {
    const api = await startTenantApi(database.shared, { script: ["1", "2", "3", "4", "5"] });
    const tool = await create(api, "/v1/tools", echo("api.example.com"));
    const agent = await create(api, "/v1/agents", { name: "b", tools: ["calculator"] });
    const path = `/v1/agents/${agent}/tools/${tool}`;
    const ask = () => api.run(agent, { message: "Hi" });
    await ask();
    expect(toolsAsked(api, 0)).toEqual(["calculator"]);
    const body = { config_overrides: { description: "Repeats a text.", permissions: ["a:b"] } };
    expect((await api.send("PUT", path, { body })).json).toMatchObject({
      tool_id: tool,
      name: "echo",
      description: "Repeats a text.",
      is_enabled: true,
      in_definition: false,
    });
    await ask();
    expect(toolsAsked(api, 1)).toEqual(["calculator", "echo"]);
    const shown = api.model.requests[1]?.tools?.find(({ name }) => name === "echo");
    expect(shown?.description).toBe("Repeats a text.");
    await api.send("PUT", path, { body: { is_enabled: false } });
    await ask();
    expect(toolsAsked(api, 2)).toEqual(["calculator"]);
    await api.send("PUT", path, { body: {} });
    await ask();
    expect(toolsAsked(api, 3)).toEqual(["calculator", "echo"]);
    expect((await api.send("DELETE", path)).status).toBe(204);
    expect((await api.send("DELETE", path)).status).toBe(404);
    await ask();
    expect(toolsAsked(api, 4)).toEqual(["calculator"]);
  });

  it("uses tools of MCP servers under the names that they are registered by", async () => {
    const { url } = await everything("streamableHttp");
    const api = await startTenantApi(database.shared, {
      allow: { mcpHosts: [new URL(url).hostname] },
      script: [
        { calls: [{ name: "far_get-sum", args: { a: 2, b: 3 } }] },
        { calls: [{ name: "far_echo", args: { message: "hi" } }] },
        "Done.",
        "Done too.",
      ],
    });
    const tool = (name: string, more: object = {}) => ({
      name: `far_${name}`,
      description: `Registered ${name}.`,
      transport: { type: "mcp-http", endpoint: url, tool: name },
      ...more,
    });
    const sum = await create(api, "/v1/tools", tool("get-sum"));
    const echoing = await create(api, "/v1/tools", tool("echo", { permissions: ["far:echo"] }));
    const execute = (id: string, body: object) =>
      api.send("POST", `/v1/tools/${id}/execute`, { body });
    expect((await execute(sum, { input: { a: 1, b: 2 } })).json).toMatchObject({
      outcome: "success",
      output: expect.stringContaining("3"),
    });
    const input = { message: "hi" };
    expect((await execute(echoing, { input })).json["error"]).toMatch(/far:echo/);
    const granted = await execute(echoing, { input, permissions: ["far:*"] });
    expect(granted.json["output"]).toBe("Echo: hi");
    const agent = await create(api, "/v1/agents", { name: "far", tools: [sum] });
    await api.send("PUT", `/v1/agents/${agent}/tools/${echoing}`, {
      body: { config_overrides: { permissions: [] } },
    });
    const run = await api.run(agent, { message: "Add, then echo." });
    expect(run.result).toMatchObject({ status: "complete" });
    expect(toolsAsked(api, 0)).toEqual(["far_echo", "far_get-sum"]);
    expect(JSON.stringify(api.model.read(2))).toContain("Echo: hi");
    const { runtime } = await api.base.runtimes.use(api.tenantId, async (one) => one);
    // One for each call of `execute`'s tools, and one for both tools of the agent.
    const connected = runtime.servers?.status().filter(({ state }) => state === "connected");
    expect(connected).toHaveLength(3);
    const second = await create(api, "/v1/agents", { name: "near", tools: [sum] });
    await api.send("PUT", `/v1/agents/${second}/tools/${echoing}`, {
      body: { config_overrides: { permissions: [] } },
    });
    await api.run(second, { message: "Hi" });
    expect(toolsAsked(api, 3)).toEqual(["far_echo", "far_get-sum"]);
    // Agents of a tenant share a server in a process; tenants share none.
    expect(runtime.servers?.status()).toHaveLength(3);
    const { tenantId: other } = await api.newKey(["*"]);
    const theirs = await api.base.runtimes.use(other, async (one) => one.runtime.servers);
    expect(theirs?.status()).toEqual([]);
  });

  it("is compiled once while its rows are the same", async () => {
    const api = await startTenantApi(database.shared);
    const tool = await create(api, "/v1/tools", echo("api.example.com"));
    await create(api, "/v1/agents", { name: "inner" });
    const agent = await create(api, "/v1/agents", {
      name: "outer",
      ...runs("inner"),
    });
    const { id: definitionId } = await api.platform.agents.get(api.tenantId, agent);
    const load = () =>
      api.base.runtimes.use(api.tenantId, ({ runtime }) =>
        api.base.loadAgent(runtime, { tenantId: api.tenantId, definitionId }),
      );
    const [one, two] = [await load(), await load()];
    expect(two.definition).toBe(one.definition);
    expect(two.services).toBe(one.services);
    await api.send("PUT", `/v1/agents/${agent}/tools/${tool}`, { body: {} });
    const three = await load();
    expect(three.definition).not.toBe(one.definition);
    await api.send("DELETE", `/v1/agents/${agent}/tools/${tool}`);
    expect((await load()).definition).toBe(one.definition);
  });

  it("is refused with unknown names, at their places", async () => {
    const api = await startTenantApi(database.shared);
    const body = {
      name: "c",
      tools: ["calculater", "calculator"],
      workflow_graph: {
        entry_point: "n",
        nodes: [
          { name: "n", type: "agent", config: { agent: "nobody" } },
          { name: "p", type: "planner", config: { workers: ["none"] } },
        ],
        edges: [
          { from: "n", to: "p" },
          { from: "p", to: "END" },
        ],
      },
    };
    const refused = await api.send("POST", "/v1/agents", { body });
    expect(refused.status).toBe(422);
    expect(pointers(refused.json)).toEqual([
      "/tools/0",
      "/workflow_graph/nodes/0/config/agent",
      "/workflow_graph/nodes/1/config/workers/0",
    ]);
    expect(JSON.stringify(refused.json)).toMatch(/did you mean .*calculator/);
    const agent = await create(api, "/v1/agents", { name: "c" });
    const patched = await api.send("PATCH", `/v1/agents/${agent}`, { body: { tools: ["x"] } });
    expect(patched.status).toBe(422);
    // Of another tenant.
    const { key } = await api.newKey(["*"]);
    await create(api, "/v1/tools", echo("api.example.com"));
    const foreign = { key, body: { name: "d", tools: ["echo"] } };
    expect((await api.send("POST", "/v1/agents", foreign)).status).toBe(422);
  });

  it("refuses bindings that cannot be", async () => {
    const api = await startTenantApi(database.shared);
    const tool = await create(api, "/v1/tools", echo("api.example.com"));
    const client = await create(api, "/v1/tools", {
      ...echo("a"),
      name: "ask",
      transport: { type: "client" },
    });
    const agent = await create(api, "/v1/agents", {
      name: "e",
      tools: [echo("api.example.com")],
    });
    const put = (id: string, body: object) =>
      api.send("PUT", `/v1/agents/${agent}/tools/${id}`, { body });
    expect((await put(tool, {})).status).toBe(409);
    const retried = await put(client, { config_overrides: { execution: { idempotent: true } } });
    expect(retried.status).toBe(422);
    expect(pointers(retried.json)).toEqual(["/config_overrides/execution/idempotent"]);
    expect((await put("builtin:calculator", {})).status).toBe(404);
    expect((await put(client, { config_overrides: { name: "x" } })).status).toBe(400);
    const { key } = await api.newKey(["*"]);
    const path = `/v1/agents/${agent}/tools/${client}`;
    expect((await api.send("PUT", path, { key, body: {} })).status).toBe(404);
    expect((await api.send("DELETE", path, { key })).status).toBe(404);
  });

  it("runs agents of its tenant by name, in their active versions", async () => {
    const api = await startTenantApi(database.shared, {
      script: ["one", "two", "three"],
    });
    const innermost = await create(api, "/v1/agents", {
      name: "innermost",
      system_prompt: "First.",
    });
    await create(api, "/v1/agents", {
      name: "middle",
      ...runs("innermost"),
    });
    const agent = await create(api, "/v1/agents", {
      name: "top",
      ...runs("middle"),
    });
    const ask = async () => (await api.run(agent, { message: "Hi" })).result;
    expect(await ask()).toMatchObject({ status: "complete", message: "one" });
    expect(api.model.read(0)[0]).toContain("First.");
    await api.send("PATCH", `/v1/agents/${innermost}`, { body: { system_prompt: "Second." } });
    expect(await ask()).toMatchObject({ message: "two" });
    expect(api.model.read(1)[0]).toContain("Second.");
    // Of the same name in another tenant.
    const { key, tenantId } = await api.newKey(["*"]);
    await api.send("POST", "/v1/agents", { key, body: { name: "innermost" } });
    expect((await api.platform.agents.list(tenantId)).items).toHaveLength(1);
    await api.send("DELETE", `/v1/agents/${innermost}`);
    await expect(ask()).rejects.toThrow(/unknown_agent/);
    expect((await api.send("GET", `/v1/agents/${agent}/graph`)).status).toBe(200);
  });

  it("refuses to run in itself", async () => {
    const api = await startTenantApi(database.shared);
    const one = await create(api, "/v1/agents", { name: "one" });
    const two = await create(api, "/v1/agents", { name: "two", ...runs("one") });
    await api.send("PATCH", `/v1/agents/${one}`, { body: runs("two") });
    await expect(api.run(two, { message: "Hi" })).rejects.toThrow(/agent_recursion/);
  });

  it("refuses an answer while its tools are others than the turn began with, and takes it then", async () => {
    const api = await startTenantApi(database.shared, {
      script: [{ calls: [{ name: "calculator", args: { expression: "6 * 7" } }] }, "42"],
    });
    const tool = await create(api, "/v1/tools", echo("api.example.com"));
    const agent = await create(api, "/v1/agents", {
      name: "w",
      tools: ["calculator"],
      guardrail_config: { tool_rails: { require_approval: "all" } },
    });
    const waiting = await api.run(agent, { message: "6 * 7?" }, "awaiting_human");
    const { requests } = waiting.result as unknown as { requests: { id: string }[] };
    const { definition_id, turn_id } = waiting.request as unknown as {
      definition_id: string;
      turn_id: string;
    };
    const answer = async () => {
      const request = { definition_id, turn_id, answers: { [requests[0]!.id]: true } };
      await api.platform.runs.requeue(api.tenantId, { runId: waiting.id, kind: "resume", request });
      api.base.queue.wake();
    };
    const path = `/v1/agents/${agent}/tools/${tool}`;
    await api.send("PUT", path, { body: {} });
    await answer();
    const refused = await api.until(waiting.id, "awaiting_human");
    expect(refused.result).toMatchObject({
      status: "awaiting_human",
      cause: { code: "definition_changed", message: expect.stringContaining("tools.echo") },
      requests: [{ id: requests[0]!.id }],
    });
    await api.send("DELETE", path);
    await answer();
    expect((await api.until(waiting.id, "complete")).result).toMatchObject({ message: "42" });
  });
});
