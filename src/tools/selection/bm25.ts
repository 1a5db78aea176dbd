/** How fast more of one word stops counting, and how much the length of a document matters: the usual values. */
const k1 = 1.2;
const b = 0.75;

/** Documents that can be scored against the words of a query. */
export interface Bm25 {
  /**
   * A score for each document, in their order, from 0; how high they go depends on the query. A term counts once,
   * however often the query has it.
   */
  scores(query: Iterable<string>): Float64Array;
}

interface Posting {
  readonly document: number;
  readonly count: number;
}

/**
 * Okapi BM25 (Robertson and Zaragoza 2009) with the inverse document frequency that is never negative,
 * ln(1 + (N - n + 0.5) / (n + 0.5)). A document is its terms, as often as it has them.
 */
export function createBm25(documents: readonly (readonly string[])[]): Bm25 {
  const postings = new Map<string, Posting[]>();
  let total = 0;
  for (const [document, terms] of documents.entries()) {
    total += terms.length;
    for (const [term, count] of counted(terms)) {
      const list = postings.get(term);
      if (list === undefined) postings.set(term, [{ document, count }]);
      else list.push({ document, count });
    }
  }
  const average = total / documents.length;
  const lengthPart = documents.map((terms) => k1 * (1 - b + (b * terms.length) / average));

  return {
    scores(query) {
      const scores = new Float64Array(documents.length);
      for (const term of new Set(query)) {
        const list = postings.get(term) ?? [];
        const rarity = Math.log(1 + (documents.length - list.length + 0.5) / (list.length + 0.5));
        for (const { document, count } of list) {
          const share = (count * (k1 + 1)) / (count + (lengthPart[document] ?? 0));
          scores[document] = (scores[document] ?? 0) + rarity * share;
        }
      }
      return scores;
    },
  };
}

function counted(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}
