import type { Clock, IdSource } from "../../clock.ts";
import { planConsolidation } from "../../memory/apply-changes.ts";
import {
  checkChange,
  checkChanges,
  checkEntry,
  checkFilter,
  checkLimit,
  checkPage,
  checkPrefix,
  checkRemoval,
  checkUses,
  checkVector,
  knownIds,
  maxPage,
  unknownAfter,
} from "../../memory/check-entry.ts";
import type { MemoryEntry, MemoryVector, NewMemoryEntry } from "../../memory/entry.ts";
import { MemoryBusyError } from "../../memory/errors.ts";
import { compareNamespaces } from "../../memory/namespace.ts";
import type {
  ConsolidationChange,
  ConsolidationCounts,
  EntryVector,
  ForgetCounts,
  MemoryChanges,
  MemoryFilter,
  MemoryPage,
  MemoryStore,
  MemoryUse,
} from "../../memory/store.ts";
import type { Database } from "../database.ts";
import { type TenantPool, withTenant } from "../tenant.ts";
import { lockThread, ThreadLockedError } from "../thread-lock.ts";
import { readChanges } from "./changes.ts";
import {
  checkDimensions,
  countUses,
  insertEntries,
  lockEntries,
  removeEntries,
  replaceEntry,
  sweepStatement,
  writePlan,
  writeVectors,
  written,
} from "./entry-statements.ts";
import {
  conditionOf,
  entryColumns,
  type EntryRow,
  toEntry,
  toMetadataRow,
  Values,
} from "./rows.ts";
import { scanVectors } from "./scan-vectors.ts";
import type { TenantTransaction } from "./transaction.ts";
import type { VectorIndex } from "./vector-index.ts";

/** What stores of all tenants share, once the tables are there. */
export interface MemoryTables {
  readonly tenants: TenantPool;
  /** Quoted name of the schema. */
  readonly schema: string;
  /** Null: vectors are compared one by one. */
  readonly vectors: VectorIndex | null;
}

interface StoreOptions {
  readonly database: Pick<Database, "pool">;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Makes the tables, once. */
  readonly ready: () => Promise<MemoryTables>;
  /** Whether the tables are there. Makes nothing, and needs no right. */
  readonly exists: () => Promise<boolean>;
}

const orders = {
  newest: { key: "e.created_at", direction: "desc", follows: "<" },
  oldest: { key: "e.created_at", direction: "asc", follows: ">" },
  accessed: {
    key: "coalesce(e.last_accessed, '-infinity')",
    direction: "desc",
    follows: "<",
  },
} as const;

/** The memories of one tenant in a database. Each method is one transaction, which cannot see other tenants. */
export class DatabaseMemoryStore implements MemoryStore {
  #dimensions: ReadonlyMap<string, number> = new Map();

  constructor(
    readonly tenantId: string,
    private readonly of: StoreOptions,
  ) {}

  async hasVectorIndex() {
    return (await this.of.ready()).vectors !== null;
  }

  async add(entries: readonly NewMemoryEntry[]) {
    const checked = entries.map((entry) => this.#check(entry));
    if (checked.length === 0) return [];
    return this.#withDimensions(
      checked.map(({ vector }) => vector),
      (at) => insertEntries(at, checked),
    );
  }

