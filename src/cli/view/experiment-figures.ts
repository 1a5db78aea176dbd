import type { RunProgress } from "../../experiment/run-progress.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { dollars } from "./figures.ts";

/** What a line tells of one run, or of all. */
export type Spent = Pick<RunProgress, "cycles_done" | "cycle_count" | "usage">;

/** What runs have done and spent together. */
export function spentBy(runs: readonly Spent[]): Spent {
  return {
    cycles_done: runs.reduce((sum, run) => sum + run.cycles_done, 0),
    cycle_count: runs.reduce((sum, run) => sum + run.cycle_count, 0),
    usage: runs.reduce((sum, run) => addUsage(sum, run.usage), noUsage),
  };
}

/** `12/1,000` */
export function cyclesText({ cycles_done: done, cycle_count: all }: Spent): string {
  return `${done.toLocaleString("en")}/${all.toLocaleString("en")}`;
}

const units = ["", "k", "M", "G", "T"];

/** `812 tokens`, `14.2k tokens`, `3.1M tokens`: in and out. */
export function tokensText({ tokens_in, tokens_out }: Usage): string {
  const tokens = tokens_in + tokens_out;
  return `${shortCount(tokens)} ${tokens === 1 ? "token" : "tokens"}`;
}

/** `812`, `14.2k`, `3.1M` */
export function shortCount(number: number): string {
  let amount = number;
  let unit = 0;
  while (amount >= (unit === 0 ? 1000 : 999.5) && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 99.95 ? 0 : 1;
  return `${amount.toFixed(digits)}${units[unit]}`;
}

/** Nothing where no price is known. */
export function costText({ cost_usd }: Usage): string {
  return cost_usd > 0 ? dollars(cost_usd) : "";
}

/** `40 s left`, `12 min left`, `2 h 5 min left`, `3 d 4 h left`; nothing where it is not known. */
export function leftText(milliseconds: number | null): string {
  if (milliseconds === null) return "";
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s left`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min left`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h${beside(minutes % 60, "min")} left`;
  return `${Math.floor(hours / 24).toLocaleString("en")} d${beside(hours % 24, "h")} left`;
}

function beside(amount: number, unit: string): string {
  return amount === 0 ? "" : ` ${amount} ${unit}`;
}
