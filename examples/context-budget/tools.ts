import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { ordersOf, scansOf, stockOf } from "./shop.ts";

/** Data for look-ups. Like most services, each answers in one word and returns many other fields. */
export const tools = [
  defineTool({
    name: "list_orders",
    description: "Lists the orders of a customer, with their states and parcels.",
    input_schema: z.object({
      customer: z
        .string()
        .regex(/^C-\d+$/)
        .describe("Such as C-208"),
    }),
    handler: ({ customer }) => {
      const orders = ordersOf(Number(customer.slice(2)));
      const delayed = orders.filter(({ state }) => state === "delayed");
      const named = delayed.map(({ order_id, parcel }) => `${order_id} (parcel ${parcel})`);
      return { said: `${orders.length} orders.\nDelayed: ${named.join(", ")}.`, orders };
    },
  }),
  defineTool({
    name: "track_parcel",
    description: "Tracks a parcel: every scan on its way.",
    input_schema: z.object({
      parcel: z
        .string()
        .regex(/^PX\d+$/)
        .describe("Such as PX73480"),
    }),
    handler: ({ parcel }) => {
      const scans = scansOf(parcel);
      const { depot, day } = scans.at(-1) as { depot: string; day: string };
      return { said: `Last seen in ${depot} on ${day}.\nIt has not left since.`, scans };
    },
  }),
  defineTool({
    name: "check_stock",
    description: "Checks the stock of an item in all depots.",
    input_schema: z.object({
      sku: z
        .string()
        .regex(/^LP-\d+$/)
        .describe("Such as LP-320"),
    }),
    handler: ({ sku }) => {
      const shelves = stockOf(sku);
      const pieces = shelves.reduce((sum, one) => sum + one.pieces, 0);
      const reserved = shelves.reduce((sum, one) => sum + one.reserved, 0);
      return { said: `${pieces} pieces of ${sku}.\n${reserved} are reserved.`, shelves };
    },
  }),
];
