import type { Asked } from "./curve.ts";
import { ours } from "./readers.ts";
import { outcomes, score } from "./score.ts";
import { percent } from "../helpers/table.ts";
import type { Call, Thread } from "./threads.ts";

/** Prints whether everything can be read where the answer is to be written, within the window. */
export function printSynthesis(
  title: string,
  threads: readonly Thread[],
  options: {
    readonly asked: Asked;
    readonly counts?: (call: Call) => boolean;
  },
): void {
  const reader = ours({ ...options.asked, goal: "synthesis" });
  const of = score(reader.name, outcomes(threads, reader, options.counts));
  const met = of.answerable === of.needing ? "met" : "MISSED";
  console.log(
    `\nSynthesis within the window, ${title}: ${of.answerable} of ${of.needing} calls answerable (all: ${met}), ` +
      `${percent(of.ratio)} of the tokens, ${of.tokens.toFixed(0)} a call`,
  );
}
