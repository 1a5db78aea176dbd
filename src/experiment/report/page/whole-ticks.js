/**
 * An axis of counts up to `most` with some `wanted` ticks: none of them is a fraction, which no count can be. Plot picks
 * whole ticks itself where there are enough of them.
 */
export function wholeTicks(most, wanted) {
  if (most >= wanted) return { ticks: wanted, nice: true };
  const end = Math.max(1, Math.ceil(most));
  return { ticks: Array.from({ length: end + 1 }, (_none, tick) => tick), domain: [0, end] };
}
