import { grown, Postings } from "./postings.ts";

/** BM25: how fast more of one word stops counting, and how much the length of an entry and of a session matters. */
const k1 = 1.2;
const entryLengthShare = 0.6;
const sessionLengthShare = 0.75;

/** Weight of two words of the query that are adjacent in an entry as well. */
const phraseWeight = 0.3;
/** How often a pair of words counts at most in an entry. */
const maxPairs = 4;

/** Feedback: entries that are read, words that are taken from them, and the weight of the best of those. */
const feedbackEntries = 5;
const feedbackTerms = 5;
const feedbackWeight = 0.2;

/** BM25 of entries and of sessions, by number, and that of an ideal entry. */
export interface KeywordScores {
  readonly entries: Float32Array;
  readonly sessions: Float32Array;
  readonly ideal: number;
}

/** What scoring knows of the entries. */
export interface ScoredEntries {
  readonly count: number;
  /** Entries that are there. */
  readonly size: number;
  /** The session of each entry; -1 for none. */
  readonly session: Int32Array;
  /** Words of each session. */
  readonly sessionLengths: readonly number[];
  readonly isVisible: (entry: number) => boolean;
}

/** The words of entries: which entries have a word, and the words of an entry in order. */
export class WordIndex {
  readonly #postings = new Postings();
  /** The words of the contents, one entry after another. */
  #words = new Uint32Array(1_024);
  #end = 0;
  #from = new Uint32Array(64);
  #wordCount = new Uint16Array(64);
  #length = new Uint16Array(64);
  #totalLength = 0;

  /** Estimated. */
  get bytes(): number {
    return this.#postings.bytes + this.#words.byteLength + 8 * this.#from.length;
  }

  /**
   * Adds an entry: the terms of its content, in order, and further ones.
   *
   * @returns its length in words
   */
  add(entry: number, content: readonly string[], further: readonly string[]): number {
    const ids = this.#postings.add(entry, [...content, ...further]);
    this.#from = grown(this.#from, entry + 1);
    this.#wordCount = grown(this.#wordCount, entry + 1);
    this.#length = grown(this.#length, entry + 1);
    const words = Math.min(content.length, 65_535);
    this.#words = grown(this.#words, this.#end + words);
    for (let at = 0; at < words; at += 1) this.#words[this.#end + at] = ids[at] ?? 0;
    this.#from[entry] = this.#end;
    this.#wordCount[entry] = words;
    this.#end += words;
    const length = Math.min(ids.length, 65_535);
    this.#length[entry] = length;
    this.#totalLength += length;
    return length;
  }

  /** Takes an entry out of the lengths; returns its length in words. */
  remove(entry: number): number {
    const length = this.#length[entry] ?? 0;
    this.#totalLength -= length;
    return length;
  }

