import { z } from "zod";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { type MemoryEntry, uuidPattern } from "../../memory/entry.ts";
import { InvalidMemoryError } from "../../memory/errors.ts";
import type { Memory } from "../../memory/memory.ts";
import { agentNamespace, instanceIdOf } from "../../memory/namespace.ts";
import type { StoredAgent } from "../../storage/platform/agents.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { readStoredDefinition } from "../agents/read-definition.ts";
import { pageAnswer, pageQuery, pageSchema } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { Consolidations, consolidationSettings } from "./consolidate.ts";
import {
  addSchema,
  agentParams,
  consolidatedSchema,
  consolidateSchema,
  entryOf,
  entryParams,
  entrySchema,
  forgottenSchema,
  hitSchema,
  memoryType,
  nameText,
  querySchema,
  threadText,
  userText,
} from "./schemas.ts";

/** Milliseconds of a consolidation: it may call models for each candidate. */
const consolidateMs = 300_000;

/** Creates the routes of the memories of agents. */
export function memoryRoutes(base: ApiBase): readonly Route[] {
  const { agents, audit } = base.platform;
  const consolidations = new Consolidations();

  /** The active version of an agent; the newest one of an agent that was deactivated, whose memories stay. */
  const findAgent = async (tenantId: string, agentId: string): Promise<StoredAgent> => {
    try {
      return await agents.get(tenantId, agentId);
    } catch (thrown) {
      if (!(thrown instanceof NotFoundError)) throw thrown;
      const { items } = await agents.versions(tenantId, agentId, { limit: 1 });
      if (items[0] === undefined) throw thrown;
      return agents.get(tenantId, agentId, items[0].version);
    }
  };
  const useMemory = <T>(
    tenantId: string,
    model: string | undefined,
    work: (memory: Memory) => Promise<T>,
  ) => base.runtimes.use(tenantId, async ({ runtime }) => work(await runtime.memory(model)));
  const record = ({ tenantId, keyId }: Principal, action: string, subject: string) =>
    audit.append(tenantId, { actor: `key:${keyId}`, action, subject });

  return [
    defineRoute({
      method: "post",
      path: "/v1/agents/{agent_id}/memory/query",
      operationId: "queryMemory",
      summary: "Finds the memories of an agent that fit a text, best first.",
      description:
        "Reads what a turn of this user reads. Scores are comparable between queries. A query counts as no access.",
      tag: "memory",
      scopes: ["memory:read"],
      params: agentParams,
      body: querySchema,
      answers: {
        200: {
          description: "The entries.",
          schema: z.strictObject({
            entries: z.array(hitSchema),
            embedding_model: z.string().nullable().describe("Null: by words alone."),
          }),
        },
      },
      async handle({ params, body, principal: { tenantId }, signal }) {
        const agent = await findAgent(tenantId, params.agent_id);
        const { thread_id: threadId, memory_types: types, user } = body;
        return useMemory(
          tenantId,
          modelOf(readStoredDefinition(agent.definition)),
          async (memory) => {
            const hits = await memory.search({
              namespace: agentNamespace(agent.name, user ?? undefined),
              exact: true,
              text: body.query,
              topK: body.top_k,
              minScore: body.min_score,
              ...(threadId && { threadId }),
              ...(types && types.length > 0 && { types }),
              signal,
            });
            const entries = hits.map(({ entry, score, why }) => ({
              ...entryOf(entry),
              score,
              why,
            }));
            return { status: 200, body: { entries, embedding_model: memory.embeddingModel } };
          },
        );
      },
    }),
    defineRoute({
      method: "post",
      path: "/v1/agents/{agent_id}/memory/consolidate",
      operationId: "consolidateMemory",
      summary: "Moves short-term memories to long-term memory, merges and evicts.",
      description:
        "Settings that the body leaves out are those of the definition. A second call while one is under way gets 409. What an interrupted call has done stays done.",
      tag: "memory",
      scopes: ["memory:write"],
      params: agentParams,
      body: consolidateSchema,
      timeoutMs: consolidateMs,
      answers: {
        200: {
          description: "What became of the candidates.",
          schema: consolidatedSchema,
        },
      },
      problems: ["conflict"],
      async handle({ params, body, principal: { tenantId }, signal }) {
        const agent = await agents.get(tenantId, params.agent_id);
        const definition = readStoredDefinition(agent.definition);
        const threadId = body.thread_id ?? undefined;
        const options = {
          ...consolidationSettings(definition, body),
          namespace: agentNamespace(agent.name, body.user ?? undefined),
          ...(threadId !== undefined && { threadId }),
          signal,
        };
        const result = await consolidations.run(
          { tenantId, agentId: agent.agentId, threadId },
          () => useMemory(tenantId, modelOf(definition), (memory) => memory.consolidate(options)),
        );
        return { status: 200, body: result };
      },
    }),
    defineRoute({
      method: "post",
      path: "/v1/agents/{agent_id}/memory",
      operationId: "addMemory",
      summary: "Stores a memory of an agent.",
      tag: "memory",
      scopes: ["memory:write"],
      params: agentParams,
      body: addSchema,
      answers: {
        201: {
          description: "Stored.",
          schema: z.strictObject({
            id: z.string(),
            embedding_generated: z
              .boolean()
              .describe("False: the entry is found by its words alone until it is embedded."),
          }),
          headers: { Location: "Path of the entry." },
        },
      },
      async handle({ params, body, principal: { tenantId }, signal }) {
        const { thread_id: threadId, user, importance, expires_at: expiresAt, metadata } = body;
        if (expiresAt && Date.parse(expiresAt) <= base.clock.now().getTime()) {
          const errors = [{ pointer: "/expires_at", detail: "expected a time to come" }];
          throw new HttpProblem("invalid_request", { detail: "The body has 1 problem.", errors });
        }
        const agent = await agents.get(tenantId, params.agent_id);
        const { source = "user", tags, entities, speaker, data } = metadata ?? {};
        const entry = {
          namespace: agentNamespace(agent.name, user ?? undefined),
          memory_type: body.memory_type,
          content: body.content,
          ...(threadId && { thread_id: threadId, instance_id: instanceIdOf(agent.name, threadId) }),
          ...(importance !== undefined && { importance }),
          ...(expiresAt && { expires_at: expiresAt }),
          metadata: {
            source,
            ...(tags && { tags }),
            ...(entities && { entities }),
            ...(speaker !== undefined && { speaker }),
            ...(data && { data }),
          },
        };
        const model = modelOf(readStoredDefinition(agent.definition));
        const [added] = await useMemory(tenantId, model, (memory) =>
          memory.add([entry], { signal }),
        );
        if (added === undefined) throw new TypeError("an entry was added, and has no id");
        return {
          status: 201,
          body: { id: added.id, embedding_generated: added.isEmbedded },
          headers: { Location: `/v1/agents/${agent.agentId}/memory/${added.id}` },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}/memory",
      operationId: "listMemory",
      summary: "Lists the memories of an agent, of all its users, newest first.",
      tag: "memory",
      scopes: ["memory:read"],
      params: agentParams,
      query: z.strictObject({
        ...pageQuery,
        user: userText.describe("Of this user alone.").optional(),
        thread_id: threadText.optional(),
        memory_type: memoryType.optional(),
        tag: nameText.optional(),
        archived: z.enum(["true", "false"]).describe("Archived copies instead.").optional(),
      }),
      answers: {
        200: { description: "A page of entries.", schema: pageSchema("entries", entrySchema) },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal: { tenantId }, request }) {
        const { name } = await findAgent(tenantId, params.agent_id);
        const { user, thread_id: threadId, memory_type: type, tag, limit, cursor } = query;
        if (cursor !== undefined && !uuidPattern.test(cursor)) throw wrongCursor();
        const filter = {
          namespace: agentNamespace(name, user),
          ...(threadId !== undefined && { threadId }),
          ...(type !== undefined && { types: [type] }),
          ...(tag !== undefined && { tags: [tag] }),
        };
        const page = { limit: limit + 1, ...(cursor !== undefined && { after: cursor }) };
        const found = await useMemory(tenantId, "none", ({ store }) =>
          query.archived === "true" ? store.archived(filter, page) : store.list(filter, page),
        ).catch((thrown: unknown) => {
          // The entry at which the page before ended is gone.
          const isGone = thrown instanceof InvalidMemoryError && thrown.subject === "page";
          throw isGone ? wrongCursor() : thrown;
        });
        const items = found.slice(0, limit);
        const next = found.length > limit ? (items.at(-1)?.id ?? null) : null;
        return pageAnswer(request, { items, next }, { name: "entries", item: entryOf });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}/memory/{entry_id}",
      operationId: "getMemory",
      summary: "Reads a memory.",
      tag: "memory",
      scopes: ["memory:read"],
      params: entryParams,
      answers: { 200: { description: "The entry.", schema: entrySchema } },
      async handle({ params, principal: { tenantId } }) {
        const { name } = await findAgent(tenantId, params.agent_id);
        const entry = await useMemory(tenantId, "none", ({ store }) =>
          ownEntry(store, name, params.entry_id),
        );
        return { status: 200, body: entryOf(entry) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/agents/{agent_id}/memory/{entry_id}",
      operationId: "deleteMemory",
      summary: "Forgets a memory, with its archived copy and its references.",
      tag: "memory",
      scopes: ["memory:write"],
      params: entryParams,
      answers: { 200: { description: "Forgotten.", schema: forgottenSchema } },
      async handle({ params, principal }) {
        const { tenantId } = principal;
        const agent = await findAgent(tenantId, params.agent_id);
        const namespace = agentNamespace(agent.name);
        const ids = [params.entry_id];
        // By namespace as well: an entry of another agent stays, and an expired or archived one goes.
        const counts = await forget(tenantId, agent, { namespace, ids });
        if (counts.entries + counts.archived === 0)
          throw new NotFoundError("memory", params.entry_id);
        await record(principal, "memory.delete", `${agent.agentId}/${params.entry_id}`);
        return { status: 200, body: counts };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/agents/{agent_id}/memory",
      operationId: "deleteUserMemory",
      summary: "Forgets all memories of a user, archived copies too.",
      description:
        "Messages and answers in threads stay: they end with their thread. Repeat it for each agent that knows the user.",
      tag: "memory",
      scopes: ["memory:write"],
      params: agentParams,
      query: z.strictObject({ user: userText }),
      answers: { 200: { description: "Forgotten.", schema: forgottenSchema } },
      async handle({ params, query: { user }, principal }) {
        const { tenantId } = principal;
        const agent = await findAgent(tenantId, params.agent_id);
        const counts = await forget(tenantId, agent, {
          namespace: agentNamespace(agent.name, user),
        });
        await record(principal, "memory.delete_user", `${agent.agentId}/${user}`);
        return { status: 200, body: counts };
      },
    }),
  ];

  async function forget(
    tenantId: string,
    agent: StoredAgent,
    filter: Parameters<Memory["forget"]>[0],
  ) {
    return base.runtimes.use(tenantId, async ({ runtime }) => {
      // Its search index forgets too. Without the embeddings of the definition, the entries go all the same.
      const memory = await Promise.resolve()
        .then(() => runtime.memory(modelOf(readStoredDefinition(agent.definition))))
        .catch(() => runtime.memory("none"));
      return memory.forget(filter);
    });
  }
}

function modelOf({ spec }: AgentDefinition): string | undefined {
  return spec.memory_config.long_term.embedding_model;
}

/** @throws NotFoundError for an unknown entry, and for one of another agent */
async function ownEntry(
  store: Pick<Memory["store"], "get">,
  agent: string,
  id: string,
): Promise<MemoryEntry> {
  const [entry] = await store.get([id]);
  const isOwn = agentNamespace(agent).every((label, at) => entry?.namespace[at] === label);
  if (entry === undefined || !isOwn) throw new NotFoundError("memory", id);
  return entry;
}

function wrongCursor(): HttpProblem {
  return new HttpProblem("invalid_cursor", {
    detail: "The cursor is not valid. Begin without one.",
  });
}
