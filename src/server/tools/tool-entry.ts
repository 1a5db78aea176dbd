import { z } from "zod";
import { checkDefinition, isSemanticVersion } from "../../definition/check/check-definition.ts";
import type { DefinitionPath, DefinitionProblem } from "../../definition/check/problems.ts";
import { impliedTools } from "../../definition/check/tools.ts";
import { dataToolSchema } from "../../definition/schema/data-tools.ts";
import { serverSchema, toolSettings } from "../../definition/schema/servers.ts";
import { withSampleInputs } from "../../definition/tool/request-template.ts";
import { errorMessage } from "../../errors.ts";
import { checkLiteralAddress } from "../../tools/builtins/http/addresses.ts";
import {
  entryFor,
  type HttpAllow,
  publicHosts,
  readAllowList,
} from "../../tools/builtins/http/allow-list.ts";
import type { StoredTool } from "../../storage/platform/tools/tools.ts";
import { createHttpTool } from "../../tools/http-tool.ts";
import { toolName } from "../../tools/mcp/server-tools.ts";
import { canonicalJson, isRecord } from "../../values/json.ts";
import { type TenantAllowance, tenantProblems } from "../agents/tenant-rules.ts";

const [clientTransport, httpTransport] = dataToolSchema.shape.transport.options;
const [stdioServer, remoteServer] = serverSchema.options;

const ofServer = {
  tool: z
    .string()
    .min(1)
    .max(256)
    .describe("The server's own name of the tool. Default: the name of the tool.")
    .optional(),
  start_timeout_ms: remoteServer.shape.start_timeout_ms,
};
const remote = {
  endpoint: remoteServer.shape.endpoint,
  headers: remoteServer.shape.headers,
  ...ofServer,
};
const { command, args, env, cwd } = stdioServer.shape;

/** A tool as a client registers it: one of an MCP server, an HTTP request, or one that the caller of runs runs. */
export const registeredToolSchema = dataToolSchema
  .extend({
    transport: z.discriminatedUnion("type", [
      httpTransport,
      clientTransport,
      z.strictObject({ type: z.literal("mcp-http"), ...remote }),
      z.strictObject({ type: z.literal("sse"), ...remote }),
      z.strictObject({ type: z.literal("stdio"), command, args, env, cwd, ...ofServer }),
    ]),
  })
  .meta({ id: "RegisteredTool" });

export type RegisteredTool = z.output<typeof registeredToolSchema>;

/** Returns a stored tool as it was registered. */
export function toRegistered({ name, version, definition }: StoredTool): RegisteredTool {
  return { ...definition, name, version } as unknown as RegisteredTool;
}

/** What a binding may change of a tool. */
export const overridesSchema = z.strictObject({
  ...toolSettings,
  description: dataToolSchema.shape.description.optional(),
});
type Overrides = z.output<typeof overridesSchema>;

/** Returns a registered tool as an entry of a definition's `tools`. */
export function toolEntry(tool: RegisteredTool, overrides: Overrides = {}): ToolEntry {
  const { transport, ...rest } = tool;
  const execution = { ...tool.execution, ...overrides.execution };
  const settings = withoutUndefined({
    description: overrides.description ?? tool.description,
    permissions: overrides.permissions ?? tool.permissions,
    requires_approval: overrides.requires_approval ?? tool.requires_approval,
    ...(Object.keys(execution).length > 0 && { execution }),
  });
  if (transport.type === "http" || transport.type === "client")
    return { ...withoutUndefined(rest), transport: withoutUndefined(transport), ...settings };
  const { type, tool: own = tool.name, ...reach } = transport;
  const known = toolName(own) ?? own;
  const prefix = tool.name.slice(0, Math.max(0, tool.name.length - known.length));
  return {
    mcp: {
      name: tool.name,
      transport: type === "mcp-http" ? "http" : type,
      ...withoutUndefined(reach),
      tools: [own],
      ...(prefix !== "" && { prefix }),
      overrides: { [own]: settings },
    },
  };
}

type ToolEntry = Readonly<Record<string, unknown>>;

function withoutUndefined(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
}

