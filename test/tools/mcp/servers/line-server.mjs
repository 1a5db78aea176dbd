import { createInterface } from "node:readline";

/** Writes a message of JSON-RPC as one line. */
export function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

export function tool(name, inputSchema = { type: "object" }, more = {}) {
  return { name, description: `Is ${name}.`, inputSchema, ...more };
}

export function textResult(text) {
  return { content: [{ type: "text", text }] };
}

/**
 * The least of an MCP server over stdio, with which everything can be done that a good one never does. `list` gives the
 * page after a cursor; `call` gives a result, or undefined where it answers by itself.
 */
export function serveLines({ list, call = () => textResult("done"), onMessage = () => {} }) {
  const handlers = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "line-server", version: "1.0.0" },
    }),
    "tools/list": ({ cursor }) => list(cursor),
    "tools/call": (params, id) => call(params, id),
  };
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line);
    onMessage(message);
    const { id, method, params = {} } = message;
    if (id === undefined || method === undefined) return;
    const handler = handlers[method];
    if (handler === undefined) {
      send({ id, error: { code: -32601, message: `no method ${method}` } });
      return;
    }
    const result = await handler(params, id);
    if (result !== undefined) send({ id, result });
  });
}
