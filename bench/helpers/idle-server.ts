/**
 * One of the servers of `idle-streams.ts`, by its first argument: `ours` or `bare`. Sends its URL to the process that
 * started it, then answers its messages.
 */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { createServer, type ServerBase } from "../../src/create-server.ts";
import { timedModels } from "./timed-models.ts";
import { specs } from "./trivial-graph.ts";

/** What the server answers to `measure`. */
export interface Measured {
  readonly rss: number;
  /** Bytes of the JavaScript heap and of buffers outside of it. */
  readonly heap: number;
  /** Milliseconds of CPU time since the start. */
  readonly cpuMs: number;
}

type Write = () => Promise<void>;

/** Runs that are passed over when one is written: the first ones warmed the server up, and have no readers. */
const passedOver = 150;

async function startOurs(): Promise<{ readonly url: string; readonly write: Write }> {
  let base: ServerBase | undefined;
  const server = await createServer({
    development: true,
    runtime: { models: timedModels },
    rates: { perKey: null, perTenant: null },
    limits: { maxConnections: 10_000, keepAliveTimeoutMs: 600_000, maxRequestsPerConnection: 1e6 },
    // Runs stay queued: streams have nothing to send.
    concurrency: 0,
    logger: { info: () => {}, warn: console.error, error: console.error },
    routes: (parts) => {
      base = parts;
      return [];
    },
  });
  const { url } = await server.listen({ port: 0 });
  const made = await fetch(`${url}/v1/agents`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(specs.trivial),
  });
  if (made.status !== 201) throw new Error(await made.text());
  process.once("SIGTERM", () => process.exit(0));
  const { platform, signals } = base!;
  return {
    url,
    write: async () => {
      const by = { worker: "bench", leaseMs: 600_000 };
      for (let at = 0; at < passedOver; at += 1) await platform.claims.claim(by);
      const claim = await platform.claims.claim(by);
      if (claim === null) throw new Error("No run is queued.");
      const at = performance.timeOrigin + performance.now();
      await platform.events.append(claim, [{ event: "values", data: { at } }]);
      signals.notify(claim.id);
    },
  };
}

/** Streams that are written by hand: the least that a stream of the same libraries costs. */
async function startBare(): Promise<{ readonly url: string; readonly write: Write }> {
  const writers: ((text: string) => Promise<unknown>)[] = [];
  const app = new Hono();
  app.get("/ok", (context) => context.json({ ok: true }));
  app.post("*", (context) =>
    streamSSE(context, async (stream) => {
      await stream.writeSSE({ event: "metadata", data: "{}" });
      writers.push((data) => stream.writeSSE({ event: "values", data }));
      await new Promise<void>((resolve) => stream.onAbort(resolve));
    }),
  );
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, (at) =>
      resolve({
        url: `http://127.0.0.1:${at.port}`,
        write: async () => {
          const sentAt = performance.timeOrigin + performance.now();
          await writers[Math.floor(writers.length / 2)]?.(JSON.stringify({ at: sentAt }));
        },
      }),
    );
    Object.assign(server, { keepAliveTimeout: 600_000 });
    process.once("SIGTERM", () => process.exit(0));
  });
}

const { url, write } = await (process.argv[2] === "ours" ? startOurs() : startBare());

function measure(): Measured {
  const { user, system } = process.cpuUsage();
  for (let at = 0; at < 3; at += 1) globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed + external, cpuMs: (user + system) / 1_000 };
}

process.on("message", (message) => {
  const { id, kind } = message as { readonly id: number; readonly kind: "measure" | "write" };
  if (kind === "measure") process.send?.({ id, value: measure() });
  else void write().then(() => process.send?.({ id, value: null }));
});
process.send?.({ id: 0, value: url });
