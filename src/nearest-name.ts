/**
 * Returns the known name closest to `name`, ignoring case, for a "did you mean" hint. At most a third of its characters
 * may differ (one or two in short names), else the result is undefined. The first of equally close names wins.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.slice(0, maxCompared).toLowerCase();
  let nearest: string | undefined;
  let least = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.slice(0, maxCompared).toLowerCase(), least);
    if (distance < least && distance < Math.max(wanted.length, candidate.length)) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

const maxCompared = 128;

/** Returns the Levenshtein distance, capped at `limit`. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    // The minimum never decreases from one row to the next.
    if (next.every((distance) => distance >= limit)) return limit;
    row = next;
  }
  return Math.min(row[to.length] ?? limit, limit);
}
