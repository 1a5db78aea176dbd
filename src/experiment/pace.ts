/** How many of the last cycles tell the pace. */
const looked = 20;

/**
 * The time that is left, by the pace of the last cycles. `ends` are the moments, in milliseconds on one clock, at which
 * cycles have ended in this process, the first of them the moment at which it began.
 * @returns milliseconds; null before a cycle has ended
 */
export function timeLeft(ends: readonly number[], cyclesLeft: number): number | null {
  const last = ends.slice(-looked - 1);
  const [first, end] = [last[0], last.at(-1)];
  if (first === undefined || end === undefined || last.length < 2) return null;
  return Math.round(((end - first) / (last.length - 1)) * cyclesLeft);
}
