import { agentReferences, isAgentPath } from "../../definition/check/agents.ts";
import type { DefinitionPath, DefinitionProblem } from "../../definition/check/problems.ts";
import { isRecord } from "../../values/json.ts";

/** What the operator of a server allows definitions of tenants, apart from the harmless. Default nothing. */
export interface TenantAllowance {
  /** MCP servers as processes of this machine. */
  readonly stdioServers?: boolean;
  /** Hosts of remote MCP servers, as in `mcp.example.com`; `*` for all. */
  readonly mcpHosts?: readonly string[];
  /** The tools that read files of this machine. */
  readonly fileTools?: boolean;
  /** Modules of @langchain/community. */
  readonly communityTools?: boolean;
  /** Model servers of the tenant's own, to which this server would send its API key. */
  readonly modelServers?: boolean;
  /** Secrets that are stored without encryption, where no keys are configured. */
  readonly plainSecrets?: boolean;
  /** The shortest time between two firings of a schedule, in seconds. At least 1, default 60. */
  readonly scheduleSeconds?: number;
}

const fileTools = new Set(["read_file", "list_files", "search_text", "query_json_file"]);

/** Whether a tool reads files of the server's machine. */
export function isFileTool(name: string): boolean {
  return fileTools.has(name);
}

/**
 * Returns the problems of a tenant's definition on a server that runs those of others: what reaches files, processes or
 * networks of the server's machine. Works on any document, valid or not.
 */
export function tenantProblems(
  written: unknown,
  allow: TenantAllowance = {},
): readonly DefinitionProblem[] {
  if (!isRecord(written)) return [];
  return [
    ...toolProblems(written["tools"], allow),
    ...nodeToolProblems(written, allow),
    ...(allow.modelServers === true ? [] : modelServerProblems(written)),
    ...agentReferences(written)
      .filter(({ agent }) => isAgentPath(agent))
      .map(({ at }) => ({ path: at, message: "expected the name of an agent, not a path" })),
  ];
}

function toolProblems(tools: unknown, allow: TenantAllowance): DefinitionProblem[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown, index) => {
    const path = ["tools", index];
    if (typeof tool === "string") return fileToolProblems(tool, path, allow);
    if (!isRecord(tool)) return [];
    if ("community" in tool && allow.communityTools !== true) {
      const message = "tools of @langchain/community are not allowed on this server";
      return [{ path: [...path, "community"], message }];
    }
    return isRecord(tool["mcp"]) ? mcpProblems(tool["mcp"], [...path, "mcp"], allow) : [];
  });
}

function mcpProblems(
  server: Record<string, unknown>,
  path: DefinitionPath,
  allow: TenantAllowance,
): DefinitionProblem[] {
  if (server["transport"] === "stdio") {
    if (allow.stdioServers === true) return [];
    const message = "MCP servers that are processes (stdio) are not allowed on this server";
    return [{ path: [...path, "transport"], message }];
  }
  const { mcpHosts = [] } = allow;
  const { endpoint } = server;
  if (mcpHosts.includes("*") || typeof endpoint !== "string") return [];
  const host = URL.canParse(endpoint) ? new URL(endpoint).hostname : "";
  if (mcpHosts.includes(host)) return [];
  return [
    {
      path: [...path, "endpoint"],
      message: "MCP servers of this host are not allowed on this server",
      ...(mcpHosts.length > 0 && { allowed: mcpHosts }),
    },
  ];
}

/** Tool nodes of a workflow name tools as well. */
function nodeToolProblems(
  written: Record<string, unknown>,
  allow: TenantAllowance,
): DefinitionProblem[] {
  return nodesOf(written).flatMap(({ config, path }) =>
    [config["tool"], config["tools"]].flat().flatMap((tool: unknown) => {
      return typeof tool === "string" ? fileToolProblems(tool, path, allow) : [];
    }),
  );
}

function fileToolProblems(
  tool: string,
  path: DefinitionPath,
  allow: TenantAllowance,
): DefinitionProblem[] {
  if (!isFileTool(tool) || allow.fileTools === true) return [];
  return [{ path, message: `the file tool "${tool}" is not allowed on this server` }];
}

function modelServerProblems(written: Record<string, unknown>): DefinitionProblem[] {
  const config = written["llm_config"];
  if (!isRecord(config) || config["base_url"] === undefined) return [];
  const message = "model servers of a definition's choice are not allowed on this server";
  return [{ path: ["llm_config", "base_url"], message }];
}

function nodesOf(
  written: Record<string, unknown>,
): { readonly config: Record<string, unknown>; readonly path: DefinitionPath }[] {
  const graph = written["workflow_graph"];
  const nodes: unknown = isRecord(graph) ? graph["nodes"] : undefined;
  if (!Array.isArray(nodes)) return [];
  return nodes.flatMap((node: unknown, index) => {
    const config = isRecord(node) ? node["config"] : undefined;
    return isRecord(config) ? [{ config, path: ["workflow_graph", "nodes", index, "config"] }] : [];
  });
}
