import { fileURLToPath } from "node:url";
import { pinCheckpointer } from "../checkpointers/pin.ts";
import {
  compileAgent,
  createRuntime,
  loadAgent,
  type AgentDefinition,
  type AgentGraph,
} from "../src/index.ts";

/**
 * Compiles an agent for `langgraph dev` or an Agent Server. With `DATABASE_URL` set its threads are ours, the same that
 * the command line sees; without, the server keeps them.
 */
export async function serveAgent(agent: string | AgentDefinition): Promise<AgentGraph> {
  const definition =
    typeof agent === "string"
      ? await loadAgent(fileURLToPath(new URL(agent, import.meta.url)))
      : agent;
  const runtime = await createRuntime(process.env["DATABASE_URL"] ? {} : { checkpointer: false });
  const graph = await compileAgent(definition, runtime);
  return runtime.checkpointer ? pinCheckpointer(graph, runtime.checkpointer) : graph;
}
