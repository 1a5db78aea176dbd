import { z } from "zod";
import { InvalidDefinitionError } from "../../definition/check/problems.ts";
import { isGranted, type ToolDefinition } from "../../definition/tool/tool.ts";
import { ConflictError, InvalidCursorError } from "../../storage/platform/errors.ts";
import type { Page } from "../../storage/platform/checks.ts";
import type { StoredTool } from "../../storage/platform/tools/tools.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import { isRecord } from "../../values/json.ts";
import { isFileTool } from "../agents/tenant-rules.ts";
import { pageAnswer, pageQuery, pageRequest, pageSchema, parameterText } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { bindingRoutes } from "./binding-routes.ts";
import { builtinPrefix, builtinTool, executeToolRoute, toolParams } from "./execute-tool.ts";
import { secretRoutes } from "./secret-routes.ts";
import {
  type RegisteredTool,
  registeredToolSchema,
  toolProblems,
  toRegistered,
} from "./tool-entry.ts";

const summary = {
  id: z.string().describe("Of a built-in tool and of the operator's: `builtin:` and its name."),
  name: z.string(),
  display_name: z.string().nullable(),
  description: z.string(),
  permissions: z.array(z.string()).describe("What an agent needs to call it."),
  transport: z.string().describe("As in `http`, `mcp-http`, `builtin`."),
  is_builtin: z.boolean().describe("Whether it came with the server."),
  version: z.string(),
  created_at: z.iso.datetime().nullable(),
};
const summarySchema = z.strictObject(summary).meta({ id: "ToolSummary" });
const toolSchema = z
  .strictObject({
    ...summary,
    transport: z.record(z.string(), z.unknown()),
    requires_approval: z.boolean(),
    input_schema: z.record(z.string(), z.unknown()),
    output_schema: z.record(z.string(), z.unknown()).nullable(),
    execution: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "Tool" });

const filterText = parameterText
  .refine(
    (text) =>
      text.split(",").every((term) => /^(?:builtin:(?:true|false)|name:[\w-]+)$/.test(term)),
    "expected builtin:true, builtin:false or name:NAME, separated by commas",
  )
  .describe("Terms that must all hold, separated by commas: `builtin:true|false`, `name:NAME`.");

const capabilitiesText = parameterText.describe(
  "Permissions separated by commas, `*` for a segment. Each must cover a permission of the tool.",
);

