import { appendFileSync, mkdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createServer, defineTool } from "../../src/index.ts";

const folder = ".stratagraph";
export const outbox = `${folder}/outbox.txt`;

const letter = z.object({ text: z.string() });

const tools = [
  defineTool({
    name: "send_letter",
    description: "Sends a letter.",
    input_schema: letter,
    handler: ({ text }) => {
      mkdirSync(folder, { recursive: true });
      appendFileSync(outbox, `${text}\n`);
      return "sent";
    },
  }),
  defineTool({
    name: "file_copy",
    description: "Files a copy of a letter, which takes a while.",
    input_schema: letter,
    // Twice is once: a call that a killed process had begun is made again.
    execution: { idempotent: true },
    handler: async () => {
      await delay(2_000);
      return "filed";
    },
  }),
];

/** Serves LangGraph's protocol without keys, on Postgres at `DATABASE_URL` or in the folder. Returns the URL. */
export async function serve(): Promise<string> {
  const server = await createServer({ development: true, folder, tools });
  const { url } = await server.listen({ port: 0 });
  return url;
}
