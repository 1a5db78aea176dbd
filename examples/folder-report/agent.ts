/**
 * The planner of agent.yaml in TypeScript: its counter has a tool of its own, and its reporter is a function.
 *
 *   npm run stratagraph -- run examples/folder-report/agent.ts --root examples/folder-report - < examples/folder-report/task.txt
 */
import { z } from "zod";
import { defineAgent, definePlanner, defineWorker } from "../../src/index.ts";
import { compareSeasons, countSeason, seasonSchema } from "./seasons.ts";

const archivist = defineAgent({
  name: "archivist",
  description: "Lists folders, reads notes, and finds what files say, with file and line.",
  system_prompt: {
    role: "You are an archivist.",
    instructions: "Look into the files. Answer with what they say, and nothing else.",
  },
  tools: ["list_files", "read_file", "search_text"],
  permissions: ["file:read"],
});

const counter = defineAgent({
  name: "counter",
  description: "Counts the nights and eels of one season from its CSV file.",
  tools: {
    count_season: {
      description: "Counts the nights and eels of a season's file.",
      input_schema: z.object({ path: z.string().describe("Such as counts/2025.csv") }),
      handler: ({ path }) => countSeason(path),
    },
  },
  output_schema: seasonSchema,
});

const reporter = defineWorker({
  name: "reporter",
  description: "Compares counted seasons in a table.",
  run: ({ results }) => compareSeasons(results),
});

export default definePlanner({
  name: "folder-report",
  description: "Plans what is to be found out about a folder of counts, and has it done.",
  workers: [archivist, counter, reporter],
  permissions: ["file:read"],
  max_parallel: 4,
  timeout_seconds: 60,
});