/** Creates the routes of tools, their bindings to agents, and secrets. */
export function toolRoutes(base: ApiBase): readonly Route[] {
  const { allow, platform } = base;
  const { tools, audit } = platform;
  return [
    defineRoute({
      method: "post",
      path: "/v1/tools",
      operationId: "registerTool",
      summary: "Registers a tool: one of an MCP server, or an HTTP request.",
      description:
        "Agents name it in `tools` or get it by a binding. A registered tool does not change. The arguments of a server's tool are checked by the schema that the server lists.",
      tag: "tools",
      scopes: ["tools:write"],
      body: registeredToolSchema,
      answers: {
        201: {
          description: "The tool, registered.",
          schema: z
            .strictObject({
              id: z.string(),
              name: z.string(),
              status: z.literal("registered"),
              version: z.string(),
              created_at: z.iso.datetime(),
            })
            .meta({ id: "ToolRegistration" }),
          headers: { Location: "Path of the tool." },
        },
      },
      problems: ["invalid_definition", "conflict"],
      async handle({ body, principal }) {
        const { tenantId, keyId } = principal;
        const { registry, httpAllow } = await base.runtimes.use(tenantId, async ({ runtime }) => ({
          registry: runtime.tools,
          httpAllow: runtime.httpAllow ?? [],
        }));
        const problems = await toolProblems(body, { allow, httpAllow });
        if (problems.length > 0) throw new InvalidDefinitionError(problems);
        const { name, version, ...definition } = body;
        if (registry.get(name) !== undefined)
          throw new ConflictError("tool", `There is a built-in tool ${JSON.stringify(name)}.`);
        const given = { name, definition, ...(version !== undefined && { version }) };
        const tool = await tools.create(tenantId, given);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "tool.register",
          subject: tool.id,
          after: body,
        });
        return {
          status: 201,
          body: {
            id: tool.id,
            name: tool.name,
            status: "registered",
            version: tool.version,
            created_at: tool.createdAt,
          },
          headers: { Location: `/v1/tools/${tool.id}` },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/tools",
      operationId: "listTools",
      summary: "Lists registered tools, newest first, then built-in tools by name.",
      tag: "tools",
      scopes: ["tools:read"],
      query: z.strictObject({
        ...pageQuery,
        filter: filterText.optional(),
        capabilities: capabilitiesText.optional(),
      }),
      answers: {
        200: {
          description: "A page of tools. It may have fewer than `limit` before the end.",
          schema: pageSchema("tools", summarySchema),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ query, principal, request }) {
        const { tenantId } = principal;
        const registry = await registryOf(base, tenantId);
        const page = await listTools(base, {
          tenantId,
          registry,
          ...pageRequest(query),
          ...readFilter(query.filter),
          capabilities: query.capabilities?.split(",") ?? [],
        });
        return pageAnswer(request, page, { name: "tools", item: (tool) => tool });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/tools/{tool_id}",
      operationId: "getTool",
      summary: "Reads a tool.",
      tag: "tools",
      scopes: ["tools:read"],
      params: toolParams,
      answers: { 200: { description: "The tool.", schema: toolSchema } },
      async handle({ params, principal }) {
        const { tenantId } = principal;
        const { tool_id: id } = params;
        if (!id.startsWith(builtinPrefix))
          return { status: 200, body: wholeTool(await tools.get(tenantId, id)) };
        const definition = builtinTool(await registryOf(base, tenantId), { id, allow });
        const { requires_approval, input_schema, output_schema = null } = definition;
        const { transport, execution } = definition;
        const body = {
          ...builtinSummary(definition),
          transport,
          execution,
          requires_approval,
          input_schema,
          output_schema,
        };
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/tools/{tool_id}",
      operationId: "deleteTool",
      summary: "Deletes a registered tool, with its bindings.",
      description: "Definitions that name it cannot run until they leave it out.",
      tag: "tools",
      scopes: ["tools:write"],
      params: toolParams,
      answers: { 204: { description: "Deleted." } },
      problems: ["conflict"],
      async handle({ params, principal }) {
        const { tenantId, keyId } = principal;
        const { tool_id: id } = params;
        if (id.startsWith(builtinPrefix)) {
          builtinTool(await registryOf(base, tenantId), { id, allow });
          throw new ConflictError("tool", "A built-in tool cannot be deleted.");
        }
        await tools.remove(tenantId, id);
        await audit.append(tenantId, { actor: `key:${keyId}`, action: "tool.delete", subject: id });
        return { status: 204 };
      },
    }),
    executeToolRoute(base),
    ...bindingRoutes(base),
    ...secretRoutes(base),
  ];
}

async function registryOf({ runtimes }: ApiBase, tenantId: string): Promise<ToolRegistry> {
  return runtimes.use(tenantId, async ({ runtime }) => runtime.tools);
}

interface Filter {
  readonly isBuiltin?: boolean;
  readonly name?: string;
}

/** @throws HttpProblem for two names, or two answers to whether it is built in */
function readFilter(text: string | undefined): Filter {
  const terms = new Map<string, string>();
  for (const term of text?.split(",") ?? []) {
    const [key = "", value = ""] = term.split(":");
    if (terms.has(key) && terms.get(key) !== value) {
      throw new HttpProblem("invalid_request", {
        errors: [{ pointer: "/filter", in: "query", detail: `"${key}" is given twice` }],
      });
    }
    terms.set(key, value);
  }
  const [isBuiltin, name] = [terms.get("builtin"), terms.get("name")];
  return {
    ...(isBuiltin !== undefined && { isBuiltin: isBuiltin === "true" }),
    ...(name !== undefined && { name }),
  };
}

/** Pages of the store that are read for one page of the list. */
const maxReads = 5;

/** Registered tools, newest first, then the others by name, whose cursors are their ids. */
async function listTools(
  { platform, allow }: ApiBase,
  of: Filter & {
    readonly tenantId: string;
    readonly registry: ToolRegistry;
    readonly limit: number;
    readonly cursor?: string;
    readonly capabilities: readonly string[];
  },
): Promise<Page<ReturnType<typeof storedSummary>>> {
  const { tenantId, registry, limit, name, isBuiltin, capabilities } = of;
  const offers = ({ permissions }: { readonly permissions: readonly string[] }) =>
    capabilities.every((one) => permissions.some((permission) => isGranted(permission, [one])));
  const items: ReturnType<typeof storedSummary>[] = [];
  let { cursor } = of;
  if (cursor?.startsWith(builtinPrefix) !== true && isBuiltin !== true) {
    for (let reads = 0; ; reads += 1) {
      const page = await platform.tools.list(tenantId, {
        limit: limit - items.length,
        ...(name !== undefined && { name }),
        ...(cursor !== undefined && { cursor }),
      });
      items.push(...page.items.map(storedSummary).filter(offers));
      if (page.next === null) break;
      cursor = page.next;
      if (items.length >= limit || reads >= maxReads) return { items, next: cursor };
    }
    cursor = undefined;
  }
  if (isBuiltin === false) return { items, next: null };
  const after = builtinName(cursor);
  const others = registry
    .names()
    .filter((one) => one > after && (name ?? one) === one)
    .filter((one) => allow.fileTools === true || !isFileTool(one))
    .toSorted()
    .flatMap((one) => registry.get(one)?.definition ?? [])
    .map(builtinSummary)
    .filter(offers);
  const room = limit - items.length;
  const last = others[room - 1]?.id ?? builtinPrefix;
  items.push(...others.slice(0, room));
  return { items, next: others.length > room ? last : null };
}

/** @throws InvalidCursorError */
function builtinName(cursor: string | undefined): string {
  if (cursor === undefined) return "";
  if (!cursor.startsWith(builtinPrefix)) throw new InvalidCursorError();
  return cursor.slice(builtinPrefix.length);
}

function storedSummary(stored: StoredTool) {
  const { transport, ...tool } = toRegistered(stored);
  return {
    id: stored.id,
    name: stored.name,
    display_name: tool.display_name ?? null,
    description: tool.description,
    permissions: tool.permissions ?? [],
    transport: transport.type as string,
    is_builtin: false,
    version: stored.version,
    created_at: stored.createdAt as string | null,
  };
}

function wholeTool(stored: StoredTool) {
  const tool: RegisteredTool = toRegistered(stored);
  const { input_schema, output_schema = null, requires_approval = false } = tool;
  const execution = isRecord(tool.execution) ? tool.execution : {};
  const { transport } = tool;
  return {
    ...storedSummary(stored),
    transport,
    requires_approval,
    input_schema,
    output_schema,
    execution,
  };
}

function builtinSummary(tool: ToolDefinition): ReturnType<typeof storedSummary> {
  return {
    id: builtinPrefix + tool.name,
    name: tool.name,
    display_name: tool.display_name ?? null,
    description: tool.description,
    permissions: tool.permissions.map(({ name }) => name),
    transport: tool.transport.type,
    is_builtin: true,
    version: tool.version,
    created_at: null,
  };
}
