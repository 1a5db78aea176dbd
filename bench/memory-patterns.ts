/**
 * Steps of a task that comes again, with and without procedural memory: a model without knowledge of the tools' order
 * tries them one after the other, and follows a sequence that its memory names.
 *
 * npx tsx bench/memory-patterns.ts [--frequency 3]
 */
import { parseArgs } from "node:util";
import { printTable } from "./helpers/table.ts";
import { stepsOfRepeatedTask } from "./memory/repeated-task.ts";

const { values: options } = parseArgs({
  options: {
    /** `min_frequency`: successful turns after which a sequence is a pattern. */
    frequency: { type: "string", default: "3" },
  },
});
const frequency = Number(options.frequency);
const without = await stepsOfRepeatedTask({ enabled: false });
const withPatterns = await stepsOfRepeatedTask({ enabled: true, min_frequency: frequency });
const row = (name: string, steps: readonly number[]) => {
  const sum = steps.reduce((all, one) => all + one, 0);
  return [name, ...steps.map(String), String(sum)];
};
printTable(
  ["steps of turn", ...without.map((_, at) => String(at + 1)), "all"],
  [
    row("without procedural memory", without),
    row(`a pattern after ${frequency} turns`, withPatterns),
  ],
);
