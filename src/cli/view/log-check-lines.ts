import type { LogCheck, LogProblem, Unfinished } from "../../experiment/log/log-checker.ts";
import { count } from "./figures.ts";
import { plainLine, plainText } from "./plain-text.ts";
import type { Style } from "./style.ts";

/** One line for a log, and one for each problem that is kept of it. */
export function logCheckLines(file: string, check: LogCheck, style: Style): string[] {
  const { cycles, events, unfinished, problem_count: problems } = check;
  const found = problems === 0 ? style.green("ok") : style.red(count(problems, "problem"));
  const held = [
    count(cycles, "cycle"),
    count(events, "event"),
    ...(unfinished === null ? [] : [unfinishedText(unfinished)]),
  ];
  return [
    `${found} ${plainLine(file)} ${style.dim(`(${held.join(", ")})`)}`,
    ...logProblemLines(file, check),
  ];
}

/** `file:line: what is wrong`, one a problem. */
export function logProblemLines(
  file: string,
  check: { readonly problem_count: number; readonly problems: readonly LogProblem[] },
): string[] {
  const name = plainLine(file);
  const more = check.problem_count - check.problems.length;
  return [
    ...check.problems.map(
      ({ line, message }) => `  ${name}:${line}: ${plainText(message).replaceAll("\n", " ")}`,
    ),
    ...(more > 0 ? [`  … and ${count(more, "more problem")}`] : []),
  ];
}

function unfinishedText({ cycle_number: cycle, half_line: half }: Unfinished): string {
  const open = cycle === null ? [] : [`cycle ${cycle} unfinished`];
  return [...open, ...(half ? ["ends in half a line"] : [])].join(", ");
}