/** Joins the entries of registered tools that are of one MCP server, so that it is connected to once. */
export function joinServers(entries: readonly unknown[]): readonly unknown[] {
  const joined = new Map<string, unknown>();
  for (const entry of entries) {
    const server = isRecord(entry) && isRecord(entry["mcp"]) ? entry["mcp"] : undefined;
    if (server === undefined) {
      joined.set(`entry ${joined.size}`, entry);
      continue;
    }
    const { name: _name, tools, overrides, ...reach } = server;
    const key = canonicalJson(reach);
    const earlier = joined.get(key) as { mcp: Record<string, unknown> } | undefined;
    if (earlier === undefined) {
      joined.set(key, entry);
      continue;
    }
    const { mcp } = earlier;
    joined.set(key, {
      mcp: {
        ...mcp,
        tools: [...(mcp["tools"] as unknown[]), ...(tools as unknown[])],
        overrides: { ...(mcp["overrides"] as object), ...(overrides as object) },
      },
    });
  }
  return [...joined.values()];
}

/**
 * Returns the problems of a tool, as definitions report them of an entry of `tools`, with paths in the tool.
 *
 * @param of.httpAllow private hosts that HTTP tools may call
 */
export async function toolProblems(
  tool: RegisteredTool,
  of: { readonly allow: TenantAllowance; readonly httpAllow: readonly HttpAllow[] },
): Promise<readonly DefinitionProblem[]> {
  const { transport, version } = tool;
  const isOfServer = transport.type !== "http" && transport.type !== "client";
  const document = { name: "tools", tools: [toolEntry(tool)] };
  const checked = checkDefinition(document);
  const problems = [
    ...(checked.ok ? [] : checked.problems),
    ...tenantProblems(document, of.allow),
  ].map((problem) => ({ ...problem, path: pathInTool(problem.path) }));
  if (Object.hasOwn(impliedTools, tool.name))
    problems.push({ path: ["name"], message: "the name of a built-in tool" });
  if (isOfServer && version !== undefined && !isSemanticVersion(version))
    problems.push({ path: ["version"], message: "expected a semantic version such as 1.0.0" });
  if (isOfServer) problems.push(...ownNameProblems(tool.name, transport.tool ?? tool.name));
  if (problems.length > 0 || transport.type !== "http") return problems;
  return httpProblems({ ...tool, transport }, of.httpAllow);
}

function ownNameProblems(name: string, own: string): readonly DefinitionProblem[] {
  const known = toolName(own);
  const prefix = known === undefined ? "" : name.slice(0, Math.max(0, name.length - known.length));
  if (known !== undefined && /^[\w-]{0,32}$/.test(prefix) && toolName(own, prefix) === name)
    return [];
  const message =
    "agents know the tool by its name on the server, with . and / as _; the name may have up to 32 characters before it";
  return [{ path: ["transport", "tool"], message, ...(known !== undefined && { found: known }) }];
}

async function httpProblems(
  tool: Parameters<typeof createHttpTool>[0],
  httpAllow: readonly HttpAllow[],
): Promise<readonly DefinitionProblem[]> {
  try {
    await createHttpTool(tool);
  } catch (thrown) {
    // What is left to be wrong after the check: the JMESPath of `select`.
    return [{ path: ["transport", "response", "select"], message: errorMessage(thrown) }];
  }
  const url = new URL(withSampleInputs(tool.transport.endpoint));
  try {
    checkLiteralAddress(url, entryFor(url, readAllowList(httpAllow)) ?? publicHosts);
    return [];
  } catch (thrown) {
    return [{ path: ["transport", "endpoint"], message: errorMessage(thrown) }];
  }
}

const ownKeys = new Set(["endpoint", "headers", "command", "args", "env", "cwd"]);

/** The path in a registered tool of a path in the document that it was checked in. */
function pathInTool(path: DefinitionPath): DefinitionPath {
  const [list, , first, ...rest] = path;
  if (list !== "tools" || first === undefined) return path.slice(2);
  if (first !== "mcp") return [first, ...rest];
  const [key, ...below] = rest;
  if (key === "overrides") return below.slice(1);
  if (key === "transport") return ["transport", "type"];
  return typeof key === "string" && ownKeys.has(key) ? ["transport", key, ...below] : ["transport"];
}
