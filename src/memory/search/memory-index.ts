import { memorySources, memoryTypes } from "../entry.ts";
import type { MemoryQuery } from "../memory.ts";
import type { IndexedEntry } from "../store.ts";
import { analyseText, dateTerms, termsOf } from "./analysis.ts";
import { grown, Postings } from "./postings.ts";
import { asksQuestion, isQuestion, type RankedEntries } from "./ranking.ts";
import { type NearEntry, VectorTable } from "./vector-table.ts";
import { type KeywordScores, WordIndex } from "./word-index.ts";

/** Entities of an entry that count whole; of one with more, each counts less. */
const wholeEntities = 16;
/** How much an entry that mentions a name has of it, relative to one from the speaker of that name. */
const mentionShare = 0.5;
/** Words of a name at most. */
const maxNameWords = 4;

/** The names in a query. */
export interface NamesOfQuery {
  /** As they are in the query, in lower case. */
  readonly names: readonly string[];
  /** How much of a name each entry has, above 0 to 1. */
  readonly named: ReadonlyMap<number, number>;
  /** Positions of the query's words that are a speaker's name. */
  readonly spoken: ReadonlySet<number>;
}

/**
 * The entries under one namespace prefix as search reads them: words, names, order and times, without their texts. An
 * entry that is written again gets a new number, unless only its figures have changed.
 */
export class MemoryIndex implements RankedEntries {
  /** Where the next call of `changes` continues. */
  position: string | null = null;
  /** Numbers given, those of entries that are gone included. */
  count = 0;
  previous = new Int32Array(64);
  next = new Int32Array(64);
  session = new Int32Array(64);
  flags = new Uint8Array(64);
  importance = new Float32Array(64);

  readonly #ids: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #words = new WordIndex();
  readonly #speakers = new Postings();
  readonly #entities = new Postings();
  readonly #tags = new Postings();
  readonly #vectors = new VectorTable();
  /** The entries of each session, in order. */
  readonly #sessions: number[][] = [];
  readonly #sessionLengths: number[] = [];
  readonly #sessionNumbers = new Map<string, number>();
  readonly #namespaces = new Map<string, number>();
  readonly #threads = new Map<string, number>();
  #alive = 0;
  #isAlive = new Uint8Array(64);
  #entityCount = new Uint8Array(64);
  #type = new Uint8Array(64);
  #source = new Uint8Array(64);
  #namespace = new Int32Array(64);
  #thread = new Int32Array(64);
  #created = new Float64Array(64);
  #accessed = new Float64Array(64);
  #expires = new Float64Array(64);
  #signature = new Float64Array(64);

  /** @param model the model of the vectors that are compared; null for none */
  constructor(readonly model: string | null) {}

  /** Entries that are there. */
  get size(): number {
    return this.#alive;
  }

  /** Whether a new index is better, since more than a quarter of the numbers stand for entries that are gone. */
  get isWorn(): boolean {
    const gone = this.count - this.#alive;
    return gone > 1_000 && gone > this.count / 4;
  }

  /** Estimated bytes in memory. */
  get bytes(): number {
    const columns = 65 * this.flags.length;
    const parts = [this.#words, this.#speakers, this.#entities, this.#tags, this.#vectors];
    const keys = 180 * this.#numbers.size + 400 * this.#sessions.length + 150 * this.#threads.size;
    return parts.reduce((sum, part) => sum + part.bytes, columns + keys);
  }

  /** Applies entries as `changes` returns them; yields after each. */
  *apply(entries: readonly IndexedEntry[]): Generator<void, void> {
    for (const entry of entries) {
      this.#write(entry);
      yield;
    }
  }

  remove(id: string): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    this.#numbers.delete(id);
    this.#ids[number] = "";
    this.#isAlive[number] = 0;
    this.#alive -= 1;
    const length = this.#words.remove(number);
    const [previous, next] = [this.previous[number] ?? -1, this.next[number] ?? -1];
    if (previous !== -1) this.next[previous] = next;
    if (next !== -1) this.previous[next] = previous;
    const session = this.session[number] ?? -1;
    const entries = this.#sessions[session];
    if (entries === undefined) return;
    entries.splice(entries.indexOf(number), 1);
    this.#sessionLengths[session] = (this.#sessionLengths[session] ?? 0) - length;
  }

  idOf(entry: number): string {
    return this.#ids[entry] ?? "";
  }

  numberOf(id: string): number | undefined {
    return this.#numbers.get(id);
  }

  /** Milliseconds since the epoch of the last access, or of the creation before the first. */
  lastUsed(entry: number): number {
    return this.#accessed[entry] ?? 0;
  }

