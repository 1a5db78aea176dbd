import { type BaseStore, type Item, type SearchItem } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { memoryLimits } from "../../memory/entry.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";

/** Longer texts are refused by the rules of namespaces and keys, with their reason. */
const label = z.string().max(1000);
const namespace = z.array(label).max(100).describe("1 to 10 labels without `.` and `:`.");
const key = z.string().max(1000).describe("1 to 255 characters.");
/** Searches and lists read from the beginning. */
const offset = z.int().min(0).max(10_000).default(0);

const putSchema = z.object({
  namespace,
  key,
  value: z.record(z.string(), z.unknown()),
  index: z
    .union([z.literal(false), z.array(z.string().min(1).max(200)).max(20)])
    .nullish()
    .describe("Paths of the texts that a query searches; false for none. Default: all texts."),
  ttl: z.number().nullish().describe("Only null: items do not expire."),
});
const deleteSchema = z.object({ namespace: namespace.default([]), key });
const searchSchema = z.object({
  namespace_prefix: namespace,
  filter: z.record(z.string().max(200), z.unknown()).nullish(),
  limit: z.int().min(1).max(1000).default(10),
  offset,
  query: z.string().max(10_000).nullish(),
});
const listSchema = z.object({
  prefix: namespace.optional(),
  suffix: namespace.optional(),
  max_depth: z.int().min(1).max(100).optional(),
  limit: z.int().min(1).max(1000).default(100),
  offset,
});

const item = {
  namespace: z.array(z.string()),
  key: z.string(),
  value: z.record(z.string(), z.unknown()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
};
const itemSchema = z.strictObject(item).meta({ id: "StoreItem" });
const foundSchema = z
  .strictObject({ ...item, score: z.number().optional() })
  .meta({ id: "FoundStoreItem" });

/** Creates the routes of the store: the memories of the tenant, as graphs read and write them. */
export function storeRoutes(base: ApiBase): readonly Route[] {
  const useStore = <T>(tenantId: string, work: (store: BaseStore) => Promise<T>) =>
    base.runtimes.use(tenantId, ({ runtime }) => work(runtime.store));
  return [
    defineRoute({
      method: "put",
      path: "/store/items",
      operationId: "putStoreItem",
      summary: "Writes an item.",
      tag: "langgraph",
      scopes: ["memory:write"],
      body: putSchema,
      answers: { 204: { description: "Written." } },
      problems: ["invalid_input"],
      async handle({ body, principal: { tenantId } }) {
        checkNamespace(body.namespace);
        if (body.namespace[0] === "langgraph")
          throw refused("/namespace/0", "the label `langgraph` is reserved");
        checkKey(body.key);
        if (body.ttl !== null && body.ttl !== undefined)
          throw refused("/ttl", "items of the store do not expire");
        const { index } = body;
        await useStore(tenantId, (store) =>
          store.put(body.namespace, body.key, body.value, index ?? undefined),
        );
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/store/items",
      operationId: "getStoreItem",
      summary: "Reads an item; null if there is none.",
      tag: "langgraph",
      scopes: ["memory:read"],
      query: z.strictObject({
        namespace: z.string().max(2500).optional().describe("Its labels, joined by `.`."),
        key,
        refresh_ttl: z.string().max(10).optional().describe("Without effect: items do not expire."),
      }),
      answers: { 200: { description: "The item.", schema: itemSchema.nullable() } },
      problems: ["invalid_input"],
      async handle({ query, principal: { tenantId } }) {
        const labels = query.namespace?.split(".") ?? [];
        checkNamespace(labels);
        checkKey(query.key);
        const found = await useStore(tenantId, (store) => store.get(labels, query.key));
        return { status: 200, body: found === null ? null : itemOf(found) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/store/items",
      operationId: "deleteStoreItem",
      summary: "Deletes an item, if there is one.",
      tag: "langgraph",
      scopes: ["memory:write"],
      body: deleteSchema,
      answers: { 204: { description: "Deleted." } },
      problems: ["invalid_input"],
      async handle({ body, principal: { tenantId, keyId } }) {
        checkNamespace(body.namespace);
        checkKey(body.key);
        await useStore(tenantId, (store) => store.delete(body.namespace, body.key));
        await base.platform.audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "memory.delete",
          subject: JSON.stringify([...body.namespace, body.key]),
        });
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "post",
      path: "/store/items/search",
      operationId: "searchStoreItems",
      summary: "Searches the items under a namespace.",
      tag: "langgraph",
      scopes: ["memory:read"],
      body: searchSchema,
      answers: {
        200: { description: "Items.", schema: z.strictObject({ items: z.array(foundSchema) }) },
      },
      problems: ["invalid_input"],
      async handle({ body, principal: { tenantId } }) {
        const { namespace_prefix: prefix, limit, offset: from, query, filter } = body;
        if (prefix.length > 0) checkNamespace(prefix);
        const search = { limit, offset: from, ...(query && { query }), ...(filter && { filter }) };
        const items = await useStore(tenantId, (store) => store.search(prefix, search));
        return { status: 200, body: { items: items.map(foundItemOf) } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/store/namespaces",
      operationId: "listStoreNamespaces",
      summary: "Lists the namespaces that have items.",
      tag: "langgraph",
      scopes: ["memory:read"],
      body: listSchema,
      answers: {
        200: {
          description: "Namespaces.",
          schema: z.strictObject({ namespaces: z.array(z.array(z.string())) }),
        },
      },
      problems: ["invalid_input"],
      async handle({ body, principal: { tenantId } }) {
        const { prefix, suffix, max_depth: maxDepth, limit, offset: from } = body;
        for (const labels of [prefix, suffix]) if (labels !== undefined) checkNamespace(labels);
        const namespaces = await useStore(tenantId, (store) =>
          store.listNamespaces({
            limit,
            offset: from,
            ...(prefix && { prefix }),
            ...(suffix && { suffix }),
            ...(maxDepth !== undefined && { maxDepth }),
          }),
        );
        return { status: 200, body: { namespaces } };
      },
    }),
  ];
}

/** @throws HttpProblem `invalid_request` for none, `invalid_input` for one that the store does not take */
function checkNamespace(labels: readonly string[]): void {
  if (labels.length === 0) {
    throw new HttpProblem("invalid_request", {
      detail: "A namespace is required.",
      errors: [{ pointer: "/namespace", detail: "expected at least 1 label" }],
    });
  }
  if (labels.length > memoryLimits.namespace)
    throw refused("/namespace", `expected at most ${memoryLimits.namespace} labels`);
  const wrong = labels.findIndex((one) => {
    return one === "" || one.length > memoryLimits.label || /[.:\0]|\p{Surrogate}/u.test(one);
  });
  if (wrong === -1) return;
  const expected = `expected 1 to ${memoryLimits.label} characters without periods, colons and NUL`;
  throw refused(`/namespace/${wrong}`, expected);
}

function checkKey(text: string): void {
  const isValid = text !== "" && text.length <= memoryLimits.key;
  if (isValid && !/\0|\p{Surrogate}/u.test(text)) return;
  throw refused("/key", `expected 1 to ${memoryLimits.key} characters without NUL`);
}

function refused(pointer: string, detail: string): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail: "The store does not take this.",
    errors: [{ pointer, detail }],
  });
}

function itemOf({ namespace: labels, key: name, value, createdAt, updatedAt }: Item) {
  const times = { created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
  return { namespace: labels, key: name, value, ...times };
}

function foundItemOf(found: SearchItem) {
  return { ...itemOf(found), ...(found.score !== undefined && { score: found.score }) };
}
