import { fileURLToPath } from "node:url";
import { pinCheckpointer } from "../checkpointers/pin.ts";
import { compileAgent, createRuntime, type RuntimeOptions } from "./app.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import { loadAgent } from "./definition/load/load-agent.ts";

export interface ServeAgentOptions extends Omit<RuntimeOptions, "root"> {
  /** Folder that the file tools may read. Default: the working directory. */
  readonly root?: string | URL;
}

/**
 * Compiles an agent for `langgraph dev` or an Agent Server: export what it returns from a file that `langgraph.json` names.
 * With a database (`DATABASE_URL`, or the `databaseUrl` or `folder` of the options) its threads are those that the command
 * line and code see; without one the server keeps them.
 *
 * @param agent a definition, or its file: a path from the working directory, or a URL
 * @throws what {@link loadAgent}, {@link createRuntime} and {@link compileAgent} throw
 * @example
 * export const graph = await serveAgent(new URL("agent.yaml", import.meta.url));
 */
export async function serveAgent(
  agent: string | URL | AgentDefinition,
  { root, ...options }: ServeAgentOptions = {},
): Promise<AgentGraph> {
  const isFile = typeof agent === "string" || agent instanceof URL;
  const definition = isFile ? await loadAgent(pathOf(agent)) : agent;
  const { env = process.env, databaseUrl = env["DATABASE_URL"], folder } = options;
  const isStored = Boolean(databaseUrl) || folder !== undefined;
  const { checkpointer = isStored ? undefined : false } = options;
  const runtime = await createRuntime({
    ...options,
    ...(checkpointer !== undefined && { checkpointer }),
    ...(root !== undefined && { root: pathOf(root) }),
  });
  const graph = await compileAgent(definition, runtime);
  return runtime.checkpointer ? pinCheckpointer(graph, runtime.checkpointer) : graph;
}

function pathOf(file: string | URL): string {
  return file instanceof URL ? fileURLToPath(file) : file;
}
