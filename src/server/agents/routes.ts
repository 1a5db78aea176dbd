import { z } from "zod";
import { agentJsonSchema } from "../../definition/schema/agent.ts";
import { pageAnswer, pageQuery, pageRequest, pageSchema, parameterText } from "../paging.ts";
import type { AgentSummary, ListedAgent, StoredAgent } from "../../storage/platform/agents.ts";
import type { DrawAgent } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { type Answer, defineRoute, type Route } from "../route.ts";
import { type AgentWriteOptions, AgentWrites, anotherName } from "./agent-writes.ts";
import { checkRoutes } from "./check-routes.ts";
import { mergePatch, readStoredDefinition } from "./read-definition.ts";

export interface AgentRoutesOptions extends AgentWriteOptions {
  readonly draw: DrawAgent;
}

/** The id of a row in a path. What is no id is no resource. */
const agentId = z.string().min(1).max(100).describe("Id of the agent.");
const agentParams = z.strictObject({ agent_id: agentId });

const summary = {
  id: z.string(),
  name: z.string(),
  version: z.string(),
  status: z.enum(["created", "active", "inactive"]),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
};
const agentSummary = z.strictObject(summary).meta({ id: "AgentSummary" });
const listedAgent = z
  .strictObject({
    ...summary,
    model: z.string().nullable().describe("`provider:model`; null if the definition names none."),
    tools: z.int().min(0).nullable().describe("Entries in the definition's `tools`."),
  })
  .meta({ id: "ListedAgent" });
const agentSchema = z
  .strictObject({
    ...summary,
    definition: z.record(z.string(), z.unknown()),
    yaml: z.string().describe("The definition as YAML text, with `format=yaml`.").optional(),
  })
  .meta({ id: "Agent" });
