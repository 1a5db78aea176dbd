import { describe, expect, it } from "vitest";
import { defineTool } from "../../src/definition/tool/define-tool.ts";
import { useDatabase } from "../helpers/databases.ts";
import { httpServer } from "../helpers/http-server.ts";
import { startTenantApi } from "../helpers/tenant-api.ts";

const database = useDatabase("pglite");

const weather = {
  name: "weather",
  description: "Returns the weather of a city.",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  transport: { type: "http", endpoint: "https://api.example.com/weather/{city}" },
};
const mcp = {
  name: "crm_search",
  description: "Searches customers.",
  transport: { type: "mcp-http", endpoint: "https://mcp.example.com/mcp", tool: "search" },
  permissions: ["crm:read"],
};
const pointers = (json: Record<string, unknown>) =>
  ((json["errors"] ?? []) as { pointer: string }[]).map(({ pointer }) => pointer);
const names = (json: Record<string, unknown>) =>
  (json["tools"] as { name: string }[]).map(({ name }) => name);

describe("tools of a tenant", () => {
  it("are registered, read, listed and deleted", async () => {
    const { send, newKey } = await startTenantApi(database.shared, {
      allow: { mcpHosts: ["mcp.example.com"] },
    });
    const made = await send("POST", "/v1/tools", { body: weather });
    expect(made).toMatchObject({
      status: 201,
      json: { name: "weather", status: "registered", version: "1.0.0" },
    });
    expect((await send("POST", "/v1/tools", { body: mcp })).status).toBe(201);
    expect((await send("POST", "/v1/tools", { body: weather })).status).toBe(409);
    const path = `/v1/tools/${String(made.json["id"])}`;
    expect((await send("GET", path)).json).toMatchObject({
      transport: { type: "http", method: "GET", endpoint: weather.transport.endpoint },
      input_schema: weather.input_schema,
      is_builtin: false,
    });
    expect(names((await send("GET", "/v1/tools?filter=builtin:false")).json)).toEqual([
      "crm_search",
      "weather",
    ]);
    const { key: other } = await newKey(["*"]);
    expect((await send("GET", path, { key: other })).status).toBe(404);
    expect((await send("DELETE", path, { key: other })).status).toBe(404);
    expect((await send("POST", `${path}/execute`, { key: other, body: {} })).status).toBe(404);
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await send("GET", path)).status).toBe(404);
  });

  it("are listed with the built-in ones, page by page", async () => {
    const { send } = await startTenantApi(database.shared, {
      tools: [
        defineTool({
          name: "deploy",
          description: "Deploys.",
          input_schema: { type: "object" },
          permissions: ["deploy:write", "cluster:read:all"],
          handler: () => "done",
        }),
      ],
    });
    for (const name of ["a1", "a2", "a3"])
      await send("POST", "/v1/tools", { body: { ...weather, name } });
    const all = names((await send("GET", "/v1/tools?limit=200")).json);
    expect(all.slice(0, 3)).toEqual(["a3", "a2", "a1"]);
    expect(all.slice(3)).toEqual(all.slice(3).toSorted());
    expect(all).toContain("calculator");
    expect(all).toContain("deploy");
    expect(all).not.toContain("read_file");
    const paged: string[] = [];
    for (let cursor = ""; ;) {
      const { json } = await send("GET", `/v1/tools?limit=2${cursor}`);
      paged.push(...names(json));
      if (json["next_cursor"] === null) break;
      cursor = `&cursor=${encodeURIComponent(json["next_cursor"] as string)}`;
    }
    expect(paged).toEqual(all);
    // A page that the registered tools fill ends where the others begin.
    const filled = await send("GET", "/v1/tools?limit=3");
    expect(filled.json["next_cursor"]).toBe("builtin:");
    const whole = await send("GET", `/v1/tools?limit=${all.length}`);
    expect([names(whole.json).length, whole.json["next_cursor"]]).toEqual([all.length, null]);
    // The cursor of registered tools is none of the others.
    const { json: registered } = await send("GET", "/v1/tools?limit=1");
    const wrong = `filter=builtin:true&cursor=${String(registered["next_cursor"])}`;
    expect((await send("GET", `/v1/tools?${wrong}`)).json["type"]).toBe("/problems/invalid_cursor");
    const listed = async (query: string) => names((await send("GET", `/v1/tools?${query}`)).json);
    expect(await listed("filter=name:calculator")).toEqual(["calculator"]);
    expect(await listed("filter=builtin:false,name:a2")).toEqual(["a2"]);
    expect(await listed("capabilities=deploy:*,cluster:read:all")).toEqual(["deploy"]);
    expect(await listed("capabilities=cluster:read")).toEqual([]);
    expect((await send("GET", "/v1/tools/builtin:deploy")).json).toMatchObject({
      is_builtin: true,
      permissions: ["deploy:write", "cluster:read:all"],
    });
    for (const query of ["filter=name", "filter=name:a,name:b", "cursor=x"])
      expect([query, (await send("GET", `/v1/tools?${query}`)).status]).toEqual([query, 400]);
    for (const id of ["builtin:read_file", "builtin:none", "x"])
      expect([id, (await send("GET", `/v1/tools/${id}`)).status]).toEqual([id, 404]);
    expect((await send("DELETE", "/v1/tools/builtin:deploy")).status).toBe(409);
    // A page reads six tools for the one that it may have.
    for (const name of ["a4", "a5", "a6", "a7"])
      await send("POST", "/v1/tools", { body: { ...weather, name } });
    const rare = "/v1/tools?limit=1&capabilities=rare:*";
    const { json: none } = await send("GET", rare);
    expect(none).toEqual({ tools: [], next_cursor: expect.any(String) });
    const { json: end } = await send("GET", `${rare}&cursor=${String(none["next_cursor"])}`);
    expect(end).toEqual({ tools: [], next_cursor: null });
  });

  it.each([
    [{ ...weather, name: "calculator" }, 409, []],
    [{ ...weather, name: "recall" }, 422, ["/name"]],
    [
      { ...weather, transport: { type: "http", endpoint: "https://a.example/{town}" } },
      422,
      ["/transport/endpoint"],
    ],
    [
      { ...weather, transport: { type: "http", endpoint: "http://10.0.0.1/" } },
      422,
      ["/transport/endpoint"],
    ],
    [
      { ...weather, transport: { type: "http", endpoint: "http://[::1]/" } },
      422,
      ["/transport/endpoint"],
    ],
    [
      { ...weather, transport: { type: "http", endpoint: "http://169.254.169.254/" } },
      422,
      ["/transport/endpoint"],
    ],
    [
      { ...weather, transport: { type: "http", endpoint: "https://a.example/?k={{secret:K}}" } },
      422,
      ["/transport/endpoint"],
    ],
    [{ ...weather, input_schema: { type: "string" } }, 422, ["/input_schema/type"]],
    [{ ...weather, version: "1" }, 422, ["/version"]],
    [
      { ...mcp, transport: { ...mcp.transport, endpoint: "https://other.example/mcp" } },
      422,
      ["/transport/endpoint"],
    ],
    [{ ...mcp, transport: { ...mcp.transport, tool: "find" } }, 422, ["/transport/tool"]],
    [
      { ...mcp, transport: { ...mcp.transport, headers: { a: "{{secret:}}" } } },
      422,
      ["/transport/headers/a"],
    ],
    [
      { ...mcp, transport: { type: "stdio", command: "sh", tool: "search" } },
      422,
      ["/transport/type"],
    ],
    [{ ...weather, execution: { sandbox: true } }, 400, ["/execution/sandbox"]],
    [{ ...weather, handler: "x" }, 400, ["/handler"]],
    [{ ...weather, permissions: ["file:*"] }, 400, ["/permissions/0"]],
  ])("are refused: %j", async (body, status, expected) => {
    const { send } = await startTenantApi(database.shared, {
      allow: { mcpHosts: ["mcp.example.com"] },
    });
    const answer = await send("POST", "/v1/tools", { body });
    expect(answer.status).toBe(status);
    expect(pointers(answer.json)).toEqual(expected);
  });

  it("take exactly the keys with their scopes", async () => {
    const { send, newKey } = await startTenantApi(database.shared);
    const { key } = await newKey(["tools:read"]);
    expect((await send("GET", "/v1/tools", { key })).status).toBe(200);
    const refused: [string, string, object][] = [
      ["POST", "/v1/tools", weather],
      ["POST", "/v1/tools/builtin:calculator/execute", {}],
      ["PUT", "/v1/secrets/A", { value: "12345678" }],
      ["GET", "/v1/secrets", {}],
      ["GET", "/v1/webhooks", {}],
    ];
    for (const [method, path, body] of refused) {
      const sent = method === "GET" ? {} : { body };
      expect([path, (await send(method, path, { key, ...sent })).status]).toEqual([path, 403]);
    }
  });
});

