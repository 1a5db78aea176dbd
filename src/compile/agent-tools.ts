import type { AgentDefinition } from "../definition/agent-definition.ts";
import { agentReferences } from "../definition/agent-references.ts";
import { InvalidDefinitionError } from "../definition/problems.ts";
import { readWorkflow } from "../definition/read-workflow.ts";
import { railProblems, toolNameProblems } from "../definition/tool-name-problems.ts";
import type { CommunitySpec } from "../definition/server-schema.ts";
import type { AgentTool } from "../definition/tool.ts";
import type { ToolServers } from "../tools/mcp/tool-servers.ts";
import { createToolRegistry, type ToolRegistry } from "../tools/registry.ts";
import { NoToolServersError } from "./errors.ts";

/** Where the tools of definitions are found. */
export interface ToolServices {
  /** Where names are looked up. */
  readonly tools: ToolRegistry;
  /** MCP servers, started when a definition first names them. */
  readonly servers?: ToolServers | undefined;
  /** Tools of `@langchain/community` by name. */
  readonly communityTool?: ((spec: CommunitySpec) => Promise<AgentTool>) | undefined;
}

/**
 * All tools of a definition by name: those that came with it, then in its order those of the registry, of servers, which
 * are started for it, and of packages.
 *
 * @param inside names of the tools of agents inside, which tool rails may name; undefined where not all are known
 * @throws ToolClashError, UnknownToolError, InvalidDefinitionError where names in it are none of its tools; NoToolServersError,
 * ServerStartError, ServerToolsError, MissingSecretError for MCP servers; CommunityPackageError, CommunityToolError
 */
export async function agentTools(
  definition: AgentDefinition,
  services: ToolServices,
  inside: readonly string[] | undefined = [],
): Promise<ReadonlyMap<string, AgentTool>> {
  const { spec } = definition;
  const inline = createToolRegistry(definition.tools);
  const entries = definition.hasAllTools ? [] : spec.tools;
  const listed = await Promise.all(entries.map((entry) => toolsOf(entry, inline, services)));
  const all = createToolRegistry([...definition.tools, ...listed.flat()]);
  const tools = new Map(all.resolve(all.names()).map((tool) => [tool.definition.name, tool]));
  checkNames(definition, [...tools.keys()], inside);
  return tools;
}

type ToolEntry = AgentDefinition["spec"]["tools"][number];

async function toolsOf(
  entry: ToolEntry,
  inline: ToolRegistry,
  { tools, servers, communityTool }: ToolServices,
): Promise<readonly AgentTool[]> {
  if (typeof entry === "string") return inline.get(entry) ? [] : tools.resolve([entry]);
  if ("mcp" in entry) {
    if (servers === undefined) throw new NoToolServersError(entry.mcp.name);
    return (await servers.connect(entry.mcp)).tools;
  }
  if (communityTool === undefined) throw new NoToolServersError(entry.community.tool);
  return [await communityTool(entry.community)];
}

/** Names of tools that servers and packages bring, and of those of agents inside, are known only now. */
function checkNames(
  { spec }: AgentDefinition,
  names: readonly string[],
  inside: readonly string[] | undefined,
): void {
  const areKnown = spec.tools.every((entry) => typeof entry === "string");
  if (areKnown && agentReferences(spec).length === 0) return;
  const { allowed_tools: allowed } = spec.guardrail_config.tool_rails;
  const known = { names, allowed: allowed === "all" ? undefined : allowed };
  const problems = [
    ...railProblems(spec, known, inside),
    ...(spec.workflow_graph === undefined
      ? []
      : toolNameProblems(readWorkflow(spec.workflow_graph), known)),
  ];
  if (problems.length > 0) throw new InvalidDefinitionError(problems);
}
