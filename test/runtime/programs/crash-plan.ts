/**
 * Waits for a line, then goes on with the plan of ../crashing-planner.ts, or begins it, and says with lines when the database
 * is open and what came of the turn. The log gets a line for every subtask and
 * every call of a tool that has ended.
 */
import { once } from "node:events";
import { compileAgent, createRuntime, executeAgent } from "../../../src/index.ts";
import type { GraphState } from "../../../src/state/channels.ts";
import { appendLine } from "../crashing-agent.ts";
import { crashingPlanner, plan, decidingModel } from "../crashing-planner.ts";

const [database = "{}", log = "", threadId = ""] = process.argv.slice(2);
const planner = crashingPlanner(log);
console.log("ready");
await once(process.stdin, "data");
const runtime = await createRuntime({
  ...(JSON.parse(database) as { databaseUrl?: string; folder?: string }),
  models: decidingModel,
  env: {},
});
const graph = await compileAgent(planner, runtime);
const stored = await graph.getState({ configurable: { thread_id: threadId } });
console.log("open");
const before = stored.values as Partial<GraphState>;
if (before.status !== "COMPLETED") {
  await executeAgent(planner, stored.createdAt === undefined ? { message: "go", plan } : null, {
    runtime,
    threadId,
    onEvent: (event) => {
      if (event.type === "subtask_end") appendLine(log, `ended ${event.id}`);
      // A call that was cut off has ended too, and nobody knows how.
      else if (event.type === "tool_result" && event.result.outcome === "success") {
        appendLine(log, `ended ${String(event.result.args["id"])}`);
      }
    },
  });
}
const { values } = await graph.getState({ configurable: { thread_id: threadId } });
const [planned] = await runtime.threads.plans(threadId);
const states = Object.values(planned?.subtasks ?? {}).map((subtask) => subtask.status);
console.log(JSON.stringify({ status: (values as GraphState).status, states }));
process.stdin.resume();