  /** Returns whether an entry is there and has not expired. */
  visibleAt(now: number): (entry: number) => boolean {
    return (entry) => this.#isAlive[entry] === 1 && (this.#expires[entry] ?? 0) > now;
  }

  /** Returns which entries a query selects, apart from `instanceId`, which the index does not have. */
  filter(query: Omit<MemoryQuery, "text">, now: number): (entry: number) => boolean {
    const { types, threadId, source, tags = [], since, until, except, namespace, exact } = query;
    const typeMask = maskOf(types?.map((type) => memoryTypes.indexOf(type)));
    const exceptMask = except ? maskOf(except.types.map((type) => memoryTypes.indexOf(type))) : 0;
    const exceptThread = this.#threads.get(except?.threadId ?? "") ?? -1;
    const thread = threadId === undefined ? -1 : (this.#threads.get(threadId) ?? -2);
    const only = exact === true ? (this.#namespaces.get(JSON.stringify(namespace)) ?? -2) : -1;
    const sourceNumber = source === undefined ? -1 : memorySources.indexOf(source);
    const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
    const to = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
    const tagged = tags.map((tag) => {
      const entries = new Set<number>();
      this.#tags.forEach(this.#tags.idOf(tag), (entry) => entries.add(entry));
      return entries;
    });
    const isVisible = this.visibleAt(now);
    return (entry) => {
      if (!isVisible(entry)) return false;
      const type = 1 << (this.#type[entry] ?? 0);
      const created = this.#created[entry] ?? 0;
      return (
        (type & typeMask) !== 0 &&
        (thread === -1 || this.#thread[entry] === thread) &&
        (exceptThread === -1 ||
          this.#thread[entry] !== exceptThread ||
          (type & exceptMask) === 0) &&
        (only === -1 || this.#namespace[entry] === only) &&
        (sourceNumber === -1 || this.#source[entry] === sourceNumber) &&
        created >= from &&
        created < to &&
        tagged.every((entries) => entries.has(entry))
      );
    };
  }

  /** Scores entries and sessions by words: {@link WordIndex.score}. */
  keyword(terms: readonly string[], now: number): KeywordScores {
    const { count, size, session } = this;
    const sessionLengths = this.#sessionLengths;
    const isVisible = this.visibleAt(now);
    return this.#words.score(terms, { count, size, session, sessionLengths, isVisible });
  }

  /** Finds names of speakers and entities among the words of a query. */
  names(words: readonly string[]): NamesOfQuery {
    const names = new Set<string>();
    const named = new Map<number, number>();
    const spoken = new Set<number>();
    for (let from = 0; from < words.length; from += 1) {
      for (let length = 1; length <= maxNameWords && from + length <= words.length; length += 1) {
        const name = words.slice(from, from + length).join(" ");
        const speaker = this.#speakers.idOf(name);
        const entity = this.#entities.idOf(name);
        if (speaker !== undefined) for (let at = from; at < from + length; at += 1) spoken.add(at);
        if (names.has(name) || (speaker ?? entity) === undefined) continue;
        names.add(name);
        this.#speakers.forEach(speaker, (entry) => named.set(entry, 1));
        // Others call a speaker by name; what is about that speaker, the speaker says.
        if (speaker !== undefined) continue;
        this.#entities.forEach(entity, (entry) => {
          const share = Math.min(1, wholeEntities / Math.max(1, this.#entityCount[entry] ?? 0));
          named.set(entry, Math.max(named.get(entry) ?? 0, mentionShare * share));
        });
      }
    }
    return { names: [...names], named, spoken };
  }

  /** The nearest entries by cosine, best first. */
  nearest(
    vector: Float32Array,
    limit: number,
    isWanted: (entry: number) => boolean,
  ): readonly NearEntry[] {
    return this.#vectors.nearest(vector, limit, isWanted);
  }

  #write(entry: IndexedEntry): void {
    const signature = signatureOf(entry, this.model);
    const known = this.#numbers.get(entry.id);
    if (known !== undefined && this.#signature[known] === signature) {
      this.#setFigures(known, entry);
      return;
    }
    this.remove(entry.id);
    const number = this.count;
    this.#grow(number + 1);
    this.count = number + 1;
    this.#ids[number] = entry.id;
    this.#numbers.set(entry.id, number);
    this.#alive += 1;
    this.#isAlive[number] = 1;
    this.#signature[number] = signature;
    this.#setFigures(number, entry);

    const { content, metadata, namespace, thread_id: thread } = entry;
    const created = Date.parse(entry.created_at);
    const length = this.#words.add(number, termsOf(content), dateTerms(created));
    this.#tags.add(number, metadata.tags);
    const entities = new Set(metadata.entities.map(nameKey));
    this.#entities.add(number, [...entities]);
    this.#entityCount[number] = Math.min(entities.size, 255);
    if (metadata.speaker !== undefined) {
      const speaker = nameKey(metadata.speaker);
      this.#speakers.add(number, [...new Set([speaker, ...speaker.split(" ")])].filter(Boolean));
    }
    const text = content.trimEnd();
    this.flags[number] =
      (/[?？]["')\]]?$/.test(text) ? isQuestion : 0) | (/[?？]/.test(text) ? asksQuestion : 0);
    this.#type[number] = memoryTypes.indexOf(entry.memory_type);
    this.#source[number] = memorySources.indexOf(metadata.source);
    this.#created[number] = created;
    this.#namespace[number] = numbered(this.#namespaces, JSON.stringify(namespace));
    this.#thread[number] = thread === null ? -1 : numbered(this.#threads, thread);
    if (entry.vector !== null && entry.embedding_model === this.model) {
      this.#vectors.add(number, entry.vector);
    }
    this.#link(number, length, entry);
  }

  #setFigures(number: number, entry: IndexedEntry): void {
    this.importance[number] = entry.importance;
    this.#accessed[number] = Date.parse(entry.last_accessed ?? entry.created_at);
    this.#expires[number] =
      entry.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(entry.expires_at);
  }

  /** Puts the entry into its session, in order of creation and id. */
  #link(
    number: number,
    length: number,
    { namespace, thread_id: thread, memory_type: type }: IndexedEntry,
  ): void {
    this.previous[number] = -1;
    this.next[number] = -1;
    this.session[number] = -1;
    if (thread === null) return;
    const session = numbered(this.#sessionNumbers, JSON.stringify([namespace, thread, type]));
    const entries = (this.#sessions[session] ??= []);
    let [from, at] = [0, entries.length];
    // Most are written in order, and so stand last.
    if (at > 0 && !this.#isBefore(number, entries[at - 1] ?? -1)) from = at;
    while (from < at) {
      const middle = (from + at) >> 1;
      if (this.#isBefore(number, entries[middle] ?? -1)) at = middle;
      else from = middle + 1;
    }
    const [previous, next] = [entries[at - 1] ?? -1, entries[at] ?? -1];
    entries.splice(at, 0, number);
    this.#sessionLengths[session] = (this.#sessionLengths[session] ?? 0) + length;
    this.session[number] = session;
    this.previous[number] = previous;
    this.next[number] = next;
    if (previous !== -1) this.next[previous] = number;
    if (next !== -1) this.previous[next] = number;
  }

  #isBefore(one: number, other: number): boolean {
    const difference = (this.#created[one] ?? 0) - (this.#created[other] ?? 0);
    return difference < 0 || (difference === 0 && this.idOf(one) < this.idOf(other));
  }

  #grow(length: number): void {
    this.previous = grown(this.previous, length);
    this.next = grown(this.next, length);
    this.session = grown(this.session, length);
    this.flags = grown(this.flags, length);
    this.importance = grown(this.importance, length);
    this.#isAlive = grown(this.#isAlive, length);
    this.#entityCount = grown(this.#entityCount, length);
    this.#type = grown(this.#type, length);
    this.#source = grown(this.#source, length);
    this.#namespace = grown(this.#namespace, length);
    this.#thread = grown(this.#thread, length);
    this.#created = grown(this.#created, length);
    this.#accessed = grown(this.#accessed, length);
    this.#expires = grown(this.#expires, length);
    this.#signature = grown(this.#signature, length);
  }
}

function maskOf(numbers: readonly number[] | undefined): number {
  return numbers === undefined ? -1 : numbers.reduce((mask, number) => mask | (1 << number), 0);
}

function numbered(numbers: Map<string, number>, key: string): number {
  const number = numbers.get(key) ?? numbers.size;
  numbers.set(key, number);
  return number;
}

/** The words of a name, as those of a query are read. */
function nameKey(name: string): string {
  return analyseText(name)
    .map(({ word }) => word)
    .join(" ");
}

/** A 53-bit hash of all that decides where an entry stands, except its figures: cyrb53, public domain. */
function signatureOf(entry: IndexedEntry, model: string | null): number {
  const { content, metadata, namespace, thread_id: thread, memory_type: type } = entry;
  const text = JSON.stringify([
    content,
    metadata.speaker,
    metadata.source,
    metadata.tags,
    metadata.entities,
    namespace,
    thread,
    type,
    entry.created_at,
    entry.embedding_model === model && entry.vector !== null ? [...entry.vector.subarray(0, 8)] : 0,
  ]);
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high =
    Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low =
    Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}
