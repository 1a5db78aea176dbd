import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { httpServer } from "../helpers/http-server.ts";
import { useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const folderWith = useFolders();
const key = "k3y-0f-the-orders-desk";

const host = await httpServer((request, response) => {
  const isAllowed = request.headers.authorization === `Bearer ${key}`;
  response.writeHead(isAllowed ? 200 : 401, { "content-type": "application/json" });
  response.end(JSON.stringify({ order: { url: request.url, state: "shipped" }, key }));
});

const agentFile = `
name: desk
tools:
  - name: get_order
    display_name: Order lookup
    description: Finds the state of an order by its id.
    input_schema:
      type: object
      properties: { id: { type: string } }
      required: [id]
    transport:
      type: http
      endpoint: http://${host}/orders/{id}
      headers: { Authorization: "Bearer {{secret:ORDERS_KEY}}" }
      response: { select: order }
guardrail_config:
  tool_rails: { allowed_tools: [get_order] }
llm_config: { default_model: "offline:rules" }
`;

async function setUp(env: Record<string, string> = {}) {
  const cwd = await folderWith({ "desk.yaml": agentFile });
  const io = memoryIo({ cwd, env: { STRATAGRAPH_HTTP_ALLOW: host, ORDERS_KEY: key, ...env } });
  return { io, run: (...argv: string[]) => runCli(argv, io) };
}

describe("an HTTP tool of a definition file", () => {
  it("is listed with its display name, method and host", async () => {
    const { io, run } = await setUp();
    expect(await run("tools", "list", "desk.yaml")).toBe(0);
    const line = io.stdout.take().split("\n")[1] ?? "";
    expect(line).toContain("get_order (Order lookup)");
    expect(line).toContain(`GET ${host}`);
    expect(await run("tools", "list", "desk.yaml", "--json")).toBe(0);
    expect(JSON.parse(io.stdout.take())).toMatchObject({
      tools: [{ name: "get_order", display_name: "Order lookup", idempotent: true }],
    });
  });

  it("is called, without its secret in the output", async () => {
    const { io, run } = await setUp();
    const call = ["tools", "call", "get_order", "desk.yaml", "--input", '{"id":"A 7"}'];
    expect(await run(...call)).toBe(0);
    const shown = io.stdout.take();
    expect(shown).toContain('✓ get_order (Order lookup)(id: "A 7")');
    expect(shown).toContain('"url": "/orders/A%207"');
    expect(shown).not.toContain(key);
  });

  it("is not called at a private address that the operator does not allow", async () => {
    const { io, run } = await setUp({ STRATAGRAPH_HTTP_ALLOW: "" });
    expect(await run("tools", "call", "get_order", "desk.yaml", "--input", '{"id":"7"}')).toBe(1);
    expect(io.stdout.take()).toContain("leads to a loopback address");
  });

  it("is called by a run, whose lines have its display name", async () => {
    const { io, run } = await setUp();
    expect(await run("run", "desk.yaml", 'What is the state of the order "A7"?', "--no-save")).toBe(
      0,
    );
    const shown = io.stdout.take();
    expect(shown).toContain('✓ get_order (Order lookup)(id: "A7")');
    expect(shown).toContain("shipped");
  });

  it("is checked for its secrets by doctor", async () => {
    const { io, run } = await setUp({ ORDERS_KEY: "" });
    await run("doctor", "desk.yaml", "--json");
    expect(io.stdout.take()).toContain(
      "It is not set, but tools[0].transport.headers.Authorization references it.",
    );
  });
});
