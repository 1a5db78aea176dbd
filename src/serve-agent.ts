import { fileURLToPath } from "node:url";
import { pinCheckpointer, pinStore } from "../checkpointers/pin.ts";
import { compileAgent, createRuntime, type RuntimeOptions } from "./app.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import { loadAgent } from "./definition/load/load-agent.ts";

export interface ServeAgentOptions extends Omit<RuntimeOptions, "root"> {
  /** The folder that the built-in file tools are confined to. Default: the working directory. */
  readonly root?: string | URL;
}

/**
 * Compiles an agent for `langgraph dev` or an Agent Server. Export the result from a file that `langgraph.json` names.
 *
 * With a database (`DATABASE_URL`, or the option `databaseUrl` or `folder`) the server shares its threads and its
 * memories with the command line and with code. Without one the server stores threads and items of stores itself.
 *
 * @param agent a definition, or its file: a path relative to the working directory, or a URL
 * @throws the errors of {@link loadAgent}, {@link createRuntime} and {@link compileAgent}
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
  if (!runtime.checkpointer) return graph;
  const pinned = pinCheckpointer(graph, runtime.checkpointer);
  // The server's own store would come before that of the runtime, which its tools get.
  return checkpointer === undefined ? pinStore(pinned, undefined) : pinned;
}

function pathOf(file: string | URL): string {
  return file instanceof URL ? fileURLToPath(file) : file;
}