  /**
   * Scores entries and sessions by BM25, with adjacent words, and with the words that the best entries have in common
   * (pseudo-relevance feedback, after RM3: Abdul-Jaleel et al. 2004). A term counts once, however often the query has it.
   *
   * @param terms the terms of the query, in order
   */
  score(terms: readonly string[], of: ScoredEntries): KeywordScores {
    const entries = new Float32Array(of.count);
    const sessions = new Float32Array(of.sessionLengths.length);
    const inSession = new Float32Array(of.sessionLengths.length);
    const sessionLength = this.#totalLength / Math.max(1, of.sessionLengths.length) || 1;
    let ideal = 0;
    const asked = new Set<number>();
    for (const term of new Set(terms)) {
      const id = this.#postings.idOf(term);
      if (id !== undefined) asked.add(id);
      let found = 0;
      const touched: number[] = [];
      this.#postings.forEach(id, (entry, count) => {
        if (!of.isVisible(entry)) return;
        found += 1;
        const session = of.session[entry] ?? -1;
        if (session === -1) return;
        if (inSession[session] === 0) touched.push(session);
        inSession[session] = (inSession[session] ?? 0) + count;
      });
      const rarity = rarityOf(found, of.size);
      ideal += rarity;
      this.#postings.forEach(id, (entry, count) => {
        if (of.isVisible(entry)) entries[entry]! += rarity * this.#share(entry, count, of.size);
      });
      const sessionRarity = rarityOf(touched.length, of.sessionLengths.length);
      for (const session of touched) {
        const length = (of.sessionLengths[session] ?? 0) / sessionLength;
        const share = saturated(inSession[session] ?? 0, length, sessionLengthShare);
        sessions[session] = (sessions[session] ?? 0) + sessionRarity * share;
        inSession[session] = 0;
      }
    }
    this.#addPhrases(terms, entries, of);
    this.#addFeedback(asked, entries, of);
    return { entries, sessions, ideal };
  }

  /** Reads the words of each entry that may have a pair once, however many pairs the query has. */
  #addPhrases(terms: readonly string[], entries: Float32Array, of: ScoredEntries): void {
    const pairs = this.#pairsOf(terms);
    const found = pairs.map((): (readonly [entry: number, count: number])[] => []);
    const follows = new Map<number, Map<number, number>>();
    const candidates = new Set<number>();
    for (const [at, { first, second }] of pairs.entries()) {
      follows.set(first, (follows.get(first) ?? new Map<number, number>()).set(second, at));
      const isFirstRarer = this.#postings.countOf(first) < this.#postings.countOf(second);
      this.#postings.forEach(isFirstRarer ? first : second, (entry) => {
        if (of.isVisible(entry)) candidates.add(entry);
      });
    }
    for (const entry of [...candidates].toSorted((a, b) => a - b)) {
      for (const [pair, count] of this.#countPairs(entry, follows)) {
        found[pair]?.push([entry, Math.min(count, maxPairs)]);
      }
    }
    for (const having of found) {
      const weight = phraseWeight * rarityOf(having.length, of.size);
      for (const [entry, count] of having)
        entries[entry]! += weight * this.#share(entry, count, of.size);
    }
  }

  /** Returns the adjacent terms of a query, each pair once. */
  #pairsOf(terms: readonly string[]): readonly { first: number; second: number }[] {
    const pairs = new Map<string, { first: number; second: number }>();
    for (let at = 1; at < terms.length; at += 1) {
      const first = this.#postings.idOf(terms[at - 1] ?? "");
      const second = this.#postings.idOf(terms[at] ?? "");
      if (first === undefined || second === undefined) continue;
      pairs.set(`${first} ${second}`, { first, second });
    }
    return [...pairs.values()];
  }

  /** Returns how often an entry has each pair that it has, by the pair's number. */
  #countPairs(
    entry: number,
    follows: ReadonlyMap<number, ReadonlyMap<number, number>>,
  ): ReadonlyMap<number, number> {
    const from = this.#from[entry] ?? 0;
    const end = from + (this.#wordCount[entry] ?? 0);
    const counts = new Map<number, number>();
    for (let at = from + 1; at < end; at += 1) {
      const pair = follows.get(this.#words[at - 1] ?? 0)?.get(this.#words[at] ?? 0);
      if (pair !== undefined) counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
    return counts;
  }

  #addFeedback(asked: ReadonlySet<number>, entries: Float32Array, of: ScoredEntries): void {
    const best = largest(entries, feedbackEntries);
    const total = best.reduce((sum, entry) => sum + (entries[entry] ?? 0), 0);
    const weights = new Map<number, number>();
    for (const entry of best) {
      const from = this.#from[entry] ?? 0;
      const own = new Set(this.#words.subarray(from, from + (this.#wordCount[entry] ?? 0)));
      for (const id of own) {
        // A word of one entry alone would only lift that entry.
        if (asked.has(id) || this.#postings.countOf(id) < 2) continue;
        const rarity = rarityOf(this.#postings.countOf(id), of.size);
        weights.set(id, (weights.get(id) ?? 0) + (rarity * (entries[entry] ?? 0)) / total);
      }
    }
    const chosen = [...weights].toSorted((a, b) => b[1] - a[1]).slice(0, feedbackTerms);
    const most = chosen[0]?.[1] ?? 1;
    for (const [id, value] of chosen) {
      const rarity = rarityOf(this.#postings.countOf(id), of.size);
      const weight = (feedbackWeight * rarity * value) / most;
      this.#postings.forEach(id, (entry, count) => {
        if (of.isVisible(entry)) entries[entry]! += weight * this.#share(entry, count, of.size);
      });
    }
  }

  #share(entry: number, count: number, size: number): number {
    const average = this.#totalLength / Math.max(1, size) || 1;
    return saturated(count, (this.#length[entry] ?? 0) / average, entryLengthShare);
  }
}

/** @param length relative to the average */
function saturated(count: number, length: number, lengthShare: number): number {
  return (count * (k1 + 1)) / (count + k1 * (1 - lengthShare + lengthShare * length));
}

/** ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative. */
function rarityOf(found: number, all: number): number {
  return Math.log(1 + (Math.max(0, all - found) + 0.5) / (found + 0.5));
}

/** The places of the largest values above 0, best first. */
function largest(values: Float32Array, count: number): number[] {
  const best: number[] = [];
  let least = 0;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? 0;
    if (value <= least) continue;
    let place = best.length;
    while (place > 0 && (values[best[place - 1] ?? 0] ?? 0) < value) place -= 1;
    best.splice(place, 0, at);
    if (best.length > count) best.pop();
    if (best.length === count) least = values[best[count - 1] ?? 0] ?? 0;
  }
  return best;
}
