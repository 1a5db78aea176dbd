/**
 * The known name that `name` was most likely meant to be, or undefined when none is near: at most a third of its
 * characters differ (one or two in short names), letter case aside. The first of equally near ones.
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

/** Levenshtein's distance, or `limit` when it is not less than that. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    // It never falls from one row to the next.
    if (next.every((distance) => distance >= limit)) return limit;
    row = next;
  }
  return Math.min(row[to.length] ?? limit, limit);
}