const versionSchema = z
  .strictObject({
    version: z.string(),
    version_id: z.string(),
    is_active: z.boolean(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "AgentVersion" });

const bodySchema = { id: "AgentDefinition", schema: agentJsonSchema() };
const etagHeaders = { ETag: "The version in quotes, for If-Match." };

/** Creates the routes of agents. */
export function agentRoutes(options: AgentRoutesOptions): readonly Route[] {
  const { store } = options;
  const writes = new AgentWrites(options);
  return [
    ...checkRoutes({ writes, draw: options.draw }),
    defineRoute({
      method: "post",
      path: "/v1/agents",
      operationId: "createAgent",
      summary: "Creates an agent from its definition.",
      description:
        "The body takes every key of a definition file, and is checked like one. `tools` takes names and ids of registered tools as well; agents are named by name.",
      tag: "agents",
      scopes: ["agents:write"],
      body: z.unknown(),
      bodySchema,
      answers: {
        201: {
          description: "The agent, created.",
          schema: agentSummary,
          headers: { Location: "Path of the agent.", ...etagHeaders },
        },
      },
      problems: ["invalid_definition", "conflict"],
      async handle({ body, principal }) {
        const agent = await writes.create(principal, body);
        return {
          status: 201,
          body: { ...summaryOf(agent), status: "created" },
          headers: { ETag: etagOf(agent), Location: `/v1/agents/${agent.agentId}` },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents",
      operationId: "listAgents",
      summary: "Lists the active agents, newest first.",
      tag: "agents",
      scopes: ["agents:read"],
      query: z.strictObject({
        ...pageQuery,
        name: parameterText.describe("Agents of exactly this name.").optional(),
      }),
      answers: {
        200: { description: "A page of agents.", schema: pageSchema("agents", listedAgent) },
      },
      problems: ["invalid_cursor"],
      async handle({ query, principal, request }) {
        const { name } = query;
        const filter = { ...pageRequest(query), ...(name !== undefined && { name }) };
        const page = await store.list(principal.tenantId, filter);
        return pageAnswer(request, page, { name: "agents", item: listedOf });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}",
      operationId: "getAgent",
      summary: "Reads an agent with its definition.",
      tag: "agents",
      scopes: ["agents:read"],
      params: agentParams,
      query: z.strictObject({
        version: parameterText.describe("Default: the active version.").optional(),
        format: z
          .enum(["json", "yaml"])
          .default("json")
          .describe("`yaml` adds the definition as YAML text, to be edited or compared."),
      }),
      answers: { 200: { description: "The agent.", schema: agentSchema, headers: etagHeaders } },
      async handle({ params, query, principal }) {
        const agent = await store.get(principal.tenantId, params.agent_id, query.version);
        const answer = agentAnswer(agent);
        if (query.format === "json") return answer;
        return { ...answer, body: { ...answer.body, yaml: await renderYaml(agent) } };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/v1/agents/{agent_id}",
      operationId: "updateAgent",
      summary: "Creates a new version of an agent from a merge patch (RFC 7396).",
      description:
        "Null removes a key. Without a version in the patch, the last number of the newest version goes up by one. Runs under way keep their version.",
      tag: "agents",
      scopes: ["agents:write"],
      params: agentParams,
      body: z.record(z.string(), z.unknown()),
      bodyTypes: ["application/merge-patch+json", "application/json"],
      headers: { "If-Match": "The ETag of the version that the patch is based on." },
      answers: {
        200: { description: "The new version.", schema: agentSchema, headers: etagHeaders },
      },
      problems: ["invalid_definition", "version_mismatch"],
      async handle({ params, body, principal, request }) {
        const current = await store.get(principal.tenantId, params.agent_id);
        checkIfMatch(request.headers.get("if-match"), current);
        const isVersioned = typeof body["version"] === "string";
        if (typeof body["name"] === "string" && body["name"] !== current.name)
          throw anotherName(current.name, "/name");
        const written = mergePatch(current.definition, body);
        const agent = await writes.change(principal, current, { written, isVersioned });
        return agentAnswer(agent);
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/agents/{agent_id}",
      operationId: "deactivateAgent",
      summary: "Deactivates an agent: it takes no new runs. Its versions stay readable.",
      tag: "agents",
      scopes: ["agents:write"],
      params: agentParams,
      answers: { 204: { description: "Deactivated." } },
      async handle({ params, principal }) {
        await writes.deactivate(principal, params.agent_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}/versions",
      operationId: "listAgentVersions",
      summary: "Lists the versions of an agent, newest first.",
      tag: "agents",
      scopes: ["agents:read"],
      params: agentParams,
      query: z.strictObject(pageQuery),
      answers: {
        200: { description: "A page of versions.", schema: pageSchema("versions", versionSchema) },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal, request }) {
        const page = pageRequest(query);
        const versions = await store.versions(principal.tenantId, params.agent_id, page);
        return pageAnswer(request, versions, { name: "versions", item: versionOf });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}/graph",
      operationId: "getAgentGraph",
      summary: "Draws the graph of an agent.",
      tag: "agents",
      scopes: ["agents:read"],
      params: agentParams,
      query: z.strictObject({
        format: z.enum(["mermaid", "json"]).default("mermaid"),
        version: parameterText.describe("Default: the active version.").optional(),
      }),
      answers: {
        200: {
          description: "The graph.",
          schema: z
            .union([
              z.strictObject({ format: z.literal("mermaid"), mermaid: z.string() }),
              z.strictObject({ format: z.literal("json"), graph: z.unknown() }),
            ])
            .meta({ id: "AgentGraph" }),
        },
      },
      problems: ["invalid_definition"],
      async handle({ params, query, principal }) {
        const agent = await store.get(principal.tenantId, params.agent_id, query.version);
        // It was checked by the rules when it was stored.
        const definition = readStoredDefinition(agent.definition);
        const { mermaid, graph } = await options.draw(definition);
        const { format } = query;
        return { status: 200, body: format === "json" ? { format, graph } : { format, mermaid } };
      },
    }),
  ];
}

/** @throws HttpProblem `version_mismatch` */
function checkIfMatch(ifMatch: string | null, agent: AgentSummary): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const wanted = ifMatch.split(",").map((tag) => tag.trim());
  if (wanted.includes(etagOf(agent))) return;
  throw new HttpProblem("version_mismatch", {
    detail: `The active version is ${agent.version}. Read the agent again.`,
    extensions: { version: agent.version },
    headers: { ETag: etagOf(agent) },
  });
}

function etagOf({ version }: AgentSummary): string {
  return `"${version}"`;
}

function agentAnswer(agent: StoredAgent) {
  const body = { ...summaryOf(agent), definition: { ...agent.definition, version: agent.version } };
  return { status: 200, body, headers: { ETag: etagOf(agent) } } satisfies Answer;
}

/** Renders a definition as YAML with its name and version first. Keys keep their order; lines are not folded. */
async function renderYaml({ name, version, definition }: StoredAgent): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(Object.assign({ name, version }, definition, { version }), { lineWidth: 0 });
}

function summaryOf(agent: AgentSummary) {
  return {
    id: agent.agentId,
    name: agent.name,
    version: agent.version,
    status: agent.isActive ? "active" : "inactive",
    created_at: agent.createdAt,
    updated_at: agent.updatedAt,
  };
}

function listedOf(agent: ListedAgent) {
  return { ...summaryOf(agent), model: agent.model, tools: agent.toolCount };
}

function versionOf(agent: AgentSummary) {
  return {
    version: agent.version,
    version_id: agent.id,
    is_active: agent.isActive,
    created_at: agent.createdAt,
  };
}
