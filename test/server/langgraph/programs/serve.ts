/**
 * Serves the API without keys until SIGTERM, and prints the port; with `isWorker`, takes runs only, and prints its name and
 * then the state in which each run ended there. The tools `send`, `note` and `hold` append a line to a file when they begin
 * and when they end. Repeating a note does no harm, nor a hold, which ends once a file `<log>.<to>` is there.
 */
import { once } from "node:events";
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createServer } from "../../../../src/create-server.ts";
import { createWorker } from "../../../../src/create-worker.ts";
import { defineTool } from "../../../../src/index.ts";

interface Settings {
  readonly databaseUrl?: string;
  readonly folder?: string;
  readonly log: string;
  readonly concurrency?: number;
  readonly labels?: readonly string[];
  readonly isWorker?: boolean;
}

const { log, isWorker, ...settings } = JSON.parse(process.argv[2] ?? "{}") as Settings;

const append = (what: string, callId: string, to: string) =>
  appendFileSync(log, `${what} ${callId} ${to} ${process.pid} ${Date.now()}\n`);

const writes = (name: string, idempotent: boolean) =>
  defineTool({
    name,
    description: "Writes a letter.",
    input_schema: z.object({ to: z.string() }),
    execution: { idempotent },
    handler: async ({ to }, { callId }) => {
      append("began", callId, to);
      await delay(2);
      append("ended", callId, to);
      return `Written to ${to}.`;
    },
  });

const hold = defineTool({
  name: "hold",
  description: "Waits for a file.",
  input_schema: z.object({ to: z.string() }),
  execution: { idempotent: true },
  handler: async ({ to }, { callId }) => {
    append("began", callId, to);
    while (!existsSync(`${log}.${to}`)) await delay(5);
    append("ended", callId, to);
    return `Held ${to}.`;
  },
});

const shared = {
  ...settings,
  development: true,
  env: { OPENAI_API_KEY: "sk-test", STRATAGRAPH_EMBEDDINGS: "none" },
  tools: [writes("send", false), writes("note", true), hold],
};
if (isWorker === true) {
  const info = (fields: object) => {
    if ("state" in fields) console.log(fields.state);
  };
  const warn = () => {};
  const worker = await createWorker({ ...shared, logger: { info, warn, error: warn } });
  console.log(worker.name);
  await once(process, "SIGTERM");
  await worker.close(10_000);
} else {
  const server = await createServer({
    ...shared,
    rates: { perKey: { perMinute: 100_000, burst: 10_000 } },
  });
  const { port } = await server.listen({ port: 0 });
  console.log(port);
  await once(process, "SIGTERM");
  await server.close(10_000);
}
