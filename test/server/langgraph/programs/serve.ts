/**
 * Serves the API without keys until SIGTERM, and prints the port. Its tool `send` appends a line to a file when it begins
 * and when it ends.
 */
import { appendFileSync } from "node:fs";
import { once } from "node:events";
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

const send = defineTool({
  name: "send",
  description: "Sends a letter.",
  input_schema: z.object({ to: z.string() }),
  handler: ({ to }, { callId }) => {
    appendFileSync(log, `began ${callId} ${to}\n`);
    appendFileSync(log, `ended ${callId} ${to}\n`);
    return Promise.resolve(`Sent to ${to}.`);
  },
});

const server = await createServer({
  ...settings,
  development: true,
  env: { OPENAI_API_KEY: "sk-test", STRATAGRAPH_EMBEDDINGS: "none" },
  tools: [send],
  rates: { perKey: { perMinute: 100_000, burst: 10_000 } },
});
const { port } = await server.listen({ port: 0 });
console.log(port);
await once(process, "SIGTERM");
await server.close(10_000);
