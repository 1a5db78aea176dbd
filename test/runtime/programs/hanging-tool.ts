/** Runs an agent whose only tool never returns and holds nothing open, and prints the outcome of the call. */
import { z } from "zod";
import { defineAgent, defineTool, executeAgent } from "../../../src/index.ts";

const hang = defineTool({
  name: "hang",
  description: "Hangs for ever.",
  input_schema: z.object({}),
  execution: { timeout_ms: 50 },
  handler: () => new Promise(() => {}),
});
const { steps } = await executeAgent(
  defineAgent({ name: "hanging", tools: [hang] }),
  { message: "Hang for ever." },
  { model: "offline:rules" },
);
process.stdout.write(steps[0]?.tool_results[0]?.outcome ?? "no call");
