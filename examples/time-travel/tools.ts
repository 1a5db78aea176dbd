import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { defineTool, ToolFailure } from "../../src/index.ts";

const prices: Readonly<Record<string, number>> = { chair: 120, lamp: 45, shelf: 80 };

export const tools = [
  defineTool({
    name: "find_price",
    description: "Looks up what one piece costs.",
    input_schema: z.object({ what: z.string() }),
    handler: ({ what }) => {
      const price = prices[what];
      if (price === undefined) throw new ToolFailure(`Nobody sells "${what}" here.`);
      return price;
    },
  }),
  defineTool({
    name: "place_order",
    description: "Orders. Twice would be one order too many.",
    input_schema: z.object({ what: z.string(), pieces: z.number().int(), total: z.number() }),
    handler: ({ what, pieces, total }) => `${pieces} x ${what} for ${total}`,
  }),
  defineTool({
    name: "print_label",
    description: "Prints the label of an order, unless the power is cut, which ends everything.",
    input_schema: z.object({ order: z.string() }),
    // A second label does no harm.
    execution: { idempotent: true },
    handler: async ({ order }) => {
      if (process.env["POWER_CUT"] !== undefined) {
        await setTimeout(1000);
        process.exit(1);
      }
      return `[ ${order} ]`;
    },
  }),
];