describe("a call of a tool", () => {
  it("runs built-in tools, with bounds and outcomes", async () => {
    const { send } = await startTenantApi(database.shared, {
      tools: [
        defineTool({
          name: "wait",
          description: "Waits.",
          input_schema: { type: "object" },
          handler: (_input, { signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason as Error));
            }),
        }),
        defineTool({
          name: "pay",
          description: "Pays.",
          input_schema: { type: "object" },
          permissions: ["money:spend"],
          requires_approval: true,
          handler: () => "paid",
        }),
        defineTool({
          name: "long",
          description: "Says much.",
          input_schema: { type: "object" },
          execution: { max_result_bytes: 200 },
          handler: () => "x".repeat(10_000),
        }),
      ],
    });
    const execute = (name: string, body: object) =>
      send("POST", `/v1/tools/builtin:${name}/execute`, { body });
    expect(await execute("calculator", { input: { expression: "6 * 7" } })).toMatchObject({
      status: 200,
      json: { output: expect.anything(), outcome: "success", status: "success", error: null },
    });
    expect((await execute("calculator", { input: { nothing: 1 } })).json).toMatchObject({
      output: null,
      outcome: "error",
      status: "error",
    });
    expect((await execute("wait", { timeout_ms: 5 })).json).toMatchObject({ outcome: "timeout" });
    const long = (await execute("long", {})).json;
    expect(JSON.stringify(long["output"]).length).toBeLessThan(400);
    expect((await execute("pay", {})).json["error"]).toMatch(/money:spend/);
    const granted = { permissions: ["money:*"] };
    expect(await execute("pay", granted)).toMatchObject({
      status: 409,
      json: { code: "approval_required" },
    });
    expect((await execute("pay", { ...granted, approved: true })).json["output"]).toBe("paid");
    expect((await execute("read_file", { input: { path: "package.json" } })).status).toBe(404);
  });

  it("calls the host of an HTTP tool, at public addresses unless the operator allows others", async () => {
    const host = await httpServer((request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ path: request.url }));
    });
    const body = { ...weather, transport: { type: "http", endpoint: `http://${host}/{city}` } };
    const local = { ...body, transport: { type: "http", endpoint: "http://localhost:1/{city}" } };
    const allowing = await startTenantApi(database.shared, { runtime: { httpAllow: [host] } });
    const { json } = await allowing.send("POST", "/v1/tools", { body });
    const execute = { body: { input: { city: "Rome" } } };
    const path = `/v1/tools/${String(json["id"])}/execute`;
    expect((await allowing.send("POST", path, execute)).json).toMatchObject({
      outcome: "success",
      output: { path: "/Rome" },
    });
    const strict = await startTenantApi(database.shared);
    expect((await strict.send("POST", "/v1/tools", { body })).status).toBe(422);
    const named = await strict.send("POST", "/v1/tools", { body: local });
    expect(named.status).toBe(201);
    const called = await strict.send(
      "POST",
      `/v1/tools/${String(named.json["id"])}/execute`,
      execute,
    );
    expect(called.json).toMatchObject({ outcome: "failure", status: "error" });
    expect(called.json["error"]).toMatch(/leads to a loopback address/);
  });

  it("answers with an error where the server of the tool is not there", async () => {
    const { send } = await startTenantApi(database.shared, { allow: { mcpHosts: ["127.0.0.1"] } });
    const transport = { ...mcp.transport, endpoint: "http://127.0.0.1:1/mcp" };
    const { json } = await send("POST", "/v1/tools", { body: { ...mcp, transport } });
    const { id } = json;
    const called = await send("POST", `/v1/tools/${String(id)}/execute`, { body: {} });
    expect(called).toMatchObject({ status: 200, json: { outcome: "error", output: null } });
  });

  it("waits no longer than the caller for a server that does not answer", async () => {
    const host = await httpServer(() => {});
    const { send } = await startTenantApi(database.shared, { allow: { mcpHosts: ["127.0.0.1"] } });
    const endpoint = `http://${host}/mcp`;
    const transport = { ...mcp.transport, endpoint, start_timeout_ms: 300_000 };
    const { json } = await send("POST", "/v1/tools", { body: { ...mcp, transport } });
    const path = `/v1/tools/${String(json["id"])}/execute`;
    expect(await send("POST", path, { body: { timeout_ms: 5 } })).toMatchObject({
      status: 200,
      json: { outcome: "timeout", status: "error", error: expect.stringMatching(/within 5 ms/) },
    });
    const longer = { ...transport, start_timeout_ms: 300_001 };
    const refused = await send("POST", "/v1/tools", { body: { ...mcp, transport: longer } });
    expect(pointers(refused.json)).toEqual(["/transport/start_timeout_ms"]);
  });

  it("is not made for tools that the caller of a run runs", async () => {
    const { send } = await startTenantApi(database.shared);
    const { json } = await send("POST", "/v1/tools", {
      body: { ...weather, transport: { type: "client" } },
    });
    const called = await send("POST", `/v1/tools/${String(json["id"])}/execute`, {
      body: { input: { city: "Rome" } },
    });
    expect(called.status).toBe(422);
  });
});
