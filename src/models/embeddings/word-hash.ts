/** Numbers of a hashed word. */
export const hashDimensions = 256;

/**
 * Adds a direction that is a word's own, `weight` long, to `sum` in place, from index `from` on: random signs, drawn
 * from the word's hash. Two words are nearly at right angles (cosine 0 ± 0.06), so a sum of them keeps which words it
 * was made of, known ones or not (random indexing: Kanerva, Kristofersson and Holst 2000).
 */
export function addWordHash(sum: Float64Array, from: number, word: string, weight: number): void {
  const step = weight / Math.sqrt(hashDimensions);
  let bits = hashOf(word);
  for (let at = 0; at < hashDimensions; at += 1) {
    // xorshift32 (Marsaglia 2003), a number a sign: its high bits are the good ones.
    bits ^= bits << 13;
    bits ^= bits >>> 17;
    bits ^= bits << 5;
    sum[from + at] = (sum[from + at] ?? 0) + (bits < 0 ? -step : step);
  }
}

/** FNV-1a with a final mix, since words that differ at their end alone would begin alike; never 0. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16) || 1;
}
