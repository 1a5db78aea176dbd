/**
 * Waits for a line, then goes on with the turn of the agent of ../crashing-agent.ts, or begins it, and says with lines
 * when the database is open and what came of the turn. The log gets a line for every call that has ended.
 */
import { once } from "node:events";
import { compileAgent, createRuntime, executeAgent } from "../../../src/index.ts";
import type { GraphState } from "../../../src/state/channels.ts";
import { appendLine, crashingAgent, decidingModel } from "../crashing-agent.ts";

const [database = "{}", log = "", threadId = ""] = process.argv.slice(2);
const agent = crashingAgent(log);
console.log("ready");
await once(process.stdin, "data");
const runtime = await createRuntime({
  ...(JSON.parse(database) as { databaseUrl?: string; folder?: string }),
  models: decidingModel,
  env: {},
});
const graph = await compileAgent(agent, runtime);
const stored = await graph.getState({ configurable: { thread_id: threadId } });
console.log("open");
const before = stored.values as Partial<GraphState>;
if (before.status !== "COMPLETED") {
  await executeAgent(agent, stored.createdAt === undefined ? { message: "go" } : null, {
    runtime,
    threadId,
    onEvent: (event) => {
      if (event.type !== "tool_result") return;
      const { id, name, recovered = "made" } = event.result;
      appendLine(log, `${recovered === "unknown" ? "lost" : "ended"} ${name} ${recovered} ${id}`);
    },
  });
}
const { values } = await graph.getState({ configurable: { thread_id: threadId } });
const { status, output, execution, turn } = values as GraphState;
const { tally } = execution as { tally: readonly number[] };
console.log(
  JSON.stringify({
    status,
    output,
    // What was cut off is tallied later.
    tally: tally.toSorted((a, b) => a - b),
    failure: turn?.failure,
  }),
);
process.stdin.resume();