  async put(given: NewMemoryEntry & { readonly key: string }) {
    const checked = this.#check(given);
    return this.#withDimensions([checked.vector], async (at) => {
      for (;;) {
        const [stored] = await insertEntries(at, [checked]);
        const { id, isNew } = stored!;
        // Otherwise it was removed meanwhile.
        if (isNew || (await replaceEntry(at, id, checked))) return { id };
      }
    });
  }

  async get(ids: readonly string[]) {
    return this.#select({ ids: knownIds(ids) });
  }

  async list(filter: MemoryFilter, page: MemoryPage = {}) {
    return this.#list("memory_entry", filter, page);
  }

  async count(filter: MemoryFilter) {
    const checked = checkFilter(filter);
    return this.#run(async ({ client, schema, now }) => {
      const values = new Values();
      const where = conditionOf(checked, { tenantId: this.tenantId, now }, values);
      const { rows } = await client.query<{ entries: number }>(
        `select count(*)::integer as entries from ${schema}.memory_entry e where ${where}`,
        values.list,
      );
      return rows[0]!.entries;
    });
  }

  async namespaces(prefix: readonly string[]) {
    const namespace = checkPrefix(prefix);
    return this.#run(async ({ client, schema, now }) => {
      const values = new Values();
      const where = conditionOf({ namespace }, { tenantId: this.tenantId, now }, values);
      const { rows } = await client.query<{ namespace: string[] }>(
        `select distinct e.namespace from ${schema}.memory_entry e where ${where}`,
        values.list,
      );
      return rows.map((row) => row.namespace).toSorted(compareNamespaces);
    });
  }

  async update(id: string, change: Parameters<MemoryStore["update"]>[1], readAt?: string) {
    const { metadata, ...parts } = checkChange(change);
    return this.#run(async (at) => {
      const entry = (await lockEntries(at, knownIds([id]))).get(id);
      if (!entry || (readAt !== undefined && entry.updated_at !== readAt)) return false;
      const values = new Values();
      const row = metadata && toMetadataRow(metadata);
      const columns = [
        ["content", parts.content, "text"],
        ["importance", parts.importance, "double precision"],
        ["memory_type", parts.memory_type, "text"],
        ["expires_at", parts.expires_at, "timestamptz"],
        ["metadata", row && JSON.stringify(row.metadata), "jsonb"],
        ["data", row?.data, "json"],
      ] as const;
      const where = `tenant_id = ${values.add(this.tenantId, "uuid")} and id = ${values.add(id, "uuid")}`;
      const set = columns.flatMap(([column, value, type]) =>
        value === undefined ? [] : [`${column} = ${values.add(value, type)}`],
      );
      const now = values.add(at.now, "timestamptz");
      await at.client.query(
        `update ${at.schema}.memory_entry set ${[...set, written(now)].join(", ")} where ${where}`,
        values.list,
      );
      // A vector of the content that was replaced would find the entry by what it no longer says.
      if (parts.content !== undefined && parts.content !== entry.content)
        await writeVectors(at, new Map([[id, null]]));
      return true;
    });
  }

  async setVectors(vectors: readonly EntryVector[]) {
    const checked = new Map(vectors.map((one) => [one.id, { ...one, ...checkVector(one) }]));
    await this.#withDimensions([...checked.values()], async (at) => {
      const present = await lockEntries(at, knownIds([...checked.keys()]));
      const isAsRead = ({ id, readAt = present.get(id)?.updated_at }: EntryVector) =>
        present.has(id) && present.get(id)?.updated_at === readAt;
      await writeVectors(at, new Map([...checked].filter(([, one]) => isAsRead(one))));
    });
  }

  async withoutVector(filter: MemoryFilter, model: string, limit: number) {
    const checked = checkFilter(filter);
    const most = checkLimit(limit, maxPage);
    return this.#run(async ({ client, schema, now }) => {
      const values = new Values();
      const where = conditionOf(checked, { tenantId: this.tenantId, now }, values);
      const { rows } = await client.query<EntryRow>(
        `select ${entryColumns} from ${schema}.memory_entry e
        where ${where} and e.embedding_model is distinct from ${values.add(model, "text")}
        order by e.created_at, e.id limit ${values.add(most, "integer")}`,
        values.list,
      );
      return rows.map(toEntry);
    });
  }

  async nearest(filter: MemoryFilter, query: MemoryVector, limit: number) {
    const most = checkLimit(limit, maxPage);
    const options = { filter: checkFilter(filter), query: checkVector(query), limit: most };
    const { vectors } = await this.of.ready();
    if (vectors === null) return this.#run((at) => scanVectors(at, options));
    const found = await this.#run((at) => vectors.nearest(at, options));
    // They may be from before the index.
    if (found.length > 0) await vectors.prepare(this.tenantId, [options.query]);
    return found;
  }

  async similarities(ids: readonly string[], query: MemoryVector) {
    const known = knownIds(ids);
    const options = { filter: { ids: known }, query: checkVector(query), limit: known.length };
    return this.#run((at) => scanVectors(at, options));
  }

  async changes(
    namespace: readonly string[],
    position: string | null,
    limit: number,
  ): Promise<MemoryChanges> {
    const page = { namespace: checkPrefix(namespace), position, limit: checkLimit(limit, maxPage) };
    return this.#run((at) => readChanges(at, { ...page, withVectors: at.vectors === null }));
  }

  async recordUses(uses: readonly MemoryUse[]) {
    const checked = checkUses(uses);
    if (checked.length > 0) await this.#run((at) => countUses(at, checked));
  }

  async consolidating<T>(
    of: { readonly namespace: readonly string[]; readonly threadId: string | null },
    work: (
      apply: (changes: readonly ConsolidationChange[]) => Promise<ConsolidationCounts>,
    ) => Promise<T>,
  ): Promise<T> {
    const { schema } = await this.of.ready();
    const key = JSON.stringify([this.tenantId, of.namespace, of.threadId]);
    // A lock of its own: agents may run on the thread meanwhile.
    const lock = await lockThread(this.of.database, key, { schema: `memory of ${schema}` }).catch(
      (error: unknown) => {
        throw error instanceof ThreadLockedError ? new MemoryBusyError(of.threadId) : error;
      },
    );
    try {
      return await work(async (changes) => {
        lock.signal.throwIfAborted();
        return this.#apply(checkChanges(changes));
      });
    } finally {
      await lock.release();
    }
  }

  async archived(filter: MemoryFilter, page: MemoryPage = {}) {
    return this.#list("memory_archive", filter, page);
  }

  async forget(filter: MemoryFilter): Promise<ForgetCounts> {
    const checked = checkRemoval(filter);
    if (!(await this.of.exists())) return { entries: 0, archived: 0, uses: 0, threads: [] };
    return this.#run(async (at) => {
      const values = new Values();
      const where = conditionOf(checked, { tenantId: this.tenantId, now: null }, values);
      const lock = async (table: string) => {
        const { rows } = await at.client.query<{ id: string }>(
          `select e.id from ${at.schema}.${table} e where ${where} order by e.id for update`,
          values.list,
        );
        return rows.map(({ id }) => id);
      };
      const entries = await lock("memory_entry");
      const archived = await lock("memory_archive");
      const uses = await removeEntries(at, [...new Set([...entries, ...archived])]);
      return {
        entries: entries.length,
        archived: archived.length,
        uses: uses.reduce((sum, one) => sum + one.uses, 0),
        threads: uses.flatMap(({ thread_id }) => thread_id ?? []).slice(0, 100),
      };
    });
  }

  async sweep() {
    if (!(await this.of.exists())) return 0;
    return this.#run(async ({ client, schema, now }) => {
      const { rows } = await client.query<{ removed: number }>(sweepStatement(schema), [now]);
      return rows[0]!.removed;
    });
  }

  #now(): string {
    return this.of.clock.now().toISOString();
  }

  #check(entry: NewMemoryEntry) {
    return checkEntry(entry, { tenantId: this.tenantId, ids: this.of.ids, now: this.#now() });
  }

  async #run<T>(work: (at: TenantTransaction) => Promise<T>): Promise<T> {
    const { tenants, schema, vectors } = await this.of.ready();
    const { tenantId } = this;
    const now = this.#now();
    return withTenant(tenants, tenantId, (client) =>
      work({ client, schema, tenantId, now, vectors }),
    );
  }

  /** Writes with vectors whose dimensions are those of their models. @throws MemoryDimensionError */
  async #withDimensions<T>(
    vectors: readonly (MemoryVector | null | undefined)[],
    work: (at: TenantTransaction) => Promise<T>,
  ): Promise<T> {
    let dimensions = this.#dimensions;
    const result = await this.#run(async (at) => {
      dimensions = await checkDimensions(at, vectors, this.#dimensions);
      return work(at);
    });
    this.#dimensions = dimensions; // Not before they are committed.
    await (await this.of.ready()).vectors?.prepare(this.tenantId, vectors);
    return result;
  }

  async #select(filter: MemoryFilter): Promise<readonly MemoryEntry[]> {
    return this.#run(async ({ client, schema, now }) => {
      const values = new Values();
      const where = conditionOf(filter, { tenantId: this.tenantId, now }, values);
      const { rows } = await client.query<EntryRow>(
        `select ${entryColumns} from ${schema}.memory_entry e where ${where}`,
        values.list,
      );
      return rows.map(toEntry);
    });
  }

  async #list(
    table: "memory_entry" | "memory_archive",
    filter: MemoryFilter,
    page: MemoryPage,
  ): Promise<readonly MemoryEntry[]> {
    const checked = checkFilter(filter);
    const { order, limit, after } = checkPage(page);
    const { key, direction, follows } = orders[order];
    return this.#run(async ({ client, schema, now }) => {
      const values = new Values();
      let where = conditionOf(checked, { tenantId: this.tenantId, now }, values);
      if (after !== undefined) {
        const { rows } = await client.query<{ key: string }>(
          `select ${key}::text as key from ${schema}.${table} e where e.tenant_id = $1::uuid and e.id = $2::uuid`,
          [this.tenantId, after],
        );
        if (!rows[0]) throw unknownAfter(after);
        const last = `${values.add(rows[0].key, "timestamptz")}, ${values.add(after, "uuid")}`;
        where += ` and (${key}, e.id) ${follows} (${last})`;
      }
      const { rows } = await client.query<EntryRow>(
        `select ${entryColumns} from ${schema}.${table} e where ${where}
        order by ${key} ${direction}, e.id ${direction} limit ${values.add(limit, "integer")}`,
        values.list,
      );
      return rows.map(toEntry);
    });
  }

  async #apply(changes: readonly ConsolidationChange[]): Promise<ConsolidationCounts> {
    const vectors = changes.map((one) => (one.kind === "move" ? one.embedding : null));
    return this.#withDimensions(vectors, async (at) => {
      const ids = changes.flatMap((one) => (one.kind === "merge" ? [one.id, one.into] : [one.id]));
      const current = await lockEntries(at, knownIds(ids));
      const plan = planConsolidation(current, changes, at.now);
      await writePlan(at, plan);
      return plan.counts;
    });
  }
}
