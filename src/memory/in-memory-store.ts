import type { Clock, IdSource } from "../clock.ts";
import { similarity } from "../models/embeddings/embeddings.ts";
import { deepFreeze } from "../values/json.ts";
import { laterThan, planConsolidation } from "./apply-changes.ts";
import {
  checkChange,
  checkChanges,
  checkEntry,
  checkFilter,
  checkLimit,
  checkPrefix,
  checkRemoval,
  checkTenantId,
  checkUses,
  checkVector,
  idTaken,
  isZero,
  knownIds,
  maxPage,
} from "./check-entry.ts";
import type { MemoryEntry, MemoryVector, NewMemoryEntry } from "./entry.ts";
import { InvalidMemoryError, MemoryBusyError, MemoryDimensionError } from "./errors.ts";
import { compareNamespaces } from "./namespace.ts";
import { matcherOf, pageOf } from "./select-entries.ts";
import { WriteLog } from "./write-log.ts";
import type {
  ConsolidationChange,
  ConsolidationCounts,
  EntryVector,
  ForgetCounts,
  MemoryChanges,
  MemoryDatabase,
  MemoryFilter,
  MemoryPage,
  MemoryStore,
  MemoryUse,
  NearestEntry,
} from "./store.ts";

/** A run that used an entry. */
interface Use {
  readonly threadId: string | null;
  /** Numbers uses in the order in which they were recorded. */
  readonly number: number;
}

interface Row {
  entry: MemoryEntry;
  vector: Float32Array | null;
  position: number;
}

/** Memories in this process alone, for tests, trials and runtimes without a database. */
export function createInMemoryMemory(of: {
  readonly clock: Clock;
  readonly ids: IdSource;
}): MemoryDatabase {
  const tenants = new Map<string, MemoryStore>();
  return {
    forTenant(tenantId) {
      const store = tenants.get(tenantId) ?? new InMemoryStore(checkTenantId(tenantId), of);
      tenants.set(tenantId, store);
      return store;
    },
  };
}

/** Every method ends before another begins, and checks all that it was given before it writes. */
class InMemoryStore implements MemoryStore {
  readonly #rows = new Map<string, Row>();
  /** Ids by namespace and key. */
  readonly #keys = new Map<string, string>();
  readonly #archive = new Map<string, MemoryEntry>();
  /** By entry, then by run. */
  readonly #uses = new Map<string, Map<string, Use>>();
  readonly #dimensions = new Map<string, number>();
  readonly #busy = new Set<string>();
  #position = 0;
  readonly #log = new WriteLog<Row>((row) => this.#rows.get(row.entry.id) === row);
  #useCount = 0;

  constructor(
    readonly tenantId: string,
    private readonly of: { readonly clock: Clock; readonly ids: IdSource },
  ) {}

  async hasVectorIndex() {
    return false;
  }

