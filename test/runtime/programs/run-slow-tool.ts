/**
 * Runs a turn on the Postgres database of its first argument, whose tool prints "working" and ends when its signal
 * aborts; then prints how the turn ended. With a second argument it resumes the turn instead.
 */
import { z } from "zod";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../../src/index.ts";

const [databaseUrl = "", resumes] = process.argv.slice(2);
const work = defineTool({
  name: "work",
  description: "Works until it is aborted.",
  input_schema: z.object({}),
  execution: { idempotent: true },
  handler: async (_input, { signal }) => {
    console.log("working");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    console.log("aborted");
    return "aborted";
  },
});
const agent = defineAgent({
  name: "slow",
  tools: [work],
  workflow_graph: {
    entry_point: "work",
    nodes: [{ name: "work", type: "tool", config: { tool: "work", args: {} } }],
    edges: [{ from: "work", to: "END" }],
  },
});
const runtime = await createRuntime({ databaseUrl, env: {} });
const input = resumes === undefined ? { message: "go" } : null;
const result = await executeAgent(agent, input, { runtime, threadId: "t" });
const { status, cancel_reason } = result;
console.log(JSON.stringify({ status, cancel_reason }));
await runtime.close();
