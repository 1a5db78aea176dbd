/**
 * Extracts the fields of an invoice. The figures are checked by code: an answer whose lines do not make the total is
 * refused with the reason, and the next attempt mends it.
 *
 *   npm run stratagraph -- run examples/invoice-extraction/agent.ts --input '{"file": "2026-117.txt"}'
 */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { defineAgent, ToolFailure } from "../../src/index.ts";
import { invoiceSchema, wrongFigures } from "./invoice.ts";

const folder = new URL("invoices/", import.meta.url);

export default defineAgent({
  name: "invoice-extraction",
  version: "1.0.0",
  description: "Extracts the fields of an invoice, and makes sure that its figures add up.",
  system_prompt: {
    role: "You are a bookkeeper.",
    instructions: "Copy values as they stand on the invoice; dates as YYYY-MM-DD.",
  },
  input_schema: z.object({ file: z.string().describe("Name of a file in invoices/") }),
  output_schema: invoiceSchema,
  tools: {
    read_invoice: {
      description: "Gives the text of an invoice.",
      input_schema: z.object({ file: z.string() }),
      handler: async ({ file }) => {
        const path = fileURLToPath(new URL(basename(file), folder));
        return readFile(path, "utf8").catch(() => {
          throw new ToolFailure(`There is no invoice "${file}".`);
        });
      },
    },
  },
  workflow_graph: {
    entry_point: "read",
    nodes: [
      {
        name: "read",
        type: "tool",
        config: { tool: "read_invoice", args: { file: "${input.file}" } },
      },
      { name: "extract", type: "llm", config: { prompt: "Extract the fields of this invoice." } },
    ],
    edges: [
      { from: "read", to: "extract" },
      { from: "extract", to: "END" },
    ],
  },
  validate: wrongFigures,
});
