/**
 * Characters that are shown at least. Ids of checkpoints begin with their time: so many tell times apart that are half
 * a millisecond from each other, so that a short id seldom becomes ambiguous when the thread goes on.
 */
const leastLength = 13;

/** Cuts ids to the same length, the least at which those that are `known` can be told apart. */
export function shortIds(known: Iterable<string>): (id: string) => string {
  const ids = new Set(known);
  const longest = Math.max(leastLength, ...[...ids].map((id) => id.length));
  let length = leastLength;
  const cut = (id: string) => id.slice(0, length).replace(/-$/, "");
  while (length < longest && new Set([...ids].map(cut)).size < ids.size) length += 1;
  return cut;
}
