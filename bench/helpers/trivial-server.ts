/** One of the servers of `http-runs.ts`, by its first argument. Sends its URL to the process that started it. */
import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { createServer } from "../../src/create-server.ts";
import { timedModels } from "./timed-models.ts";
import { specs, trivial, turn } from "./trivial-graph.ts";

interface Body {
  readonly assistant_id: "trivial" | "turn";
  readonly input: { readonly messages: readonly object[] };
}

async function startOurs(): Promise<string> {
  const server = await createServer({
    development: true,
    runtime: { models: timedModels },
    rates: { perKey: null, perTenant: null },
    concurrency: Number(process.env["CONCURRENCY"] ?? 16),
    logger: { info: () => {}, warn: console.error, error: console.error },
  });
  const { url } = await server.listen({ port: 0 });
  for (const spec of Object.values(specs)) {
    const made = await fetch(`${url}/v1/agents`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(spec),
    });
    if (made.status !== 201) throw new Error(await made.text());
  }
  process.once("SIGTERM", () => void server.close(1_000).then(() => process.exit(0)));
  return url;
}

async function startBare(): Promise<string> {
  const graphs = { trivial, turn };
  const app = new Hono();
  const configOf = () => ({ configurable: { thread_id: randomUUID() } });
  app.post("/runs/wait", async (c) => {
    const { input, assistant_id: name } = await c.req.json<Body>();
    return c.json(await graphs[name].invoke(input as never, configOf()));
  });
  app.post("/runs/stream", async (c) => {
    const { input, assistant_id: name } = await c.req.json<Body>();
    return streamSSE(c, async (stream) => {
      const chunks = await graphs[name].stream(input as never, {
        ...configOf(),
        streamMode: "messages",
      });
      for await (const chunk of chunks)
        await stream.writeSSE({ event: "messages", data: JSON.stringify(chunk) });
    });
  });
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, (at) =>
      resolve(`http://127.0.0.1:${at.port}`),
    );
    process.once("SIGTERM", () => {
      server.close();
      process.exit(0);
    });
  });
}

process.send?.(await (process.argv[2] === "ours" ? startOurs() : startBare()));
