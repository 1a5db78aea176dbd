import type { Experiment } from "../../experiment/config/load-experiment.ts";
import { count } from "./figures.ts";
import { plainText } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";

/** What is about to run. */
export function experimentOpening(
  { run_id, runs, cycle_count, parallel }: Omit<Experiment, "source">,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const models = [...new Set(runs.map(({ model_name }) => model_name))];
  const what = [
    count(runs.length, "run"),
    `${count(cycle_count, "cycle")}${runs.length > 1 ? " each" : ""}`,
    ...(parallel > 1 && runs.length > 1 ? [`${Math.min(parallel, runs.length)} at once`] : []),
    models.slice(0, 4).join(", ") + (models.length > 4 ? " …" : ""),
  ].join(" · ");
  return [style.bold(plainText(run_id)), ...wrapText(plainText(what), width).map(style.dim), ""];
}
