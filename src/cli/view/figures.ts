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
 * What a turn took, on one line. Nothing is said of money where no price is known, nor of tokens where no model was
 * asked.
 */
export function totals(of: { steps: number; usage: Usage; elapsedMs: number }): string {
  const { usage } = of;
  return [
    // Steps of agents within are their own; none of one's own is no figure worth saying.
    ...(of.steps > 0 ? [count(of.steps, "step")] : []),
    count(usage.tool_calls, "tool call"),
    ...(usage.llm_calls + usage.tokens_in + usage.tokens_out > 0
      ? [`${count(usage.tokens_in, "token")} in, ${usage.tokens_out.toLocaleString("en")} out`]
      : []),
    ...(usage.cost_usd > 0 ? [dollars(usage.cost_usd)] : []),
    duration(of.elapsedMs),
  ].join(" · ");
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
