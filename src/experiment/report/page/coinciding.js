/** Length of a dash where two lines coincide. */
const dash = 6;

/**
 * Items that would hide each other, each with its place among them and how many they are.
 *
 * @param keyOf the same for items that are drawn in the same place
 */
export function coinciding(items, keyOf) {
  const together = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const others = together.get(key);
    if (others === undefined) together.set(key, [item]);
    else others.push(item);
  }
  return [...together.values()].flatMap((all) =>
    all.map((item, place) => ({ item, place, count: all.length })),
  );
}

/** The dashes of a line, in the gaps between those of the lines that it coincides with; null where there is none. */
export function dashesOf({ place, count }) {
  if (count === 1) return null;
  return { array: `${dash} ${dash * (count - 1)}`, offset: -dash * place };
}

/** How far a point is moved aside, so that all that coincide stay within `room`. */
export function shiftOf({ place, count }, room) {
  const step = count === 1 ? 0 : Math.min(6, room / (count - 1));
  return (place - (count - 1) / 2) * step;
}
