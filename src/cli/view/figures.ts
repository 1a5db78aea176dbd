import type { Usage } from "../../state/usage.ts";

/** `12 ms`, `1.2 s`, `3 min 5 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const byteUnits = ["B", "kB", "MB", "GB", "TB"];

/** `812 B`, `1.2 kB`, `34 MB`: powers of a thousand, at most three digits. */
export function byteSize(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= (unit === 0 ? 1000 : 999.5) && unit < byteUnits.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 9.95 ? 0 : 1;
  return `${amount.toFixed(digits)} ${byteUnits[unit]}`;
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * What a turn took, on one line. Nothing is said of a cost of 0, of tokens where no model was asked, and of a time that is
 * null.
 */
export function totals(of: { steps: number; usage: Usage; elapsedMs: number | null }): string {
  const { usage } = of;
  return [
    // Steps of nested agents are theirs; an agent without steps of its own shows no number.
    ...(of.steps > 0 ? [count(of.steps, "step")] : []),
    count(usage.tool_calls, "tool call"),
    ...(usage.llm_calls + usage.tokens_in + usage.tokens_out > 0
      ? [`${count(usage.tokens_in, "token")} in, ${usage.tokens_out.toLocaleString("en")} out`]
      : []),
    ...(usage.cost_usd === 0 ? [] : [costText(usage.cost_usd)]),
    ...(of.elapsedMs === null ? [] : [duration(of.elapsedMs)]),
  ].join(" · ");
}

/** `$0.12`, or `cost unknown` for null. */
export function costText(cost: number | null): string {
  return cost === null ? "cost unknown" : dollars(cost);
}

/** Two digits after the point from a cent on, else two digits that count. */
export function dollars(amount: number): string {
  return amount >= 0.01
    ? `$${amount.toFixed(2)}`
    : `$${Number(amount.toPrecision(2)).toFixed(decimals(amount))}`;
}

function decimals(amount: number): number {
  return Math.min(10, 1 - Math.floor(Math.log10(amount)));
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `2026-11-21 14:02 UTC` */
export function minuteOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** `2026-11-21` */
export function dayOf(iso: string): string {
  return iso.slice(0, 10);
}

/** `14:02:11` */
export function secondOf(iso: string): string {
  return iso.slice(11, 19);
}

/** `12 s ago`, `3 min ago`, `5 h ago`, `8 days ago`. A time to come is now: clocks differ. */
export function timeAgo(iso: string, now: Date): string {
  const passed = Math.max(0, now.getTime() - Date.parse(iso));
  if (passed < minute) return `${Math.floor(passed / second)} s ago`;
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`;
  if (passed < day) return `${Math.floor(passed / hour)} h ago`;
  const days = Math.floor(passed / day);
  return `${days.toLocaleString("en")} day${days === 1 ? "" : "s"} ago`;
}

/**
 * Minimum number of characters. Checkpoint ids begin with their time: this many distinguish times that are half
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
