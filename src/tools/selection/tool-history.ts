import type { ToolOutcome } from "../../state/step-record.ts";
import { InvalidSelectionOptionError } from "./errors.ts";

/** A call that was made of a tool. */
export interface ToolUse {
  /** The tool's name. */
  readonly tool: string;
  readonly outcome: ToolOutcome;
  /** When it ended, ISO 8601. */
  readonly at: string;
}

/** How a tool has done so far, both from 0 to 1. */
export interface ToolStanding {
  readonly success: number;
  readonly recency: number;
}

/** Of a tool that was never called. */
export const unusedStanding: ToolStanding = { success: 0.5, recency: 0 };

/** Minutes after which a call counts 1/e. */
const recentMinutes = 30;

/**
 * How the tools that were called have done. Success is (successes + 1) / (calls + 2), Laplace's rule of succession;
 * recency is exp(-minutes / 30) since the last call, whatever became of it. A call in the future, by another machine's
 * clock, counts as made now.
 * @throws InvalidSelectionOptionError for a time that cannot be read
 */
export function standings(
  history: readonly ToolUse[],
  now: Date,
): ReadonlyMap<string, ToolStanding> {
  const records = new Map<string, { successes: number; calls: number; last: number }>();
  for (const [index, { tool, outcome, at }] of history.entries()) {
    const time = Date.parse(at);
    if (Number.isNaN(time)) {
      throw new InvalidSelectionOptionError(
        `history[${index}].at`,
        "a time in ISO 8601",
        JSON.stringify(at),
      );
    }
    const record = records.get(tool) ?? { successes: 0, calls: 0, last: -Infinity };
    record.calls += 1;
    if (outcome === "success") record.successes += 1;
    record.last = Math.max(record.last, time);
    records.set(tool, record);
  }
  return new Map(
    [...records].map(([tool, { successes, calls, last }]) => {
      const minutes = Math.max(0, now.getTime() - last) / 60_000;
      const recency = Math.exp(-minutes / recentMinutes);
      return [tool, { success: (successes + 1) / (calls + 2), recency }];
    }),
  );
}
