import type { Clock } from "../../clock.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import type { MemoryEntry, MemoryVector } from "../entry.ts";
import { MemoryDimensionError } from "../errors.ts";
import type { MemoryHit, MemoryQuery, MemoryWeights } from "../memory.ts";
import type { MemoryFilter, MemoryStore } from "../store.ts";
import { tryEmbed } from "../vectors.ts";
import { analyseText, dateTerms, termsOf, type TextWord } from "./analysis.ts";
import { checkQuery, filterOf } from "./check-query.ts";
import { IndexCache } from "./index-cache.ts";
import type { MemoryIndex } from "./memory-index.ts";
import { rankEntries } from "./ranking.ts";
import type { NearEntry } from "./vector-table.ts";

/** Characters of a query that are read. */
const maxText = 8_000;
/** Entries that the vectors alone bring in; the last of them counts as far away. */
const nearestLimit = 200;
/** Milliseconds that a search waits for the vector of its query. Without one it is by words alone. */
const embedTimeoutMs = 4_000;
const defaultWeights: MemoryWeights = { importance: 0.05, recency: 0.05 };
/** Hours after which recency is 1/e. */
const recencyHours = 168;

export interface MemorySearchOptions {
  readonly store: MemoryStore;
  /** Null: search is by words alone. */
  readonly embeddings: Embeddings | null;
  readonly clock: Clock;
  /** Estimated bytes of the indexes of namespaces. Default 64 MiB. */
  readonly maxIndexBytes?: number | undefined;
}

export interface MemorySearch {
  readonly search: (query: MemoryQuery) => Promise<readonly MemoryHit[]>;
  /** Drops what the indexes hold of entries that a removal selects. */
  readonly forget: (filter: MemoryFilter) => void;
}

/** Search over the entries of a store, by words and, with embeddings, by meaning. */
export function createMemorySearch({
  store,
  embeddings,
  clock,
  maxIndexBytes,
}: MemorySearchOptions): MemorySearch {
  const indexes = new IndexCache(
    store,
    maxIndexBytes === undefined ? {} : { maxBytes: maxIndexBytes },
  );

  return {
    async search(query) {
      checkQuery(query);
      const { topK = 5, minScore = 0, namespace, signal, instanceId } = query;
      const text = query.text.slice(0, maxText);
      const index = await indexes.open(namespace, { model: embeddings?.id ?? null, signal });
      const words = analyseText(text);
      const { names, named, spoken } = index.names(words.map(({ word }) => word));
      const speakers = new Set([...spoken].map((at) => words[at]?.word ?? ""));
      const asking = inFirstPerson(text, speakers);
      const [vector = null] =
        embeddings === null
          ? []
          : await tryEmbed([asking], { embeddings, clock, timeoutMs: embedTimeoutMs, signal });
      const now = clock.now().getTime();
      const isWanted = index.filter(query, now);
      const nearest = vector && (await nearestEntries({ store, index, query, vector, isWanted }));
      signal?.throwIfAborted();

      const unnamed = words.filter((_, at) => !spoken.has(at));
      const asked = unnamed.some(({ term }) => term !== null) ? unnamed : words;
      const terms = asked.flatMap(({ term }) => (term === null ? [] : [term]));
      const keyword = index.keyword(terms, now);
      const ranking = rankEntries(index, {
        keyword: keyword.entries,
        idealKeyword: keyword.ideal,
        session: keyword.sessions,
        nearest,
        named,
        recency: (entry) => recencyOf(now - index.lastUsed(entry)),
        weights: { ...defaultWeights, ...query.weights },
      });

      const hits: MemoryHit[] = [];
      const seen = new Set<number>();
      const isNew = (entry: number) => isWanted(entry) && !seen.has(entry);
      // More than `topK`: some may be gone since the index was read.
      for (let size = topK + 5; hits.length < topK; size = Math.min(2 * size, 1_000)) {
        const ordered = ranking.best(size, isNew);
        if (ordered.length === 0) break;
        for (const entry of ordered) seen.add(entry);
        const ids = ordered.map((entry) => index.idOf(entry));
        const found = new Map((await store.get(ids)).map((entry) => [entry.id, entry]));
        signal?.throwIfAborted();
        for (const [at, id] of ids.entries()) {
          const entry = found.get(id);
          if (entry === undefined) index.remove(id);
          if (entry === undefined || hits.length === topK) continue;
          if (instanceId !== undefined && entry.instance_id !== instanceId) continue;
          const { score, ...parts } = ranking.parts(ordered[at] ?? 0);
          if (score < minScore) return hits;
          hits.push({
            entry,
            score,
            why: { ...parts, terms: wordsIn(entry, asked), entities: namesIn(entry, names) },
          });
        }
      }
      return hits;
    },
    forget: (filter) => indexes.forget(filter),
  };
}

/** Replaces names of speakers as the speakers themselves would say it: vectors of names are near to every mention. */
function inFirstPerson(text: string, speakers: ReadonlySet<string>): string {
  if (speakers.size === 0) return text;
  return text.replaceAll(
    /([\p{L}\p{N}\p{M}]+)(['’]s\b)?/gu,
    (written, word: string, possessive) => {
      const [read] = analyseText(word);
      if (read === undefined || !speakers.has(read.word)) return written;
      return possessive === undefined ? "I" : "my";
    },
  );
}

/** The nearest entries that the query selects; null where no vector can be compared. */
async function nearestEntries(of: {
  readonly store: MemoryStore;
  readonly index: MemoryIndex;
  readonly query: MemoryQuery;
  readonly vector: MemoryVector;
  readonly isWanted: (entry: number) => boolean;
}): Promise<readonly NearEntry[] | null> {
  const { store, index, vector, isWanted } = of;
  if (!(await store.hasVectorIndex())) {
    const found = index.nearest(vector.vector, nearestLimit, isWanted);
    return found.length === 0 ? null : found;
  }
  try {
    const found = await store.nearest(filterOf(of.query), vector, nearestLimit);
    const entries = found.flatMap(({ id, similarity }) => {
      const entry = index.numberOf(id);
      return entry === undefined || !isWanted(entry) ? [] : [{ entry, similarity }];
    });
    return entries.length === 0 ? null : entries;
  } catch (thrown) {
    if (thrown instanceof MemoryDimensionError) return null;
    throw thrown;
  }
}

function recencyOf(milliseconds: number): number {
  return Math.exp(-Math.max(0, milliseconds) / (recencyHours * 3_600_000));
}

/** The words that the entry has as well, as they are in the query. */
function wordsIn(entry: MemoryEntry, asked: readonly TextWord[]): readonly string[] {
  const terms = new Set([...termsOf(entry.content), ...dateTerms(Date.parse(entry.created_at))]);
  const found = asked.filter(({ term }) => term !== null && terms.has(term));
  return [...new Set(found.map(({ word }) => word))];
}

/** The names that the entry is from, or lists. */
function namesIn({ metadata }: MemoryEntry, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const own = new Set(
    [metadata.speaker ?? "", ...metadata.entities].map((name) =>
      analyseText(name)
        .map(({ word }) => word)
        .join(" "),
    ),
  );
  const speaker = analyseText(metadata.speaker ?? "").map(({ word }) => word);
  return names.filter((name) => own.has(name) || speaker.includes(name));
}
