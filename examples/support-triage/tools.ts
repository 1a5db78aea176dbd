import { readFileSync } from "node:fs";
import { z } from "zod";
import { defineTool, ToolFailure } from "../../src/index.ts";

type Records = readonly Readonly<Record<string, unknown>>[];

function find(file: string, key: string, id: string): Readonly<Record<string, unknown>> {
  const records = JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8")) as Records;
  const found = records.find((record) => record[key] === id);
  if (found === undefined) throw new ToolFailure(`There is no ${key} "${id}".`);
  return found;
}

/** Data for look-ups, from files in this folder. */
export const tools = [
  defineTool({
    name: "find_order",
    description: "Looks up an order: what was bought and paid, and where it is.",
    input_schema: z.object({ order_id: z.string().describe("Such as A-1042") }),
    handler: ({ order_id }) => find("orders.json", "order_id", order_id),
  }),
  defineTool({
    name: "find_account",
    description: "Looks up the account of a customer: version of the app and last login.",
    input_schema: z.object({ account_id: z.string().describe("Such as C-208") }),
    handler: ({ account_id }) => find("accounts.json", "account_id", account_id),
  }),
];
