import { fileURLToPath } from "node:url";
import { pinCheckpointer } from "../checkpointers/pin.ts";
import {
  compileAgent,
  createRuntime,
  loadAgent,
  type AgentDefinition,
  type AgentGraph,
  type AgentTool,
} from "../src/index.ts";

/**
 * Compiles an agent for `langgraph dev` or an Agent Server. With `DATABASE_URL` set its threads are ours, the same that
 * the command line sees; without, the server keeps them.
 *
 * @param root what the file tools may read, from this folder; default: the working directory
 */
export async function serveAgent(
  agent: string | AgentDefinition,
  { root, tools = [] }: { root?: string; tools?: readonly AgentTool[] } = {},
): Promise<AgentGraph> {
  const definition = typeof agent === "string" ? await loadAgent(pathTo(agent)) : agent;
  const runtime = await createRuntime({
    tools,
    ...(root !== undefined && { root: pathTo(root) }),
    ...(!process.env["DATABASE_URL"] && { checkpointer: false }),
  });
  const graph = await compileAgent(definition, runtime);
  return runtime.checkpointer ? pinCheckpointer(graph, runtime.checkpointer) : graph;
}

function pathTo(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
