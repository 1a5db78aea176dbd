import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";
import { toJson } from "../values/bounded-json.ts";
import { isRecord } from "../values/json.ts";
import { type MemoryEntry, memoryLimits, newMemoryEntrySchema } from "./entry.ts";
import { InvalidMemoryError } from "./errors.ts";
import { itemText } from "./item-text.ts";
import type { Memory, MemoryHit, MemoryQuery } from "./memory.ts";
import type { MemoryStore } from "./store.ts";

/** Entries that a scan reads at once. */
const pageSize = 100;
/** Hits of a search at most; further items have no score. */
const maxHits = 100;
/** First labels of namespaces that a search of all reads. */
const maxRoots = 100;
/** Times that a scan begins again because the entry where it was is gone. */
const maxRestarts = 5;

/**
 * A LangGraph store over the memories of a tenant: graphs read and write items, which are entries with a value, next to
 * the memories of agents, which are items `{ content, memory_type, importance, … }` under `["agents", …]`.
 *
 * It does what `InMemoryStore` does, with these differences: namespaces match by whole labels; a namespace without items
 * is not listed; with a query the items that search finds come first, by `score` from 0 to 1, and then the others; the
 * paths of `index` make one text. Values are copied as plain JSON of at most 262,144 characters.
 *
 * @example
 * const store = new MemoryBaseStore(await runtime.memory());
 * await store.put(["users", "u-1"], "diet", { text: "Eats no fish." });
 * const [item] = await store.search(["users", "u-1"], { query: "food" });
 */
export class MemoryBaseStore extends BaseStore {
  readonly #memory: () => Promise<Memory>;

  /** @param memory or a function that returns it, called before each batch */
  constructor(memory: Memory | (() => Promise<Memory>)) {
    super();
    this.#memory = typeof memory === "function" ? memory : async () => memory;
  }

