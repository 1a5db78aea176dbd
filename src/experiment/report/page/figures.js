const wholeNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const missing = "–";

export function figure(value) {
  if (value === null || value === undefined) return missing;
  return (Math.abs(value) >= 100 ? wholeNumber : oneDigit).format(value);
}

/** Short, for axes: `1.2K`. Small numbers keep the digits that tell them apart. */
export function axisFigure(value) {
  if (Math.abs(value) >= 1000) return compact.format(value);
  return String(Number(value.toPrecision(6)));
}

export function counted(number, noun) {
  return `${wholeNumber.format(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** `$12.50`, `$0.0012`, `unknown` for null; nothing for 0, which earlier versions logged for an unknown cost too. */
export function dollars(amount) {
  if (amount === null) return "unknown";
  if (amount === undefined || amount === 0) return missing;
  const digits = amount >= 0.01 ? 2 : Math.min(10, 1 - Math.floor(Math.log10(amount)));
  return `$${amount.toFixed(digits)}`;
}

/** Null where one of them is not known, or there is none. */
export function knownSum(values) {
  return values.length === 0 || values.includes(null) ? null : sum(values);
}

/** `2026-11-21 14:02 UTC` */
export function minute(iso) {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** `850 ms`, `12.5 s`, `3 min 5 s`, `2 h 10 min` */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${oneDigit.format(milliseconds / 1000)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${wholeNumber.format(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

export function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Null of no values. */
export function mean(values) {
  return values.length === 0 ? null : sum(values) / values.length;
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

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

/**
 * An axis of counts up to `most` with some `wanted` ticks: none of them is a fraction, which no count can be. Plot picks
 * whole ticks itself where there are enough of them.
 */
export function wholeTicks(most, wanted) {
  if (most >= wanted) return { ticks: wanted, nice: true };
  const end = Math.max(1, Math.ceil(most));
  return { ticks: Array.from({ length: end + 1 }, (_none, tick) => tick), domain: [0, end] };
}