  async add(entries: readonly NewMemoryEntry[]) {
    const now = this.#now();
    const checked = entries.map((entry) => this.#check(entry, now));
    this.#checkDimensions(checked.map(({ vector }) => vector));
    const keys = new Set<string>();
    const ids = new Set<string>();
    for (const { entry } of checked) {
      const key = keyOf(entry);
      if (this.#current(key) || keys.has(key)) continue;
      if (this.#hasOtherKey(entry) || ids.has(entry.id)) throw idTaken(entry.id);
      keys.add(key);
      ids.add(entry.id);
    }
    return checked.map(({ entry, vector }) => {
      const known = this.#current(keyOf(entry));
      if (known) return { id: known.entry.id, isNew: false };
      this.#insert(entry, vector);
      return { id: entry.id, isNew: true };
    });
  }

  async put(given: NewMemoryEntry & { readonly key: string }) {
    const { entry, vector } = this.#check(given, this.#now());
    this.#checkDimensions([vector]);
    const known = this.#current(keyOf(entry));
    if (!known) {
      if (this.#hasOtherKey(entry)) throw idTaken(entry.id);
      this.#insert(entry, vector);
      return { id: entry.id };
    }
    const { content, summary, value, metadata, memory_type, expires_at } = entry;
    const replaced = { content, summary, value, metadata, memory_type, expires_at };
    this.#rewrite(known, replaced, vector);
    return { id: known.entry.id };
  }

  async get(ids: readonly string[]) {
    return this.#select({ ids: knownIds(ids) }).map(({ entry }) => entry);
  }

  async list(filter: MemoryFilter, page: MemoryPage = {}) {
    const found = this.#select(checkFilter(filter)).map(({ entry }) => entry);
    return pageOf(found, page, (id) => this.#rows.get(id)?.entry);
  }

  async count(filter: MemoryFilter) {
    return this.#select(checkFilter(filter)).length;
  }

  async namespaces(prefix: readonly string[]) {
    const found = new Map(
      this.#select({ namespace: checkPrefix(prefix) }).map(({ entry: { namespace } }) => [
        JSON.stringify(namespace),
        namespace,
      ]),
    );
    return [...found.values()].toSorted(compareNamespaces);
  }

  async update(id: string, change: Parameters<MemoryStore["update"]>[1], readAt?: string) {
    const checked = checkChange(change);
    const [row] = this.#select({ ids: [id] });
    if (!row || (readAt !== undefined && row.entry.updated_at !== readAt)) return false;
    const isOther = checked.content !== undefined && checked.content !== row.entry.content;
    this.#rewrite(row, checked, isOther ? null : undefined);
    return true;
  }

  async setVectors(vectors: readonly EntryVector[]) {
    const checked = vectors.map((one) => ({ ...one, ...checkVector(one) }));
    this.#checkDimensions(checked);
    for (const { id, readAt, model, vector } of checked) {
      const [row] = this.#select({ ids: [id] });
      const isAsRead = readAt === undefined || row?.entry.updated_at === readAt;
      if (row && isAsRead) this.#write(row, { ...row.entry, embedding_model: model }, vector);
    }
  }

  async withoutVector(filter: MemoryFilter, model: string, limit: number) {
    const most = checkLimit(limit, maxPage);
    const found = this.#select(checkFilter(filter)).map(({ entry }) => entry);
    return pageOf(
      found.filter(({ embedding_model }) => embedding_model !== model),
      { order: "oldest", limit: most },
      () => undefined,
    );
  }

  async nearest(filter: MemoryFilter, query: MemoryVector, limit: number) {
    const most = checkLimit(limit, maxPage);
    return this.#similar(this.#select(checkFilter(filter)), query).slice(0, most);
  }

  async similarities(ids: readonly string[], query: MemoryVector) {
    return this.#similar(this.#select({ ids: knownIds(ids) }), query);
  }

  async changes(
    namespace: readonly string[],
    position: string | null,
    limit: number,
  ): Promise<MemoryChanges> {
    const since = Number(position ?? 0);
    if (!Number.isSafeInteger(since))
      throw new InvalidMemoryError("position", ["expected one that this method returned"]);
    const most = checkLimit(limit, maxPage);
    const matches = this.#matcher({ namespace: checkPrefix(namespace) });
    const page: Row[] = [];
    let hasMore = false;
    for (const row of this.#log.after(since)) {
      if (!matches(row.entry)) continue;
      hasMore = page.length === most;
      if (hasMore) break;
      page.push(row);
    }
    return {
      entries: page.map(({ entry, vector }) => ({ ...entry, vector })),
      position: String(page.at(-1)?.position ?? since),
      hasMore,
    };
  }

  async recordUses(uses: readonly MemoryUse[]) {
    for (const { id, run, threadId, score } of checkUses(uses)) {
      const [row] = this.#select({ ids: [id] });
      const runs = this.#uses.get(id) ?? new Map<string, Use>();
      if (!row || runs.has(run)) continue;
      this.#useCount += 1;
      this.#uses.set(id, runs.set(run, { threadId, number: this.#useCount }));
      const access_count = row.entry.access_count + 1;
      const accessed = { access_count, last_accessed: this.#now(), last_score: score };
      this.#write(row, { ...row.entry, ...accessed });
    }
  }

  async consolidating<T>(
    at: { readonly namespace: readonly string[]; readonly threadId: string | null },
    work: (
      apply: (changes: readonly ConsolidationChange[]) => Promise<ConsolidationCounts>,
    ) => Promise<T>,
  ): Promise<T> {
    const key = JSON.stringify([at.namespace, at.threadId]);
    if (this.#busy.has(key)) throw new MemoryBusyError(at.threadId);
    this.#busy.add(key);
    try {
      return await work(async (changes) => this.#apply(checkChanges(changes)));
    } finally {
      this.#busy.delete(key);
    }
  }

  async archived(filter: MemoryFilter, page: MemoryPage = {}) {
    const matches = this.#matcher(checkFilter(filter));
    return pageOf([...this.#archive.values()].filter(matches), page, (id) => this.#archive.get(id));
  }

  async forget(filter: MemoryFilter): Promise<ForgetCounts> {
    const matches = this.#matcher(checkRemoval(filter), { expired: true });
    const gone = [...this.#rows.values()].filter(({ entry }) => matches(entry));
    const archived = [...this.#archive.values()].filter(matches);
    const ids = new Set([...gone.map(({ entry }) => entry.id), ...archived.map(({ id }) => id)]);
    const uses = [...this.#uses]
      .flatMap(([id, ofEntry]) => (ids.has(id) ? [...ofEntry.values()] : []))
      .toSorted((a, b) => a.number - b.number);
    const threads = new Set(uses.flatMap(({ threadId }) => threadId ?? []));
    for (const id of ids) this.#remove(id);
    return {
      entries: gone.length,
      archived: archived.length,
      uses: uses.length,
      threads: [...threads].slice(0, 100),
    };
  }

  async sweep() {
    const now = this.#now();
    const isGone = ({ expires_at }: MemoryEntry) => expires_at !== null && expires_at <= now;
    const gone = [...this.#rows.values()].filter(({ entry }) => isGone(entry));
    const archived = [...this.#archive.values()].filter(isGone);
    for (const { entry } of gone) this.#remove(entry.id);
    for (const { id } of archived) this.#remove(id);
    return gone.length + archived.length;
  }

  #now(): string {
    return this.of.clock.now().toISOString();
  }

  #check(entry: NewMemoryEntry, now: string) {
    return checkEntry(entry, { tenantId: this.tenantId, ids: this.of.ids, now });
  }

  /** @throws MemoryDimensionError */
  #checkDimensions(vectors: readonly (MemoryVector | null | undefined)[]): void {
    const known = new Map(this.#dimensions);
    for (const one of vectors) {
      if (!one) continue;
      const expected = known.get(one.model) ?? one.vector.length;
      if (expected !== one.vector.length)
        throw new MemoryDimensionError(one.model, expected.toLocaleString("en"), one.vector.length);
      known.set(one.model, expected);
    }
    for (const [model, dimensions] of known) this.#dimensions.set(model, dimensions);
  }

  /** The entry with a key, unless it has expired: then its place is free. */
  #current(key: string): Row | undefined {
    const row = this.#rows.get(this.#keys.get(key) ?? "");
    return row && !this.#isExpired(row.entry) ? row : undefined;
  }

  #hasOtherKey({ id, ...entry }: MemoryEntry): boolean {
    const row = this.#rows.get(id);
    return row !== undefined && keyOf(row.entry) !== keyOf(entry);
  }

  #isExpired({ expires_at }: MemoryEntry): boolean {
    return expires_at !== null && expires_at <= this.#now();
  }

  #matcher(filter: MemoryFilter, { expired = false } = {}): (entry: MemoryEntry) => boolean {
    const matches = matcherOf(filter);
    return (entry) => (expired || !this.#isExpired(entry)) && matches(entry);
  }

  #select(filter: MemoryFilter): Row[] {
    const matches = this.#matcher(filter);
    const rows = filter.ids?.flatMap((id) => this.#rows.get(id) ?? []) ?? [...this.#rows.values()];
    return rows.filter(({ entry }) => matches(entry));
  }

  #similar(rows: readonly Row[], query: MemoryVector): NearestEntry[] {
    const { model, vector } = checkVector(query);
    return rows
      .flatMap(({ entry: { id, embedding_model }, vector: own }) =>
        own && embedding_model === model && own.length === vector.length
          ? [{ id, similarity: similarity(own, vector), isZero: isZero(own) || isZero(vector) }]
          : [],
      )
      .filter((one) => !one.isZero)
      .map(({ id, similarity: value }) => ({ id, similarity: value }))
      .toSorted((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1));
  }

  #insert(entry: MemoryEntry, vector: MemoryVector | null): void {
    const expired = this.#keys.get(keyOf(entry));
    if (expired !== undefined) this.#remove(expired, { archive: false });
    const row: Row = { entry, vector: null, position: 0 };
    this.#rows.set(entry.id, row);
    this.#keys.set(keyOf(entry), entry.id);
    this.#write(row, entry, vector?.vector ?? null);
  }

  /** Replaces parts of an entry, and its vector unless that is undefined. */
  #rewrite(row: Row, parts: Partial<MemoryEntry>, vector: MemoryVector | null | undefined): void {
    const updated_at = laterThan(row.entry.updated_at, this.#now());
    const model = vector === undefined ? row.entry.embedding_model : (vector?.model ?? null);
    const entry = { ...row.entry, ...parts, updated_at, embedding_model: model };
    this.#write(row, entry, vector === undefined ? undefined : (vector?.vector ?? null));
  }

  #write(row: Row, entry: MemoryEntry, vector?: Float32Array | null): void {
    this.#position += 1;
    row.entry = deepFreeze(entry);
    row.position = this.#position;
    if (vector !== undefined) row.vector = vector;
    this.#log.add(row);
  }

  #remove(id: string, { archive = true } = {}): void {
    const row = this.#rows.get(id);
    if (row) this.#keys.delete(keyOf(row.entry));
    this.#rows.delete(id);
    this.#uses.delete(id);
    if (archive) this.#archive.delete(id);
  }

  #apply(changes: readonly ConsolidationChange[]): ConsolidationCounts {
    this.#checkDimensions(changes.map((one) => (one.kind === "move" ? one.embedding : null)));
    const current = new Map(this.#select({}).map(({ entry }) => [entry.id, entry]));
    const { updates, removals, counts } = planConsolidation(current, changes, this.#now());
    for (const [id, { entry, vector }] of updates) {
      const row = this.#rows.get(id)!;
      this.#write(row, entry, vector === undefined ? undefined : (vector?.vector ?? null));
    }
    for (const [id, { archive, into }] of removals) {
      const uses = this.#uses.get(id);
      if (archive) this.#archive.set(id, this.#rows.get(id)!.entry);
      this.#remove(id, { archive: false });
      if (uses && archive) this.#uses.set(id, uses);
      if (!uses || into === undefined) continue;
      const own = this.#uses.get(into) ?? new Map<string, Use>();
      this.#uses.set(into, new Map([...uses, ...own]));
    }
    return counts;
  }
}

function keyOf({ namespace, key }: Pick<MemoryEntry, "namespace" | "key">): string {
  return JSON.stringify([namespace, key]);
}
