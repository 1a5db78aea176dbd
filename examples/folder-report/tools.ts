import { basename } from "node:path";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { defineTool, ToolFailure } from "../../src/index.ts";
import { compareSeasons, countSeason } from "./seasons.ts";

export const tools = [
  defineTool({
    name: "count_season",
    description: "Counts the nights and eels of a season's file, unless the power is cut.",
    input_schema: z.object({ path: z.string().describe("Such as counts/2025.csv") }),
    // A second reading does no harm.
    execution: { idempotent: true },
    handler: async ({ path }) => {
      // By then all that does not need this file is done.
      if (process.env["POWER_CUT"] === basename(path)) {
        await setTimeout(8000);
        process.exit(1);
      }
      return countSeason(path).catch(() => {
        throw new ToolFailure(`There is no file "${path}" with counts.`);
      });
    },
  }),
  defineTool({
    name: "compare_seasons",
    description: "Compares the seasons among some results in a table.",
    input_schema: z.object({ results: z.record(z.string(), z.unknown()) }),
    execution: { idempotent: true },
    handler: ({ results }) => compareSeasons(results),
  }),
];
