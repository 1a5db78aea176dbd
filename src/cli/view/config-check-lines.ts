import type { ConfigCheck } from "../check-config.ts";
import { count } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";

/** One line for the config of an experiment, and one for each problem. */
export function configCheckLines(
  file: string,
  check: ConfigCheck,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { runs, cycle_count: cycles, problems } = check;
  if (problems.length > 0) {
    return [
      `${style.red(count(problems.length, "problem"))} ${plainLine(file)}`,
      ...problems.flatMap((problem) => wrapText(`  ${plainLine(problem)}`, width)),
    ];
  }
  const makes = `${count(runs.length, "run")} of ${count(cycles ?? 0, "cycle")}`;
  return [`${style.green("ok")} ${plainLine(file)} ${style.dim(`(${makes})`)}`];
}
