/**
 * Serves the API without keys until SIGTERM, and prints the port. The tools `send` and `note` append a line to a file when
 * they begin and when they end. Repeating a note does no harm.
 */
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createServer } from "../../../../src/create-server.ts";
import { defineTool } from "../../../../src/index.ts";

interface Settings {
  readonly databaseUrl?: string;
  readonly folder?: string;
  readonly log: string;
  readonly concurrency?: number;
}

const { log, ...settings } = JSON.parse(process.argv[2] ?? "{}") as Settings;

const writes = (name: string, idempotent: boolean) =>
  defineTool({
    name,
    description: "Writes a letter.",
    input_schema: z.object({ to: z.string() }),
    execution: { idempotent },
    handler: async ({ to }, { callId }) => {
      appendFileSync(log, `began ${callId} ${to}\n`);
      await delay(2);
      appendFileSync(log, `ended ${callId} ${to}\n`);
      return `Written to ${to}.`;
    },
  });

const server = await createServer({
  ...settings,
  development: true,
  env: { OPENAI_API_KEY: "sk-test", STRATAGRAPH_EMBEDDINGS: "none" },
  tools: [writes("send", false), writes("note", true)],
  rates: { perKey: { perMinute: 100_000, burst: 10_000 } },
});
const { port } = await server.listen({ port: 0 });
console.log(port);
await once(process, "SIGTERM");
await server.close(10_000);
