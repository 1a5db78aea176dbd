import { z } from "zod";
import type { FoundAgent } from "../../storage/platform/agent-search.ts";
import { ConflictError, NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { isRecord } from "../../values/json.ts";
import { AgentWrites } from "../agents/agent-writes.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import {
  assistantOf,
  assistantSchema,
  countSchema,
  createSchema,
  definitionIn,
  filterOf,
  findAssistant,
  metadataFilter,
  metadataSchema,
  ownSettings,
  patchSchema,
  refuseOwnSettings,
  searchSchema,
  selectedSchema,
  versionOf,
  versionSchema,
  withDefinitionPath,
} from "./assistants.ts";

export const assistantParams = z.strictObject({
  assistant_id: z.string().min(1).max(200).describe("Id or name of an agent."),
});

/** Creates the routes of assistants: each agent is one. */
export function assistantRoutes(base: ApiBase): readonly Route[] {
  const { agents, audit } = base.platform;
  const writes = new AgentWrites({ store: agents, audit, allow: base.allow, known: base.known });
  const find = ({ tenantId }: Principal, idOrName: string) =>
    findAssistant(agents, tenantId, idOrName);
  const findNamed = ({ tenantId }: Principal, name: string) =>
    agents.searches.find(tenantId, { name });

  /** Creates an agent, or returns the one of its name. */
  const create = async (principal: Principal, body: z.output<typeof createSchema>) => {
    const { graph_id: graphId, if_exists: ifExists, assistant_id: wantedId } = body;
    const { name, description } = { name: graphId, description: body.description };
    const definition = definitionIn(body);
    const existing = await findNamed(principal, graphId);
    const metadata = existing === undefined ? {} : versionOf(existing).metadata;
    refuseOwnSettings(body, { name, metadata: { created_by: "system", ...metadata } });
    if (wantedId !== undefined && wantedId !== existing?.agentId) throw chosenId();
    if (definition === undefined) {
      if (existing === undefined) throw new NotFoundError("graph", graphId);
      if (description !== undefined && description !== (existing.description ?? ""))
        throw ownSettings([["description"]]);
      if (wantedId !== undefined && ifExists === "raise") throw exists(graphId);
      return existing;
    }
    if (!isRecord(definition) || definition["name"] !== graphId) {
      const pointer = "/config/configurable/definition/name";
      const errors = [{ pointer, detail: "expected the graph_id" }];
      const detail = "The graph_id is the name of the agent that the definition describes.";
      throw new HttpProblem("invalid_input", { detail, errors });
    }
    if (existing !== undefined) {
      if (ifExists === "raise") throw exists(graphId);
      return existing;
    }
    const written = description === undefined ? definition : { ...definition, description };
    try {
      const agent = await withDefinitionPath(() => writes.create(principal, written));
      return await find(principal, agent.agentId);
    } catch (thrown) {
      // Another call was first, or the agent was deactivated.
      const other =
        thrown instanceof ConflictError && ifExists === "do_nothing"
          ? await findNamed(principal, graphId)
          : undefined;
      if (other === undefined) throw thrown;
      return other;
    }
  };

  const change = async (
    principal: Principal,
    found: FoundAgent,
    body: z.output<typeof patchSchema>,
  ) => {
    refuseOwnSettings(body, { name: found.name, metadata: versionOf(found).metadata });
    if (body.graph_id !== undefined && body.graph_id !== found.name)
      throw ownSettings([["graph_id"]]);
    const definition = definitionIn(body);
    const { description } = body;
    if (definition === undefined && description === undefined) return found;
    const current = await agents.get(principal.tenantId, found.agentId);
    const given = definition ?? { ...current.definition, version: undefined };
    const whole = isRecord(given) && description !== undefined ? { ...given, description } : given;
    const version = isRecord(definition) ? definition["version"] : undefined;
    const isVersioned = typeof version === "string" && version !== current.version;
    const written = isRecord(whole) ? withoutUndefined(whole) : whole;
    await withDefinitionPath(() => writes.change(principal, current, { written, isVersioned }));
    return find(principal, found.agentId);
  };

  return [
    defineRoute({
      method: "post",
      path: "/assistants/search",
      operationId: "searchAssistants",
      summary: "Searches the assistants: each active agent is one.",
      tag: "langgraph",
      scopes: ["agents:read"],
      body: searchSchema,
      answers: {
        200: {
          description: "A part of the assistants.",
          schema: z.array(selectedSchema),
          headers: {
            "X-Pagination-Total": "How many assistants fit.",
            "X-Pagination-Next": "Offset of the next part, unless this is the last one.",
          },
        },
      },
      async handle({ body, principal: { tenantId } }) {
        const { limit, offset, select, sort_by: sortBy, sort_order: order } = body;
        const filter = filterOf(body);
        const isAscending = order === "asc";
        const search = {
          limit,
          offset,
          isAscending,
          sortBy: sortBy === "graph_id" ? "name" : sortBy,
        };
        const { items, total } =
          filter === null
            ? { items: [], total: 0 }
            : await agents.searches.search(tenantId, { ...filter, ...search });
        const next = offset + items.length;
        return {
          status: 200,
          body: items.map((agent) => selected(assistantOf(agent), select)),
          headers: {
            "X-Pagination-Total": String(total),
            ...(items.length > 0 && next < total && { "X-Pagination-Next": String(next) }),
          },
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/assistants/count",
      operationId: "countAssistants",
      summary: "Counts the assistants that fit a filter.",
      tag: "langgraph",
      scopes: ["agents:read"],
      body: countSchema,
      answers: { 200: { description: "The number.", schema: z.int() } },
      async handle({ body, principal: { tenantId } }) {
        const filter = filterOf(body);
        return {
          status: 200,
          body: filter === null ? 0 : await agents.searches.count(tenantId, filter),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/assistants",
      operationId: "createAssistant",
      summary: "Creates an agent from a definition, or answers with the agent of a graph.",
      description:
        "`config.configurable.definition` takes what POST /v1/agents takes. Without it, the answer is the assistant that the graph has already. Assistants with settings of their own over the graph of another are refused.",
      tag: "langgraph",
      scopes: ["agents:write"],
      body: createSchema,
      answers: { 200: { description: "The assistant.", schema: assistantSchema } },
      problems: ["not_found", "conflict", "invalid_input", "invalid_definition"],
      handle: async ({ body, principal }) => ({
        status: 200,
        body: assistantOf(await create(principal, body)),
      }),
    }),
    defineRoute({
      method: "get",
      path: "/assistants/{assistant_id}",
      operationId: "getAssistant",
      summary: "Reads an assistant.",
      tag: "langgraph",
      scopes: ["agents:read"],
      params: assistantParams,
      answers: { 200: { description: "The assistant.", schema: assistantSchema } },
      handle: async ({ params, principal }) => ({
        status: 200,
        body: assistantOf(await find(principal, params.assistant_id)),
      }),
    }),
    defineRoute({
      method: "patch",
      path: "/assistants/{assistant_id}",
      operationId: "updateAssistant",
      summary: "Creates a new version of an agent from a definition or a description.",
      tag: "langgraph",
      scopes: ["agents:write"],
      params: assistantParams,
      body: patchSchema,
      answers: { 200: { description: "The assistant.", schema: assistantSchema } },
      problems: ["version_mismatch", "invalid_input", "invalid_definition"],
      async handle({ params, body, principal }) {
        const found = await find(principal, params.assistant_id);
        return { status: 200, body: assistantOf(await change(principal, found, body)) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/assistants/{assistant_id}",
      operationId: "deleteAssistant",
      summary: "Deactivates an agent: it takes no new runs.",
      tag: "langgraph",
      scopes: ["agents:write"],
      params: assistantParams,
      query: z.strictObject({
        delete_threads: z.enum(["true", "false"]).optional().describe("Only false."),
      }),
      answers: { 200: { description: "Its id.", schema: z.array(z.string()) } },
      problems: ["invalid_input"],
      async handle({ params, query, principal }) {
        if (query.delete_threads === "true") {
          const detail = "An assistant is deleted without its threads. Delete those first.";
          throw new HttpProblem("invalid_input", { detail });
        }
        const { agentId } = await find(principal, params.assistant_id);
        await writes.deactivate(principal, agentId);
        return { status: 200, body: [agentId] };
      },
    }),
    defineRoute({
      method: "post",
      path: "/assistants/{assistant_id}/versions",
      operationId: "listAssistantVersions",
      summary: "Lists the versions of an assistant, newest first.",
      tag: "langgraph",
      scopes: ["agents:read"],
      params: assistantParams,
      body: z.object({
        limit: z.int().min(1).max(1000).default(10),
        offset: z.int().min(0).max(1_000_000_000).default(0),
        metadata: metadataSchema.optional(),
      }),
      answers: { 200: { description: "Versions.", schema: z.array(versionSchema) } },
      async handle({ params, body: { limit, offset, metadata = {} }, principal }) {
        const { agentId } = await find(principal, params.assistant_id);
        const filter = metadataFilter(metadata);
        if (filter === null) return { status: 200, body: [] };
        const page = { agentId, limit, offset, ...filter };
        const found = await agents.searches.versions(principal.tenantId, page);
        return { status: 200, body: found.map(versionOf) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/assistants/{assistant_id}/latest",
      operationId: "setLatestAssistantVersion",
      summary: "Makes a version of an agent the active one.",
      tag: "langgraph",
      scopes: ["agents:write"],
      params: assistantParams,
      body: z.object({ version: z.int().min(1).max(1_000_000_000) }),
      answers: { 200: { description: "The assistant.", schema: assistantSchema } },
      async handle({ params, body: { version: number }, principal }) {
        const { tenantId, keyId } = principal;
        const { agentId } = await find(principal, params.assistant_id);
        const found = await agents.searches.numbered(tenantId, { agentId, number });
        if (found === undefined) throw new NotFoundError("assistant version", String(number));
        await agents.activate(tenantId, agentId, found.version);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "agent.activate",
          subject: agentId,
          after: found.version,
        });
        return { status: 200, body: assistantOf(await find(principal, agentId)) };
      },
    }),
  ];
}

function exists(name: string): HttpProblem {
  const detail = `There is an assistant of the graph ${JSON.stringify(name.slice(0, 200))} already.`;
  return new HttpProblem("conflict", { detail });
}

function chosenId(): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail: "The id of an assistant is given by the server. Leave it out.",
    errors: [{ pointer: "/assistant_id", detail: "set by the server" }],
  });
}

function selected(
  assistant: z.output<typeof assistantSchema>,
  keys: readonly string[] | undefined,
): z.output<typeof selectedSchema> {
  if (keys === undefined) return assistant;
  return Object.fromEntries(Object.entries(assistant).filter(([key]) => keys.includes(key)));
}

function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, own]) => own !== undefined));
}