  /**
   * Runs operations: first all that read, then all that write. Of several writes to one item the last counts.
   *
   * @throws InvalidNamespaceError; InvalidMemoryError for what cannot be stored. Nothing was written then
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>();
    for (const operation of operations) {
      check(operation);
      if (isPut(operation)) {
        puts.set(JSON.stringify([operation.namespace, operation.key]), readPut(operation));
      }
    }
    const memory = await this.#memory();
    const results: unknown[] = [];
    for (const operation of operations) results.push(await read(memory, operation));
    for (const put of puts.values()) await write(memory, put);
    return results as OperationResults<Op>;
  }
}

function isPut(operation: Operation): operation is PutOperation {
  return "namespace" in operation && "value" in operation;
}

/** @throws InvalidNamespaceError */
function check(operation: Operation): void {
  if ("namespace" in operation) {
    validateNamespace(operation.namespace, { allowReservedRoot: true });
  } else if ("namespacePrefix" in operation) {
    validateNamespace(operation.namespacePrefix, { allowEmpty: true, allowReservedRoot: true });
  }
}

async function read(memory: Memory, operation: Operation): Promise<unknown> {
  if (isPut(operation)) return null;
  if ("namespacePrefix" in operation) return searchItems(memory, operation);
  if ("namespace" in operation) return getItem(memory.store, operation);
  return listNamespaces(memory.store, operation);
}

async function getItem(store: MemoryStore, { namespace, key }: GetOperation): Promise<Item | null> {
  const [entry] = await store.list({ namespace, exact: true, keys: [key] }, { limit: 1 });
  return entry === undefined ? null : toItem(entry);
}

const nameSchema = newMemoryEntrySchema.pick({ namespace: true, key: true });

/** A write with a value of its own. @throws InvalidMemoryError */
function readPut({ value, index, ...item }: PutOperation): PutOperation {
  // A removal may name any key: none has it then.
  const key = value === null ? undefined : item.key;
  const { error } = nameSchema.safeParse({ namespace: item.namespace, key });
  if (error) {
    const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new InvalidMemoryError("entry", problems);
  }
  const paths = index === undefined || index === null ? {} : { index };
  if (value === null) return { ...item, value, ...paths };
  if (!isRecord(value)) throw new InvalidMemoryError("value", ["expected an object"]);
  const copy = toJson(value, memoryLimits.json * 4);
  const isShort = copy.whole && JSON.stringify(copy.value).length <= memoryLimits.json;
  if (!isShort || !isRecord(copy.value)) {
    const most = memoryLimits.json.toLocaleString("en");
    throw new InvalidMemoryError("value", [`expected at most ${most} characters of JSON`]);
  }
  return { ...item, value: copy.value, ...paths };
}

async function write(memory: Memory, { namespace, key, value, index }: PutOperation) {
  if (value === null) {
    await memory.forget({ namespace, exact: true, keys: [key] });
    return;
  }
  const content = itemText(value, index);
  await memory.put({ namespace, key, content, value, metadata: { source: "agent" } });
}

async function searchItems(
  memory: Memory,
  { namespacePrefix: namespace, filter = {}, limit = 10, offset = 0, query }: SearchOperation,
): Promise<SearchItem[]> {
  const [from, end] = [wholeNumber(offset), wholeNumber(offset) + wholeNumber(limit)];
  const found: SearchItem[] = [];
  const seen = new Set<string>();
  const add = (entry: MemoryEntry, score?: number) => {
    if (seen.has(entry.id)) return;
    seen.add(entry.id);
    const item = toItem(entry);
    // `score` is there also where it is undefined, as LangGraph's stores have it.
    if (matches(item.value, filter)) found.push({ ...item, score });
  };
  if (query) {
    const topK = hasConditions(filter) ? maxHits : Math.min(Math.max(end, 1), maxHits);
    for (const { entry, score } of await search(memory, { namespace, text: query, topK })) {
      add(entry, score);
    }
  }
  for await (const entry of scan(memory.store, namespace)) {
    if (found.length >= end) break;
    add(entry);
  }
  return found.slice(from, end);
}

/** Hits under a namespace; under the empty one those of all first labels, since scores of searches compare. */
async function search(
  memory: Memory,
  query: Pick<MemoryQuery, "namespace" | "text"> & { readonly topK: number },
): Promise<readonly MemoryHit[]> {
  if (query.namespace.length > 0) return memory.search(query);
  const all = await memory.store.namespaces([]);
  const roots = [...new Set(all.map(([root = ""]) => root))].slice(0, maxRoots);
  const hits: MemoryHit[] = [];
  for (const root of roots) hits.push(...(await memory.search({ ...query, namespace: [root] })));
  return hits.toSorted((a, b) => b.score - a.score).slice(0, query.topK);
}

/** The entries under a namespace, in the order of their making. */
async function* scan(store: MemoryStore, namespace: readonly string[]) {
  const given = new Set<string>();
  let after: string | undefined;
  for (let restarts = 0; restarts <= maxRestarts;) {
    const page = {
      order: "oldest",
      limit: pageSize,
      ...(after !== undefined && { after }),
    } as const;
    let entries: readonly MemoryEntry[];
    try {
      entries = await store.list({ namespace }, page);
    } catch (thrown) {
      if (after === undefined || !(thrown instanceof InvalidMemoryError)) throw thrown;
      // The entry was removed meanwhile. What was given is not given again.
      after = undefined;
      restarts += 1;
      continue;
    }
    for (const entry of entries) {
      if (given.has(entry.id)) continue;
      given.add(entry.id);
      yield entry;
    }
    if (entries.length < pageSize) return;
    after = entries.at(-1)?.id;
  }
}

async function listNamespaces(
  store: MemoryStore,
  { matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation,
): Promise<string[][]> {
  const all = await store.namespaces(commonPrefix(matchConditions));
  const matching = all.filter((one) =>
    matchConditions.every((condition) => matchesPath(condition, one)),
  );
  const depth = maxDepth === undefined ? Infinity : wholeNumber(maxDepth);
  const cut = matching.map((namespace) => namespace.slice(0, depth));
  const unique = new Map(cut.map((namespace) => [JSON.stringify(namespace), namespace]));
  const from = wholeNumber(offset);
  return [...unique.values()]
    .toSorted((a, b) => a.join(":").localeCompare(b.join(":")))
    .slice(from, from + (limit === undefined ? unique.size : wholeNumber(limit)));
}

/** The labels that all namespaces of a listing begin with. */
function commonPrefix(conditions: readonly MatchCondition[]): readonly string[] {
  const path = conditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
  const wild = path.indexOf("*");
  return wild === -1 ? path : path.slice(0, wild);
}

function matchesPath({ matchType, path }: MatchCondition, namespace: readonly string[]): boolean {
  if (matchType !== "prefix" && matchType !== "suffix") {
    const problem = `expected the match type prefix or suffix, got ${String(matchType)}`;
    throw new InvalidMemoryError("filter", [problem]);
  }
  if (path.length > namespace.length) return false;
  const from = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, at) => label === "*" || label === namespace[from + at]);
}

function hasConditions(filter: SearchOperation["filter"]): boolean {
  return filter !== null && filter !== undefined && Object.keys(filter).length > 0;
}

/** Whether a value has what a filter says of its keys. */
function matches(value: Item["value"], filter: SearchOperation["filter"]): boolean {
  return Object.entries(filter ?? {}).every(([key, wanted]) =>
    matchesCondition(Object.hasOwn(value, key) ? value[key] : undefined, wanted),
  );
}

const operators: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  $eq: (value, wanted) => value === wanted,
  $ne: (value, wanted) => value !== wanted,
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.includes(value),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.includes(value),
};

/** An object of operators alone is a condition of all of them; anything else is compared as it is. */
function matchesCondition(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  const conditions = Object.entries(wanted);
  if (!conditions.every(([name]) => Object.hasOwn(operators, name))) return false;
  return conditions.every(([name, operand]) => operators[name]?.(value, operand) === true);
}

/** An entry as an item. Its value is a copy, which the caller may change. */
function toItem(entry: MemoryEntry): Item {
  const { namespace, key, value, created_at, updated_at } = entry;
  return {
    namespace: [...namespace],
    key,
    value: structuredClone(value ?? memoryValue(entry)) as Item["value"],
    createdAt: new Date(created_at),
    updatedAt: new Date(updated_at),
  };
}

/** What is shown of a memory that an agent wrote. */
function memoryValue(entry: MemoryEntry): Readonly<Record<string, unknown>> {
  const { content, memory_type, importance, thread_id, expires_at, metadata } = entry;
  const { source, tags, entities } = metadata;
  return { content, memory_type, importance, source, tags, entities, thread_id, expires_at };
}

function wholeNumber(number: number): number {
  return Math.max(0, Math.floor(number) || 0);
}
