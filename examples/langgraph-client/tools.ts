import { appendFileSync, mkdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";

export const folder = ".stratagraph";
export const outbox = `${folder}/outbox.txt`;

const letter = z.object({ text: z.string() });

export const tools = [
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
